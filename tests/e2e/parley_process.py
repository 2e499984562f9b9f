"""Runs Parley with `parley up` in separate processes, and a client that knows only the WebSocket protocol."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from cli.operate.ports import free_port
from tests.support.http_client import http_client
from tests.support.timeouts import WAIT_TIMEOUT

ROOT = Path(__file__).parents[2]
Json = dict[str, Any]


class RunningParley:
    """A running Parley; `url` is the address of its page."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, rehearsal_url: str, home: Path) -> None:
        self.process = process
        self.url = url
        self.rehearsal_url = rehearsal_url  # of the rehearsal model, where tests set faults
        self.home = home

    @property
    def socket_url(self) -> str:
        return self.url.replace("http", "ws", 1).rstrip("/") + "/ws"

    @property
    def nats_url(self) -> str:
        return str(json.loads((self.home / "running.json").read_text())["nats_url"])

    async def add_fault(self, **fault: Any) -> None:
        async with http_client() as http:
            (await http.post(f"{self.rehearsal_url}/faults", json=fault)).raise_for_status()

    async def clear_faults(self) -> None:
        """Removes all faults of the model."""
        async with http_client() as http:
            (await http.delete(f"{self.rehearsal_url}/faults")).raise_for_status()

    async def model_calls(self) -> list[Json]:
        async with http_client() as http:
            return list((await http.get(f"{self.rehearsal_url}/calls")).json())

    async def wait_until_ready(self) -> None:
        """Waits until all services are ready."""
        async with asyncio.timeout(WAIT_TIMEOUT), http_client() as http:
            while True:
                with suppress(httpx2.HTTPError):
                    if (await http.get(f"{self.url}readyz")).status_code == 200:
                        (await http.get(f"{self.rehearsal_url}/calls")).raise_for_status()
                        return
                await asyncio.sleep(0.1)

    def pid_of(self, name: str) -> int:
        """The process id of a service ("planner"), of nats-server ("nats") or of the rehearsal model ("rehearsal")."""
        program = {"nats": "nats-server", "rehearsal": "rehearsal.app"}.get(name, f"services.{name}.app")
        for pid in descendants(self.process.pid):
            words = command_line(pid)
            if Path(words[0]).name == program or program in words:
                return pid
        raise AssertionError(f"{name} is not running")

    def kill9(self, name: str) -> None:
        os.kill(self.pid_of(name), signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """The ids of all descendant processes, deepest last."""
    output = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
    children = [int(child) for child in output]
    return [*children, *(below for child in children for below in descendants(child))]


async def wait_until_dead(pids: list[int]) -> None:
    """Waits until none of these processes exists."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while any(Path(f"/proc/{pid}").exists() for pid in pids):  # noqa: ASYNC110, ASYNC240  other processes end them
            await asyncio.sleep(0.05)


def command_line(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return [""]


@asynccontextmanager
async def running_parley(home: Path, **environment: str) -> AsyncIterator[RunningParley]:
    """Runs `parley up` on a free port with this home folder, without login, until the block ends.

    Ctrl-C stops it and all its child processes.
    """
    inherited = {
        k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "INTERNLM_", "NATS_", "DATABASE_"))
    }
    settings = {
        "AGENT_PORT": str(free_port()),
        "PARLEY_HOME": str(home),
        "PARLEY_AUTH": "none",
        "ACK_WAIT": "3",
        "PYTHONUNBUFFERED": "1",
    }
    with (home / "up.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "cli.main", "up"),
            cwd=ROOT,
            env=inherited | settings | environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
    try:
        async with asyncio.timeout(WAIT_TIMEOUT):
            url = await _page_url(process, home)
        rehearsal = re.search(r"the rehearsal model at (http://\S+)/v1", (home / "up.log").read_text())
        yield RunningParley(process, url, rehearsal[1] if rehearsal else "", home)
    finally:
        if process.returncode is None:
            children = descendants(process.pid)
            process.send_signal(signal.SIGINT)
            await asyncio.wait_for(process.wait(), WAIT_TIMEOUT)
            await wait_until_dead(children)
            assert not (home / "running.json").exists()


async def _page_url(process: asyncio.subprocess.Process, home: Path) -> str:
    """The URL of the page, once all services are ready."""
    assert process.stdout
    while line := (await process.stdout.readline()).decode():
        if line.startswith("ready "):
            return line.split()[1]
    raise AssertionError(f"parley up ended:\n{(home / 'up.log').read_text()[-3000:]}")


class Client:
    """A client that sends messages, collects the answers, and reconnects after a lost connection."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._socket: ClientConnection | None = None
        self._changed = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None
        self.session_id = ""
        self.messages: list[Json] = []

    async def __aenter__(self) -> "Client":
        self._reader = asyncio.create_task(self._read())
        await self.wait_for("greeting")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._reader:
            self._reader.cancel()
        if self._socket:
            await self._socket.close()

    async def _read(self) -> None:
        while True:
            with suppress(OSError, ConnectionClosed, TimeoutError, Exception):
                async with connect(self._url, max_size=None, open_timeout=WAIT_TIMEOUT) as socket:
                    if self.session_id and self.version:
                        resume = {"type": "resume", "session_id": self.session_id, "after": self.version}
                        await socket.send(json.dumps(resume))
                    self._socket = socket
                    self._changed.set()
                    async for text in socket:
                        self._receive(json.loads(text))
            self._socket = None
            await asyncio.sleep(0.1)

    def _receive(self, message: Json) -> None:
        self.messages.append(message)
        self.session_id = self.session_id or message["session_id"]
        self._changed.set()

    async def send(self, **message: Any) -> None:
        """Sends now, or as soon as there is a connection again."""
        async with asyncio.timeout(WAIT_TIMEOUT):
            while self._socket is None:
                self._changed.clear()
                await self._changed.wait()
        await self._socket.send(json.dumps(message))

    @property
    def events(self) -> list[Json]:
        return [message["event"] for message in self.messages if message["type"] == "event"]

    @property
    def version(self) -> int:
        return max((event["version"] for event in self.events), default=0)

    async def wait_for(self, type_: str, **fields: Any) -> Json:
        """Waits for a message of this type (with these fields) after the one returned last."""

        def matches(message: Json) -> bool:
            return message["type"] == type_ and all(message.get(k) == v for k, v in fields.items())

        return await self._wait_for_first(matches, f"{type_} {fields}")

    async def wait_for_event(self, kind: str) -> Json:
        def matches(message: Json) -> bool:
            return message["type"] == "event" and bool(message["event"]["type"] == kind)

        return (await self._wait_for_first(matches, kind))["event"]  # type: ignore[no-any-return]

    async def _wait_for_first(self, matches: Callable[[Json], bool], description: str) -> Json:
        checked = getattr(self, "_seen", 0)
        try:
            async with asyncio.timeout(WAIT_TIMEOUT):
                while True:
                    for index in range(checked, len(self.messages)):
                        if matches(self.messages[index]):
                            self._seen = index + 1
                            return self.messages[index]
                    checked = len(self.messages)
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            last = [(m["type"], m.get("version"), str(m.get("event", m))[:300]) for m in self.messages[-6:]]
            raise AssertionError(f"no {description}; the last messages were {last}") from None
