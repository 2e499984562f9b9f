"""Each check of the doctor, passing and failing, against real files, ports and a real HTTP server."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socket import create_server
from typing import Any
from urllib.parse import urlsplit

import pytest

from cli.operate.doctor import (
    check_database,
    check_home,
    check_mcp,
    check_model,
    check_nats,
    check_port,
    check_prices,
    check_retail,
    doctor,
    run_checks,
)
from packs.retail.generate import generate
from packs.retail.store import Worlds
from shared.settings import Settings

CLOSED_PORT = "127.0.0.1:1"  # nothing listens there


def settings(home: Path, **overrides: Any) -> Settings:
    return Settings(parley_home=home, **overrides)


@contextmanager
def answering(status: int, body: bytes = b"") -> Iterator[str]:
    """The base URL of an HTTP server that answers `status` with this body, but 401 to any key other than "right"."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.headers["Authorization"] in (None, "Bearer right") else 401)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "key", "outcome", "words"),
    [
        (200, "right", "ok", "models at"),
        (200, "wrong", "fail", "refuses the key"),
        (404, "right", "warn", "answers 404"),
    ],
)
def test_the_models_answer_and_key_decide_the_check(
    tmp_path: Path, status: int, key: str, outcome: str, words: str
) -> None:
    with answering(status) as url:
        check = check_model(settings(tmp_path, openai_base_url=url, openai_api_key=key))
    assert check.outcome == outcome
    assert words in check.finding
    assert key not in f"{check.finding} {check.advice}".split()


def test_an_unreachable_model_is_a_failure_and_no_model_is_a_warning(tmp_path: Path) -> None:
    assert check_model(settings(tmp_path, openai_base_url=f"http://{CLOSED_PORT}/v1")).outcome == "fail"
    assert check_model(settings(tmp_path)).outcome == "warn"


@pytest.mark.parametrize(
    ("chosen", "outcome", "words"),
    [
        ({"openai_base_url": ""}, "ok", "costs nothing"),
        ({"openai_model": ""}, "warn", "none: calls cost $0"),
        ({"openai_model": "big"}, "warn", "none for big: its calls cost $0, and a cost_budget never triggers"),
        ({"openai_model": "big", "parley_prices": {"big": (1, 1, 1)}}, "ok", "of big"),
        (
            {"openai_model": "big", "parley_models": {"planner": "small"}, "parley_prices": {"big": (1, 1, 1)}},
            "warn",
            "none for small",
        ),
    ],
)
def test_a_model_without_a_price_is_a_warning(tmp_path: Path, chosen: dict[str, Any], outcome: str, words: str) -> None:
    check = check_prices(settings(tmp_path, **{"openai_base_url": f"http://{CLOSED_PORT}/v1"} | chosen))
    assert check.outcome == outcome
    assert words in check.finding


def test_a_configured_server_must_answer(tmp_path: Path) -> None:
    check = check_nats(settings(tmp_path, nats_url=f"nats://hush@{CLOSED_PORT}"), is_up=False)
    assert check.outcome == "fail"
    assert "hush" not in check.finding
    assert check_nats(settings(tmp_path), is_up=False).outcome == "ok"


@pytest.mark.parametrize(
    ("hello", "outcome", "words"),
    [
        (b'INFO {"version": "2.15.0", "jetstream": true}\r\n', "ok", "with JetStream"),
        (b'INFO {"version": "2.15.0"}\r\n', "fail", "no JetStream"),
        (b'INFO {"version": "2.9.10", "jetstream": true}\r\n', "fail", "2.9.10"),
        (b"SSH-2.0-hello\r\n", "fail", "not a NATS server"),
    ],
)
def test_a_server_must_be_nats_new_enough_and_with_jetstream(
    tmp_path: Path, hello: bytes, outcome: str, words: str
) -> None:
    with create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            peer, _ = server.accept()
            with peer:
                peer.sendall(hello)

        thread = threading.Thread(target=greet)
        thread.start()
        url = f"nats://127.0.0.1:{server.getsockname()[1]}"
        check = check_nats(settings(tmp_path, nats_url=url), is_up=False)
        thread.join()
    assert check.outcome == outcome
    assert words in check.finding


async def test_the_database_must_answer(tmp_path: Path) -> None:
    assert "will be made" in (await check_database(settings(tmp_path))).finding
    assert not (tmp_path / "parley.db").exists()
    (tmp_path / "parley.db").touch()
    assert (await check_database(settings(tmp_path))).outcome == "ok"
    (tmp_path / "parley.db").write_text("this is not a database, and long enough to be seen as such" * 40)
    assert "not a database" in (await check_database(settings(tmp_path))).finding
    check = await check_database(settings(tmp_path, database_url=f"postgresql://me:hush@{CLOSED_PORT}/x"))
    assert check.outcome == "fail"
    assert "hush" not in check.finding


def test_a_port_in_use_fails_unless_it_is_parleys(tmp_path: Path) -> None:
    with create_server(("127.0.0.1", 0)) as other:
        taken = settings(tmp_path, agent_port=other.getsockname()[1])
        assert check_port(taken, up=0).outcome == "fail"
        assert f"process {os.getpid()}" in check_port(taken, up=0).finding
        assert check_port(taken, up=7).outcome == "ok"
    assert check_port(settings(tmp_path, agent_port=0), up=0).outcome == "ok"
    assert check_port(settings(tmp_path, agent_host="192.0.2.1"), up=0).outcome == "fail"


def test_an_unused_home_may_be_read_only(tmp_path: Path) -> None:
    """For example in containers, where NATS and the databases are on other hosts."""
    (tmp_path / "file").touch()
    read_only = tmp_path / "file" / "home"
    remote = {
        "nats_url": "nats://nats:4222",
        "database_url": "postgresql://db/parley",
        "retail_database_url": "postgresql://db/retail",
    }
    assert check_home(settings(read_only, **remote)) == (
        "PARLEY_HOME",
        "ok",
        "not needed: NATS and the databases are elsewhere",
        "",
    )
    for name_left_out in ("nats_url", "database_url"):
        remaining = {name: url for name, url in remote.items() if name != name_left_out}
        assert check_home(settings(read_only, **remaining)).outcome == "fail", name_left_out


async def test_every_warning_and_failure_has_advice(tmp_path: Path) -> None:
    broken = settings(
        tmp_path, nats_url=f"nats://{CLOSED_PORT}", openai_base_url=f"http://{CLOSED_PORT}/v1", agent_host="192.0.2.1"
    )
    checks = await run_checks(broken)
    assert {check.name for check in checks if check.outcome == "fail"} >= {"NATS", "model", "port"}
    assert all(check.advice for check in checks if check.outcome != "ok")


@pytest.mark.parametrize(("host", "code"), [("127.0.0.1", 0), ("192.0.2.1", 1)])
def test_the_exit_code_is_1_if_a_check_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], host: str, code: int
) -> None:
    assert doctor(settings(tmp_path, agent_host=host, agent_port=0)) == code
    assert "Python" in capsys.readouterr().out


# --- tools, and a gateway that runs


async def test_without_mcp_servers_the_check_passes(tmp_path: Path) -> None:
    assert (await check_mcp(settings(tmp_path), is_up=False)).outcome == "ok"


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "No such file"), ("{", "Expecting"), ("[]", "mcpServers is missing"), ('{"mcpServers": 1}', "is missing")],
)
async def test_a_missing_or_invalid_mcp_file_fails(tmp_path: Path, text: str | None, words: str) -> None:
    file = tmp_path / "mcp.json"
    if text is not None:
        file.write_text(text)
    check = await check_mcp(settings(tmp_path, parley_mcp_config=file), is_up=False)
    assert check.outcome == "fail"
    assert words in check.finding
    assert "PARLEY_MCP_CONFIG" in check.advice


async def test_mcp_servers_are_named_without_their_secrets(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"shop": {"url": "http://x", "headers": {"Authorization": "hush"}}}}))
    check = await check_mcp(settings(tmp_path, parley_mcp_config=file), is_up=False)
    assert (check.outcome, "shop" in check.finding, "hush" in check.finding) == ("ok", True, False)


async def test_the_retail_store_must_have_the_configured_data(tmp_path: Path) -> None:
    configured = settings(tmp_path)
    assert "will be made" in (await check_retail(configured)).finding
    worlds = Worlds(configured.retail_url, generate)
    await worlds.open()
    await worlds.close()
    assert (await check_retail(configured)).outcome == "ok"
    other_data = tmp_path / "data"
    other_data.mkdir()
    for kind in ("users", "orders", "products"):
        (other_data / f"{kind}.json").write_text("{}")
    check = await check_retail(settings(tmp_path, parley_retail_data_dir=other_data))
    assert check.outcome == "fail"
    assert "other data" in check.finding
    (other_data / "users.json").write_text("[")
    assert "users.json" in (await check_retail(settings(tmp_path, parley_retail_data_dir=other_data))).finding


async def test_a_retail_database_that_is_not_a_database_fails(tmp_path: Path) -> None:
    (tmp_path / "retail.db").write_text("this is not a database, and long enough to be seen as such" * 40)
    assert (await check_retail(settings(tmp_path))).outcome == "fail"


def test_the_port_may_be_in_use_by_a_gateway_that_runs_separately(tmp_path: Path) -> None:
    with answering(200, b'{"alive":true}') as url:
        port = urlsplit(url).port
        separate = settings(tmp_path, agent_port=port, nats_url="nats://nats:4222")
        assert check_port(separate, up=0).outcome == "ok"
        assert check_port(separate.model_copy(update={"agent_host": "0.0.0.0"}), up=0).outcome == "ok"
        assert check_port(settings(tmp_path, agent_port=port), up=0).outcome == "fail"  # parley up could not start
    with answering(200, b"something else") as url:
        port = urlsplit(url).port
        separate = settings(tmp_path, agent_port=port, nats_url="nats://nats:4222")
        assert check_port(separate, up=0).outcome == "fail"
