"""The guide of a path: before a node begins, where conditions lead, what it runs with, and what the person is asked.

Each is one fact, and the next delivery goes on from there: a guide that is killed leaves nothing half done.
"""

from collections.abc import Mapping

import structlog
from pydantic import JsonValue, ValidationError

from parley.events.values import ActionSpec
from parley.flow import Flow, Node, NodeFailed
from parley.protocol.flows import FlowPage, ListFlows
from services.executor.sources.nodes import NodeTools
from services.executor.tools import RegisteredTool
from services.executor.walking import confirmed, elsewhere, opening, state_of
from shared.domain import commands as c
from shared.domain.errors import Invalid
from shared.domain.paths import OPEN
from shared.domain.said import drafting
from shared.domain.session import Session
from shared.domain.state import Action
from shared.domain.waves import ready
from shared.flows import split
from shared.store import Loads, StoreDown
from shared.worker import WorkContext

log = structlog.get_logger("executor")
NO_USE = "Tried again it would be the same: say what you want in other words, or mend the conditions of the flow."


class PathGuide:
    def __init__(self, nodes: NodeTools, store: Loads) -> None:
        self._nodes = nodes
        self._store = store

    def tools(self, _: Session, tools: Mapping[str, RegisteredTool]) -> Mapping[str, RegisteredTool]:
        return tools

    async def leads(self, context: WorkContext) -> bool:
        """Whether the path was changed, or the person asked, instead of what would begin now."""
        command = await self._instead(context.session)
        if command is None:
            return False
        log.debug("path_led", session_id=context.session.id, command=command.model_dump(mode="json"))
        try:
            await context.record(command)
        except Invalid as error:
            await context.record(c.Fail(reason=f"{error} {NO_USE}", retryable=False))
        return True

    async def _instead(self, session: Session) -> c.ChangeTurn | c.Ask | c.Fail | None:
        wave = ready(session.turn)
        found = self._nodes.find(*split(wave[0].spec.tool)) if wave else None
        if found is None:
            return None  # nothing that is known here
        flow, node = found
        rest = tuple(action for action in session.turn.actions if action.status in OPEN) if session.turn else ()
        if other := elsewhere(flow, session, rest):
            return c.ChangeTurn(actions=other.rest, reason=other.why)
        if spec := self._resolved(flow, node, session, wave[0]):
            return c.ChangeTurn(actions=(spec, *(action.spec for action in rest[1:])))  # the way stays the same
        answered = wave[0].result is not None
        if node.asks and not answered and (session.settings.confirm != "nothing" or not node.proposes):
            return await self._question(flow, node, session, wave[0])
        return None

    def _resolved(self, flow: Flow, node: Node, session: Session, action: Action) -> ActionSpec | None:
        """The action with what it runs with, if it does not say that yet: for a person's eyes, and for the journal."""
        spec = action.spec
        policy, shown = self._nodes.policy(session, node), confirmed(node, session, spec.tool)
        always = (policy or session.settings.approval) == "always"
        if node.spec.effect == "read" and not node.spec.confirm and not always and policy != "deny":
            return None
        try:
            arguments = node.resolved(state_of(flow, session))
        except NodeFailed:
            return None  # it says so itself when it is run
        known = (spec.arguments, spec.effect, spec.policy) == (arguments, node.spec.effect, policy)
        if known and (spec.approval_reason or not shown):
            return None
        return ActionSpec(
            id=spec.id,
            tool=spec.tool,
            arguments=arguments,
            description=spec.description,
            effect=node.spec.effect,
            approval_reason=node.spec.confirm if shown else None,
            policy=policy,
        )

    async def _question(self, flow: Flow, node: Node, session: Session, action: Action) -> c.Ask | c.Fail | None:
        if node.asks is None:
            return None
        try:
            asked = await node.asks(state_of(flow, session))
        except NodeFailed as error:
            return c.Fail(reason=f"{node.spec.name} could not ask: {error}")
        text = asked.text[:50_000]
        return c.Ask(about="action", action_id=action.spec.id, text=text, options=asked.options, form=asked.form)

    async def list(self, subject: str, data: bytes) -> bytes | None:
        """For FLOWS_LIST. While plan_store is away it is not answered: whoever asks waits, and asks again."""
        try:
            ask = ListFlows.model_validate_json(data or b"{}")
        except ValidationError:
            ask = ListFlows()
        specs = self._nodes.specs()
        states: dict[str, dict[str, JsonValue]] = {}
        if ask.session_id:
            try:
                session = drafting((await self._store.load(ask.session_id)).session)
            except StoreDown as error:
                log.warning("request_unanswered", subject=subject, error=str(error))
                return None
            states = {flow.name: opening(flow, session) for flow in self._nodes.flows()}
        return FlowPage(flows=specs, states=states, troubles=tuple(self._nodes.troubles())).model_dump_json().encode()
