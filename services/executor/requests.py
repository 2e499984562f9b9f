"""What the executor answers about its tools: which there are, and what a call would change."""

from packs.retail.policy import RULES
from packs.retail.specs import ORIGIN as RETAIL
from pydantic import ValidationError

from services.executor.nodes import ORIGIN
from services.executor.ranking import best
from services.executor.tools import Registry
from shared.store import Loads
from shared.tools import ListTools, Preview, PreviewCall, ToolPage, ToolSpec


class Requests:
    """`world`: the fingerprint of the retail store's initial data."""

    def __init__(self, registry: Registry, store: Loads, world: str) -> None:
        self._registry = registry
        self._store = store
        self._world = world

    async def list(self, _: str, data: bytes) -> bytes:
        """For TOOLS_LIST."""
        try:
            ask = ListTools.model_validate_json(data or b"{}")
        except ValidationError:
            ask = ListTools()
        # nodes of flows are no tools to plan with: a path leads to them, with what the nodes before have made
        specs = [spec for tool in self._registry.all().values() if not (spec := tool.spec).origin.startswith(ORIGIN)]
        ranked = best(specs, ask.query) if ask.query else specs
        named = [spec for spec in specs if spec.name in ask.names]
        chosen = (*named, *[spec for spec in ranked if spec not in named][: max(ask.limit - len(named), 0)])
        return self._page(chosen, len(specs)).model_dump_json().encode()

    def _page(self, chosen: tuple[ToolSpec, ...], total: int) -> ToolPage:
        rules = RULES if any(spec.origin == RETAIL for spec in chosen) else ()
        return ToolPage(tools=chosen, total=total, world=self._world, rules=rules, troubles=self._registry.troubles())

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
