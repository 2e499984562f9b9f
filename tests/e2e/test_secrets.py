"""Secrets do not leak: after all kinds of errors, logs, output, events, the database and answers contain none of them.

The tests set and send marked secrets wherever Parley accepts one.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from cli.operate.ports import free_port
from shared.domain.kernel.session import SERVICE_OF
from tests.e2e.parley_process import ROOT, RunningParley, running_parley
from tests.support.http_client import http_client
from tests.support.serving import serving
from tests.support.timeouts import WAIT_TIMEOUT

pytestmark = pytest.mark.long
WAYS = 6  # of quoting a key
PRINTS_SECRET = "import os, sys; print('starting with', os.environ['SHOP_TOKEN'], file=sys.stderr); sys.exit(1)"


def marked_secret(name: str) -> str:
    """A value that no secret pattern would detect."""
    return f"MARK{name}0123456789"


ALICE_KEY, BOB_KEY = marked_secret("alicekey"), marked_secret("bobkey")
SETTINGS = {
    "PARLEY_AUTH": "keys",
    "PARLEY_API_KEYS": f"alice={ALICE_KEY},bob={BOB_KEY}",
    "PARLEY_TOKEN": marked_secret("logintoken"),
    "PARLEY_SECRET": marked_secret("signingsecret") * 2,
    "PARLEY_METRICS_TOKEN": marked_secret("metricstoken"),
    "OPENAI_API_KEY": marked_secret("modelkey"),
    "OPENAI_MODEL": "echo",
    "INTERNLM_API_KEY": marked_secret("otherkey"),
    "SHOP_PASSWORD": marked_secret("fromtheenvironment"),
    "MODEL_MAX_ATTEMPTS": "1",
    "LOG_LEVEL": "DEBUG",
    "MAX_FAILED_LOGINS_PER_MINUTE": "0",
}
SENT = {
    "wrong": marked_secret("wrongbearer"),
    "url": marked_secret("urltoken"),
    "cookie": marked_secret("cookievalue"),
    "body": marked_secret("bodyvalue"),
}


def _echo() -> Starlette:
    """A model endpoint that quotes the key in each answer, in another way in turn, and an MCP server for each way."""
    turns = iter(range(10_000))

    async def answer(request: Request) -> Response:
        key = request.headers.get("authorization", "")
        error = {"error": {"message": f"{'x' * 250} refused: {key} is wrong", "type": "e", "code": key}}
        match request.path_params["way"] if "way" in request.path_params else next(turns) % WAYS:
            case 0:
                return JSONResponse(error, 401)
            case 1:
                return JSONResponse(error, 400)
            case 2:
                return JSONResponse(error, 500, {"x-echo": key})
            case 3:
                return Response(f"<html>{key}</html>", 502)
            case 4:
                return StreamingResponse(iter([f"data: {json.dumps(error)}\n\n"]), media_type="text/event-stream")
            case _:
                return Response(f"not json {key}", 200, media_type="text/event-stream")

    methods = ["GET", "POST", "DELETE"]
    return Starlette(
        routes=[Route("/mcp/{way:int}", answer, methods=methods), Route("/v1/{path:path}", answer, methods=methods)]
    )


def _mcp(folder: Path, url: str) -> Path:
    """The path of an MCP configuration with secrets."""
    servers = {
        "loud": {
            "command": sys.executable,
            "args": ["-c", PRINTS_SECRET],
            "env": {"SHOP_TOKEN": marked_secret("mcpenv")},
        },
        "given": {"url": f"{url}/mcp/0", "headers": {"Authorization": "Bearer ${SHOP_PASSWORD}"}},
    }
    headers = {"Authorization": f"Bearer {marked_secret('mcpheader')}"}
    servers |= {f"echo{way}": {"url": f"{url}/mcp/{way}", "headers": headers} for way in range(WAYS)}
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


@asynccontextmanager
async def _stack(folder: Path) -> AsyncIterator[RunningParley]:
    async with serving(_echo()) as url:
        home = folder / "home"
        home.mkdir()
        addresses = {"OPENAI_BASE_URL": f"{url}/v1", "PARLEY_MCP_CONFIG": str(_mcp(folder, url))}
        async with running_parley(home, **SETTINGS | addresses) as running:
            yield running


def _secrets(running: RunningParley) -> dict[str, str]:
    """The secrets that were set, and those that `parley up` generated."""
    secrets = {name: value for name, value in SETTINGS.items() if "MARK" in value} | SENT
    secrets |= {"alice": ALICE_KEY, "bob": BOB_KEY} | {name: marked_secret(name) for name in ("mcpenv", "mcpheader")}
    del secrets["PARLEY_API_KEYS"]  # both keys in it are listed separately
    for path in (running.home / "secrets").rglob("*"):
        if path.is_file():
            secrets[f"file {path.name}"] = path.read_text().strip()
    for name in ("gateway", "plan_store", "planner", "executor"):
        environment = Path(f"/proc/{running.pid_of(name)}/environ").read_text().split("\0")
        url = dict(part.partition("=")[::2] for part in environment if "=" in part).get("NATS_URL", "")
        parts = urlsplit(url)
        secrets[f"NATS of {name}"] = parts.password or parts.username or ""
    return {name: value for name, value in secrets.items() if len(value) >= 8}


async def _troubles_of_servers(running: RunningParley) -> str:
    """The list of tools, once each MCP server has failed."""
    async with (
        asyncio.timeout(WAIT_TIMEOUT),
        http_client(base_url=running.url, headers={"authorization": f"Bearer {ALICE_KEY}"}) as http,
    ):
        while "is being started" in (listed := await http.get("/api/tools")).text or "echo" not in listed.text:  # noqa: ASYNC110  an endpoint is polled
            await asyncio.sleep(0.1)
    assert listed.text.count("is unavailable") == WAYS + 2
    return listed.text


async def _provoke(running: RunningParley) -> list[str]:
    """Causes all kinds of gateway errors; returns the answers."""
    answers: list[str] = []
    async with http_client(base_url=running.url) as http:

        async def request(method: str, path: str, **options: Any) -> None:
            answer = await http.request(method, path, **options)
            answers.append(f"{answer.status_code} {answer.headers} {answer.text}")

        valid = {"authorization": f"Bearer {ALICE_KEY}"}
        for headers in ({"authorization": f"Bearer {SENT['wrong']}"}, {"authorization": f"Basic {SENT['wrong']}"}):
            await request("GET", "/api/me", headers=headers)
        port = urlsplit(running.url).port
        await request("GET", "/api/me", headers={"cookie": f"parley_{port}={SENT['cookie']}"})
        await request("GET", "/", params={"token": SENT["url"]})
        await request("POST", "/api/tickets", headers={"cookie": f"parley_{port}={SENT['cookie']}"})
        for body in (
            f'{{"request": "{SENT["body"]}',
            json.dumps({"request": [SENT["body"]], "id": SENT["body"] + "!"}),
        ):
            await request("POST", "/api/sessions", content=body, headers=valid | {"content-type": "application/json"})
        await request("POST", "/api/sessions/x/messages", json={"type": SENT["body"]}, headers=valid)
        await request("GET", "/readyz")
    for query, headers in ((f"?token={SENT['url']}", {}), (f"?ticket={SENT['url']}", {}), ("", valid)):
        answers += await _frames(running.socket_url + query, headers)
    return answers


async def _frames(url: str, headers: Mapping[str, str]) -> list[str]:
    """Sends invalid frames on a WebSocket; returns the answers, or the refusal to connect."""
    messages: list[str] = []
    try:
        async with connect(url, additional_headers=headers, proxy=None) as socket:
            for frame in (
                SENT["body"],
                f'{{"type": "approval", "approved": "{SENT["body"]}"}}',
                json.dumps({"type": "user_message", "content": [SENT["body"]], "settings": SENT["body"]}),
                SENT["body"].encode(),
                '{"type": "close"}',
            ):
                await socket.send(frame)
            with suppress(ConnectionClosed):
                while True:
                    messages.append(str(await socket.recv()))
    except InvalidStatus as refused:
        messages.append(f"{refused.response.status_code} {refused.response.headers} {refused.response.body!r}")
    return messages


async def _run_failing_sessions(running: RunningParley) -> list[str]:
    """Starts a session for each way of quoting the key; returns their snapshots, journals and exports."""
    texts: list[str] = []
    headers = {"authorization": f"Bearer {ALICE_KEY}"}
    async with http_client(base_url=running.url, headers=headers) as http:
        for number, workflow in enumerate(["conversation", "agentflow"] * 3 + ["flow"]):
            started = await http.post("/api/sessions", json={"request": f"Task {number}", "workflow": workflow})
            session = f"/api/sessions/{started.json()['session_id']}"
            async with asyncio.timeout(WAIT_TIMEOUT):
                while (await http.get(session)).json()["phase"] in SERVICE_OF:  # noqa: ASYNC110  another process changes it
                    await asyncio.sleep(0.1)
            for path in ("", "/journal", "/export?format=json", "/export"):
                texts.append((await http.get(session + path)).text)
        assert "refused" in "".join(texts)  # the endpoint's error is shown without the key
        for path in ("/metrics", "/api/tools", "/api/me", "/api/usage"):
            texts.append((await http.get(path)).text)
    return texts


async def _ready(running: RunningParley) -> None:
    async with asyncio.timeout(WAIT_TIMEOUT), http_client(base_url=running.url) as http:
        while (await http.get("/readyz")).status_code != 200:  # noqa: ASYNC110  a health endpoint is polled
            await asyncio.sleep(0.1)


def _stored(home: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of all files of this Parley, except secret files, which only their owner may read."""
    for path in sorted(home.rglob("*")):
        private = "secrets" in path.parts or path.name in ("running.json",) or path.suffix in (".conf", ".lock")
        if path.is_file() and not private:
            yield str(path.relative_to(home)), path.read_bytes()
        elif path.is_file() and path.stat().st_size:
            assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0, path


async def test_no_secret_appears_in_logs_files_or_answers(tmp_path: Path) -> None:
    async with _stack(tmp_path) as running:
        secrets = _secrets(running)
        texts = [await _troubles_of_servers(running), *await _provoke(running)]
        texts += await _run_failing_sessions(running)
        for name in ("nats", "plan_store"):
            running.kill9(name)
            texts += await _provoke(running)
        await _ready(running)
        texts += await _provoke(running)
    assert {"file nats-token"} & secrets.keys() or any(name.startswith("NATS of") for name in secrets)
    files = dict(_stored(running.home))
    assert any(name.endswith(".log") for name in files)
    assert any(name.endswith(".blk") for name in files)
    assert any(name.endswith(".db") for name in files)
    assert b"mcp_stderr" in b"".join(body for name, body in files.items() if name.endswith(".log"))
    leaks = [f"{name} in {path}" for path, body in files.items() for name, s in secrets.items() if s.encode() in body]
    leaks += [f"{name} in an answer: {text[:200]}" for text in texts for name, s in secrets.items() if s in text]
    assert leaks == []


SCHEMES = ("postgresql", "mysql", "nats", "http")
URL = "{scheme}://user:{secret}@127.0.0.1:{port}/x"
OUT_OF_REACH: tuple[tuple[str, dict[str, str]], ...] = (
    ("services.plan_store.app", {"DATABASE_URL": "postgresql", "NATS_URL": "nats"}),
    ("services.plan_store.app", {"DATABASE_URL": "mysql"}),
    ("services.planner.app", {"NATS_URL": "nats"}),
    ("services.executor.app", {"NATS_URL": "nats", "PARLEY_SQL_DATABASE_URL": "postgresql"}),
    ("services.gateway.app", {"NATS_URL": "nats", "PARLEY_AUTH": "none"}),
    ("services.gateway.app", {"PARLEY_AUTH": "keys", "PARLEY_API_KEYS": "{secret}"}),
    ("services.gateway.app", {"PARLEY_AUTH": "token", "PARLEY_SECRET": "{secret}", "PARLEY_TOKEN": "{secret}"}),
    ("cli.main doctor", {"NATS_URL": "nats", "DATABASE_URL": "postgresql", "OPENAI_BASE_URL": "http"}),
    ("cli.main provision", {"NATS_URL": "nats"}),
    ("cli.main rebuild", {"NATS_URL": "nats", "DATABASE_URL": "postgresql"}),
    ("cli.main dead", {"NATS_URL": "nats", "DATABASE_URL": "postgresql"}),
    ("cli.main up", {"NATS_URL": "nats", "PARLEY_SQL_DATABASE_URL": "postgresql"}),
    ("cli.main up", {"NATS_URL": "nats", "DATABASE_URL": "postgresql"}),
)


async def test_unreachable_servers_are_named_without_their_passwords(tmp_path: Path) -> None:
    secret, limit = marked_secret("password"), asyncio.Semaphore(4)

    async def output_of(number: int, program: str, settings: dict[str, str]) -> str:
        async with limit:
            return await asyncio.to_thread(_output, program, settings, tmp_path / str(number), secret)

    outputs = await asyncio.gather(*(output_of(number, *each) for number, each in enumerate(OUT_OF_REACH)))
    for (program, settings), text in zip(OUT_OF_REACH, outputs, strict=True):
        assert text, (program, settings)
        assert secret not in text, (program, settings)


def _output(program: str, settings: dict[str, str], home: Path, secret: str) -> str:
    """All that the program prints and logs until three seconds after its first output."""
    home.mkdir()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "NATS_", "DATABASE_", "PARLEY_"))}
    required = {
        "PARLEY_HOME": str(home),
        "AGENT_PORT": str(free_port()),
        "LOG_LEVEL": "DEBUG",
        "PYTHONUNBUFFERED": "1",
    }
    arguments = {
        name: (URL if value in SCHEMES else value).format(scheme=value, secret=secret, port=free_port())
        for name, value in settings.items()
    }
    printed = home / "printed.log"
    with printed.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *program.split()],
            cwd=ROOT,
            env=clean | required | arguments,
            stdout=output,
            stderr=output,
        )
    try:
        ends = time.monotonic() + 60
        while process.poll() is None and not printed.stat().st_size and time.monotonic() < ends:
            time.sleep(0.1)
        with suppress(subprocess.TimeoutExpired):
            process.wait(3)
    finally:
        process.terminate()
        process.wait(30)
    return b"".join(path.read_bytes() for path in home.rglob("*.log")).decode()
