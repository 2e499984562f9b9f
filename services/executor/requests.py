"""What the executor answers about its tools: which there are, what a call would change, and which are forbidden."""

from collections.abc import Sequence

from pydantic import ValidationError

from parley import Pack
from parley.protocol.tools import CheckCalls, ListTools, PastCall, Preview, PreviewCall, ToolPage, ToolSpec, Violations
from services.executor.ranking import best
from services.executor.sources.nodes import ORIGIN
from services.executor.tools import Registry
from shared.store import Loads


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
