"""Secrets are hidden wherever their values occur: in logs, events, and what the executor tells of tools."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest
from mcp import MCPError
from pydantic import SecretStr

from parley.protocol.tools import Change, CheckCalls, PastCall, Preview, PreviewCall, PreviewCalls, StepCall, ToolSpec
from services.executor.mcp.results import lost_outcome, outcome_of, refused_outcome
from services.executor.outcomes import MAX_ERROR, spill_if_large
from services.executor.tool_requests import ToolRequests
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared import logging
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.llm.faults import shorten
from shared.logging import conceal, excerpt_of, hide_secrets, keep_secret
from shared.settings import Settings
from shared.story import finish_action
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker.context import _without_secrets

KEY, PASSWORD = "plainlookingkey", "p@ssw0rd-of-nats"


@pytest.fixture(autouse=True)
def _no_known_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "_known", set())


def test_the_settings_list_every_secret() -> None:
    named = {
        name: SecretStr(f"value-of-{name}")
        for name, field in Settings.model_fields.items()
        if field.annotation is SecretStr
    }
    settings = Settings().model_copy(
        update=named
        | {
            "parley_api_keys": SecretStr("alice=alices-own-key, bob=bobs-own-key"),
            "nats_url": "nats://a-token-alone@h:1,nats://planner:p%40ssw0rd-of-nats@h:2",
            "database_url": "postgresql://postgres:of-the-database@db/x",
            "retail_database_url": "sqlite:///somewhere.db",
        }
    )
    secrets = set(settings.secrets)
    assert secrets >= {value.get_secret_value() for name, value in named.items() if name != "parley_api_keys"}
    assert secrets >= {"alices-own-key", "bobs-own-key", "a-token-alone", PASSWORD, "p%40ssw0rd-of-nats"}
    assert "of-the-database" in secrets
    assert "postgres" not in secrets  # a user name is no secret, and logs need it


def test_a_known_secret_is_hidden_in_every_value_of_a_log_line() -> None:
    keep_secret([KEY, "short", ""])
    event = hide_secrets(
        None, "", {"event": f"said {KEY}", "deep": [{"x": KEY}], "other": "short", "error": OSError(KEY)}
    )
    assert KEY not in str(event)
    assert (event["event"], event["other"]) == ("said ***", "short")


def test_a_known_secret_is_hidden_in_recorded_events() -> None:
    keep_secret([KEY])
    failure = _without_secrets(c.Fail(reason=f"refused: {KEY}", raw=f"{{{KEY}"))
    assert isinstance(failure, c.Fail)
    assert (failure.reason, failure.raw) == ("refused: ***", "{***")
    finish = _without_secrets(finish_action(action_id="1", ok=True, result={KEY: [KEY, 1, None]}, error=KEY, seconds=1))
    assert isinstance(finish, c.Finish)
    (outcome,) = finish.outcomes
    assert (outcome.result, outcome.error) == ({"***": ["***", 1, None]}, "***")
    harmless = c.Stop(reason="nothing of it")
    assert _without_secrets(harmless) == harmless
    assert conceal(("a", KEY)) == ("a", "***")


def test_of_two_secrets_that_begin_alike_nothing_is_left() -> None:
    keep_secret([KEY, f"{KEY}-and-more", f"{KEY}-and"])
    assert conceal(f"{KEY} {KEY}-and {KEY}-and-more") == "*** *** ***"


CUTS: dict[str, tuple[int, Callable[[str], str]]] = {
    "an excerpt": (300, lambda text: excerpt_of(text, 300)),
    "a model's error": (300, shorten),
    "an MCP server's refusal": (MAX_ERROR, lambda text: refused_outcome("s", MCPError(-32602, text)).error),
    "an MCP server's last words": (MAX_ERROR, lambda text: lost_outcome("s", text).error),
    "an MCP tool's error": (MAX_ERROR, lambda text: outcome_of({"isError": True, "content": text}).error),
    "a tool's error": (MAX_ERROR, lambda text: spill_if_large(ToolResult(ok=False, error=text), 100)[0].error),
}


@pytest.mark.parametrize("kind", CUTS)
def test_a_text_is_not_cut_within_a_secret(kind: str) -> None:
    keep_secret([KEY])
    length, cut = CUTS[kind]
    for before in range(length - len(KEY), length + 1):
        assert KEY[:3] not in cut("x" * before + KEY + "y" * MAX_ERROR)


class QuotingSource(StaticSource):
    """A tool whose preview, check and troubles quote the key."""

    def __init__(self) -> None:
        spec = ToolSpec(name="quote", description="", parameters={}, effect="write")
        super().__init__(RegisteredTool(spec, self._run, self._preview, self._check), trouble=f"refused: {KEY}")

    async def _run(self, _: ToolInvocation) -> ToolResult:
        raise AssertionError("nothing runs")

    async def _preview(self, _: Session, __: Mapping[str, Any]) -> Preview:
        return Preview(known=True, changes=(Change(path=KEY, before=KEY, after={"x": [KEY]}),))

    def _check(self, _: Mapping[str, Any], __: Sequence[PastCall]) -> tuple[str, ...]:
        return (f"never with {KEY}",)


async def test_no_answer_about_tools_quotes_a_secret() -> None:
    keep_secret([KEY])
    requests = ToolRequests(Registry(QuotingSource()), InMemoryStore(InMemoryLog()))
    call: dict[str, Any] = {"tool": "quote", "arguments": {}}
    step = StepCall(step="s1", **call)
    asked: list[tuple[Callable[[str, bytes], Awaitable[bytes]], str, str]] = [
        (requests.list, "{}", "refused: ***"),
        (requests.preview, PreviewCall(session_id="s", **call).model_dump_json(), '"x":["***"]'),
        (requests.previews, PreviewCalls(session_id="s", calls=(step,)).model_dump_json(), "***"),
        (requests.check, CheckCalls(calls=(PastCall(**call, status="planned"),)).model_dump_json(), "never with ***"),
    ]
    for request, body, words in asked:
        answer = (await request("", body.encode())).decode()
        assert KEY not in answer
        assert words in answer
