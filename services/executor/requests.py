"""What the executor answers about its tools: which there are, what a call would change, and which are forbidden."""

import asyncio
from collections.abc import Sequence

import structlog
from pydantic import ValidationError

from parley import Pack
from parley.protocol.tools import (
    TOOLS_PREVIEWS,
    CheckCalls,
    ListTools,
    PastCall,
    Preview,
    PreviewCall,
    PreviewCalls,
    Previews,
    StepCall,
    ToolPage,
    ToolSpec,
    Violations,
)
from services.executor.ranking import best
from services.executor.sources.nodes import ORIGIN
from services.executor.tools import Registry
from shared.domain.session import Session
from shared.store import Loads

log = structlog.get_logger("executor")
PREVIEW_SECONDS = 3.0  # that one preview of a plan may take


class Requests:
    """`packs`: those whose words and rules go with their tools."""

    def __init__(self, registry: Registry, store: Loads, packs: Sequence[Pack] = ()) -> None:
        self._registry = registry
        self._store = store
        self._packs = packs

    async def list(self, _: str, data: bytes) -> bytes:
        """For TOOLS_LIST."""
        try:
            ask = ListTools.model_validate_json(data or b"{}")
        except ValidationError:
            ask = ListTools()
        # nodes of flows are no tools to plan with: a path leads to them, with what the nodes before have made
        specs = [spec for tool in self._registry.all().values() if not (spec := tool.spec).origin.startswith(ORIGIN)]
        if ask.calls_only:
            specs = [spec for spec in specs if spec.waits_for is None]
        if ask.only:
            specs = [spec for spec in specs if spec.name in ask.only]
        ranked = best(specs, ask.query) if ask.query else specs
        named = [spec for spec in specs if spec.name in ask.names]
        chosen = (*named, *[spec for spec in ranked if spec not in named][: max(ask.limit - len(named), 0)])
        return self._page(chosen, len(specs)).model_dump_json().encode()

    def _page(self, chosen: tuple[ToolSpec, ...], total: int) -> ToolPage:
        origins = {spec.origin for spec in chosen}
        used = [pack for pack in self._packs if pack.name in origins]
        return ToolPage(
            tools=chosen,
            total=total,
            world=" ".join(pack.fingerprint for pack in self._packs if pack.fingerprint),
            rules=tuple(words for pack in used for words in (pack.prompt, *pack.rules) if words),
            troubles=self._registry.troubles(),
        )

    async def preview(self, _: str, data: bytes) -> bytes:
        """For TOOLS_PREVIEW."""
        try:
            told = await self._preview(PreviewCall.model_validate_json(data))
        except ValidationError as error:
            told = Preview(known=False, error=f"This is no call: {error.errors()[0]['msg']}")
        return told.model_dump_json().encode()

    async def _preview(self, ask: PreviewCall) -> Preview:
        tool = self._registry.find(ask.tool)
        if tool is None:
            return Preview(known=False, error=f"There is no tool “{ask.tool}”.")
        if tool.spec.effect == "read":
            return Preview(known=True)
        if tool.preview is None:
            return Preview(known=False)
        session = (await self._store.load(ask.session_id)).session
        return await tool.preview(session, ask.arguments)

    async def previews(self, _: str, data: bytes) -> bytes:
        """For TOOLS_PREVIEWS: side by side, each in the time that one may take."""
        try:
            ask = PreviewCalls.model_validate_json(data)
        except ValidationError as error:
            log.warning("bad_request", subject=TOOLS_PREVIEWS, reason=str(error))
            return Previews().model_dump_json().encode()
        session = (await self._store.load(ask.session_id)).session
        found = await asyncio.gather(*(self._in_time(session, call) for call in ask.calls))
        steps = {call.step: told for call, told in zip(ask.calls, found, strict=True) if told and told.known}
        return Previews(steps=steps).model_dump_json().encode()

    async def _in_time(self, session: Session, call: StepCall) -> Preview | None:
        """None where the tool cannot tell, takes too long, or fails at it."""
        tool = self._registry.find(call.tool)
        if tool is None or tool.preview is None:
            return None
        try:
            async with asyncio.timeout(PREVIEW_SECONDS):
                return await tool.preview(session, call.arguments)
        except Exception:  # a pack's own code, or its server's
            log.exception("preview_failed", tool=call.tool)
            return None

    async def check(self, _: str, data: bytes) -> bytes:
        """For TOOLS_CHECK. What is no request is forbidden: whoever asked may not go on by mistake."""
        try:
            violations = self._violations(CheckCalls.model_validate_json(data))
        except ValidationError as error:
            violations = (f"These are no calls: {error.errors()[0]['msg']}",)
        return Violations(violations=violations).model_dump_json().encode()

    def _violations(self, ask: CheckCalls) -> tuple[str, ...]:
        """Of calls in this order: one that is forbidden is not made, so later ones are held against the others."""
        past = list(ask.past)
        violations: list[str] = []
        for call in ask.calls:
            tool = self._registry.find(call.tool)
            if tool is None or tool.check is None:
                continue
            if reasons := tool.check(call.arguments, past):
                violations += reasons
            else:
                past.append(PastCall(tool=call.tool, arguments=call.arguments, status="planned"))
        return tuple(violations)
