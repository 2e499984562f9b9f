"""Doctor checks of tools and of a running gateway, against real files, databases and servers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli.operate.doctor import check_mcp, check_port, check_retail
from packs.retail.generate import generate
from packs.retail.store import Worlds
from shared.settings import Settings


def settings(home: Path, **overrides: Any) -> Settings:
    return Settings(parley_home=home, **overrides)


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


@contextmanager
def answering(body: bytes) -> Iterator[int]:
    """The port of an HTTP server that answers every request with this body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_the_port_may_be_in_use_by_a_gateway_that_runs_separately(tmp_path: Path) -> None:
    with answering(b'{"alive":true}') as port:
        separate = settings(tmp_path, agent_port=port, nats_url="nats://nats:4222")
        assert check_port(separate, up=0).outcome == "ok"
        assert check_port(separate.model_copy(update={"agent_host": "0.0.0.0"}), up=0).outcome == "ok"
        assert check_port(settings(tmp_path, agent_port=port), up=0).outcome == "fail"  # parley up could not start
    with answering(b"something else") as port:
        separate = settings(tmp_path, agent_port=port, nats_url="nats://nats:4222")
        assert check_port(separate, up=0).outcome == "fail"
