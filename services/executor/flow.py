"""The guide of a path: before a node starts, it follows conditions, fixes the node's arguments, and asks the user.

Each of these is one event, and the next delivery continues from there: a killed executor leaves nothing half done.
"""

from collections.abc import Mapping

import structlog
from pydantic import JsonValue, ValidationError

from parley.events.values import ActionSpec
from parley.flow import Flow, Node, NodeFailed
from parley.protocol.flows import FlowPage, ListFlows
from services.executor.flow_routing import initial_state, needs_confirmation, reroute, state_of
from services.executor.sources.nodes import NodeTools
from services.executor.tools import RegisteredTool
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.transcript.messages import drafting_session
from shared.domain.turn.batches import next_batch
from shared.domain.turn.flow_paths import OPEN_STATUSES
from shared.flows import split_tool_name
from shared.store import SessionLoader, StoreUnavailable
from shared.worker import WorkContext

log = structlog.get_logger("executor")
RETRY_IS_USELESS = (
    "Tried again it would be the same: say what you want in other words, or mend the conditions of the flow."
)


class PathGuide:
    def __init__(self, nodes: NodeTools, store: SessionLoader) -> None:
        self._nodes = nodes
        self._store = store

    def tools(self, _: Session, tools: Mapping[str, RegisteredTool]) -> Mapping[str, RegisteredTool]:
        return tools

    async def preflight(self, context: WorkContext) -> bool:
        """Whether the guide changed the path or asked the user, so that nothing starts now."""
        command = await self._next_command(context.session)
        if command is None:
            return False
        log.debug("path_led", session_id=context.session.id, command=command.model_dump(mode="json"))
        try:
            await context.record(command)
        except Invalid as error:
            await context.record(c.Fail(reason=f"{error} {RETRY_IS_USELESS}", retryable=False))
        return True

    async def _next_command(self, session: Session) -> c.ChangeTurn | c.Ask | c.Fail | None:
        batch = next_batch(session.turn)
        match = self._nodes.find(*split_tool_name(batch[0].spec.tool)) if batch else None
        if match is None:
            return None  # not a node of a known flow
        flow, node = match
        rest = (
            tuple(action for action in session.turn.actions if action.status in OPEN_STATUSES) if session.turn else ()
        )
        if new_route := reroute(flow, session, rest):
            return c.ChangeTurn(actions=new_route.rest, reason=new_route.why)
        if spec := self._with_arguments(flow, node, session, batch[0]):
            return c.ChangeTurn(actions=(spec, *(action.spec for action in rest[1:])))  # the route stays the same
        has_answer = batch[0].result is not None
        if node.asks and not has_answer and (session.settings.confirm != "nothing" or not node.proposes):
            return await self._question(flow, node, session, batch[0])
        return None

    def _with_arguments(self, flow: Flow, node: Node, session: Session, action: Action) -> ActionSpec | None:
        """The action with its arguments and policy, for approval and the journal; None if it has them already."""
        spec = action.spec
        policy, needs_approval = self._nodes.policy(session, node), needs_confirmation(node, session, spec.tool)
        always = (policy or session.settings.approval) == "always"
        if node.spec.effect == "read" and not node.spec.confirm and not always and policy != "deny":
            return None
        try:
            arguments = node.resolved(state_of(flow, session))
        except NodeFailed:
            return None  # the node reports this itself when it runs
        is_unchanged = (spec.arguments, spec.effect, spec.policy) == (arguments, node.spec.effect, policy)
        if is_unchanged and (spec.approval_reason or not needs_approval):
            return None
        return ActionSpec(
            id=spec.id,
            tool=spec.tool,
            arguments=arguments,
            description=spec.description,
            effect=node.spec.effect,
            approval_reason=node.spec.confirm if needs_approval else None,
            policy=policy,
        )

    async def _question(self, flow: Flow, node: Node, session: Session, action: Action) -> c.Ask | c.Fail | None:
        if node.asks is None:
            return None
        try:
            question = await node.asks(state_of(flow, session))
        except NodeFailed as error:
            return c.Fail(reason=f"{node.spec.name} could not ask: {error}")
        text = question.text[:50_000]
        return c.Ask(about="action", action_id=action.spec.id, text=text, options=question.options, form=question.form)

    async def list(self, subject: str, data: bytes) -> bytes | None:
        """Answer FLOWS_LIST. Gives no answer while the plan store is unavailable: the caller retries."""
        try:
            ask = ListFlows.model_validate_json(data or b"{}")
        except ValidationError:
            ask = ListFlows()
        specs = self._nodes.specs()
        states: dict[str, dict[str, JsonValue]] = {}
        if ask.session_id:
            try:
                session = drafting_session((await self._store.load(ask.session_id)).session)
            except StoreUnavailable as error:
                log.warning("request_unanswered", subject=subject, error=str(error))
                return None
            states = {flow.name: initial_state(flow, session) for flow in self._nodes.flows()}
        return FlowPage(flows=specs, states=states, troubles=tuple(self._nodes.troubles())).model_dump_json().encode()
