"""What MCP servers send beside the protocol: at their start on stdio, and over HTTP."""

import asyncio

import pytest

from shared import logging
from shared.logging import keep_secret
from tests.support.mcp_odd_client import GOOD, NOTICE, TRANSPORTS, blocks, call, connected, text
from tests.support.timeouts import WAIT_TIMEOUT

SECRET = "a-server-quotes-this"


@pytest.mark.parametrize(
    "around",
    [
        {"before": "PHP Warning: x in y.php on line 3\n"},
        {"line": "%s\nBye."},
        {"before": NOTICE % ("message", '{"level": "info", "data": "x"}')},
        {"line": "[%s]"},
    ],
)
async def test_an_answer_over_http_is_found_in_whatever_else_is_sent(around: dict[str, str]) -> None:
    assert await call({"result": blocks(text("found")), **around}, "http") == "found"


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (
            "401 Unauthorized",
            '{"error": "invalid_token", "error_description": "The token has expired"}',
            'HTTP 401 Unauthorized: {"error": "invalid_token", "error_description": "The token has expired"}',
        ),
        ("403 Forbidden", "", "HTTP 403 Forbidden"),
        ("429 Too Many Requests", "slow down", "HTTP 429 Too Many Requests: slow down"),
        ("502 Bad Gateway", "<html>no backend</html>", "HTTP 502 Bad Gateway: <html>no backend</html>"),
    ],
)
async def test_a_refusal_over_http_is_told_in_its_own_words(status: str, body: str, words: str) -> None:
    async with connected({"pages": [{"tools": [GOOD]}], "status": status, "body": body}, "http") as servers:
        outcome = await servers.call("s.good", {})
        assert (outcome.ok, outcome.unknown) == (False, True)
        assert words in outcome.error


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_secret_that_a_server_quotes_is_concealed(monkeypatch: pytest.MonkeyPatch, transport: str) -> None:
    monkeypatch.setattr(logging, "_known", set())
    keep_secret([SECRET])
    said = f"your key is {SECRET}"
    schema = {"type": "object", "properties": {"a": {"type": "string", "default": SECRET}}}
    odd = {"name": said, "inputSchema": {"type": "string"}}
    tools = [{"name": "good", "description": said, "inputSchema": schema}, odd]
    failure = {"isError": True, "content": [{"type": "text", "text": said}]}
    async with connected({"pages": [{"tools": tools}], "result": failure}, transport) as servers:
        outcome = await servers.call("s.good", {})
        told = f"{servers.specs()} {servers.troubles()} {outcome.error}"
    assert SECRET not in told
    assert told.count("***") == 4


async def test_a_server_that_ends_at_any_first_message_but_initialize_is_used() -> None:
    """Servers written in Rust do."""
    script = {"pages": [{"tools": [GOOD]}], "result": blocks(text("found")), "initialize_first": True}
    async with connected(script) as servers, asyncio.timeout(WAIT_TIMEOUT):
        while not servers.specs():  # noqa: ASYNC110  the first event may be that the server is away
            await asyncio.sleep(0.01)
        assert (await servers.call("s.good", {})).value == "found"
