"""Previews of a plan's calls run in parallel and independently. Failed, late and unknown ones are left out."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from parley.protocol.tools import Change, Preview, PreviewCalls, Previews, StepCall, ToolSpec
from services.executor import tool_requests
from services.executor.tool_requests import ToolRequests
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from shared.domain.kernel.session import Session
from shared.log import SessionAtPosition

type PreviewFunction = Callable[[Session, Mapping[str, Any]], Awaitable[Preview]]


class CountingStore:
    """A store that counts its loads."""

    loads = 0

    async def load(self, session_id: str, **_: Any) -> SessionAtPosition:
        self.loads += 1
        return SessionAtPosition(Session(session_id), 1)


async def _runs(_: ToolInvocation) -> ToolResult:
    raise AssertionError("a preview runs nothing")


async def _previews(_: Session, arguments: Mapping[str, Any]) -> Preview:
    return Preview(known=True, changes=(Change(path="price", before=1, after=arguments["to"]),))


async def _refuses(_: Session, __: Mapping[str, Any]) -> Preview:
    return Preview(known=True, error="not now")


async def _fails(_: Session, __: Mapping[str, Any]) -> Preview:
    raise RuntimeError("broken")


async def _hangs(_: Session, __: Mapping[str, Any]) -> Preview:
    await asyncio.Event().wait()
    return Preview(known=True)


async def _does_not_know(_: Session, __: Mapping[str, Any]) -> Preview:
    return Preview(known=False)


PREVIEW_FUNCTIONS: dict[str, PreviewFunction | None] = {
    "tells": _previews,
    "refuses": _refuses,
    "fails": _fails,
    "hangs": _hangs,
    "cannot": _does_not_know,
    "none": None,
}


async def test_previews_in_time_are_returned_and_the_others_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_requests, "PREVIEW_TIMEOUT", 0.2)
    tools = [
        RegisteredTool(ToolSpec(name=name, description="", parameters={}, effect="write"), _runs, preview=preview)
        for name, preview in PREVIEW_FUNCTIONS.items()
    ]
    store = CountingStore()
    requests = ToolRequests(Registry(StaticSource(*tools)), store)
    calls = tuple(StepCall(step=name, tool=name, arguments={"to": 2}) for name in (*PREVIEW_FUNCTIONS, "unknown"))
    body = PreviewCalls(session_id="s1", calls=calls).model_dump_json().encode()
    previews = Previews.model_validate_json(await requests.previews("", body))
    assert previews.steps == {
        "tells": await _previews(Session("s1"), {"to": 2}),
        "refuses": await _refuses(Session("s1"), {}),
    }
    assert store.loads == 1
