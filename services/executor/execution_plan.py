"""The guide of execution plans and turns: before a batch starts, it replaces references with outputs of earlier calls.

It denies a step that breaks a pack's rules, whose references have no value, or whose tool has changed since the plan
was made.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol

from pydantic import AwareDatetime, JsonValue, TypeAdapter, ValidationError

from parley.events.values import ActionSpec, Waiting
from parley.protocol.tools import ToolSpec
from services.executor.poll_requests import CannotPoll, poll_rule, polled_tool, polling_of
from services.executor.sources.packs import past_of
from services.executor.step_executors import StepExecutors
from services.executor.tools import RegisteredTool, Registry, ToolInvocation, ToolResult, call_with_timeout
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.kernel.state import Action, ActionStatus, Turn
from shared.domain.plan.policy import asked_tool, denied, outdated_call
from shared.domain.steps.for_each import MAX_ITEMS, expand_items, items_of
from shared.domain.steps.plan_steps import GATHER, is_unresolved, step_of
from shared.domain.steps.references import ITEM, Outputs, Unresolved, referenced_steps, resolve
from shared.domain.steps.waiting_steps import MAX_WAIT
from shared.domain.transcript.memory import key_of
from shared.domain.turn.action_ids import ActionId
from shared.domain.turn.batches import next_batch
from shared.plan_checks.argument_kinds import fill_arguments
from shared.repair.values import decoded
from shared.worker import WorkContext

NOT_STARTED: frozenset[ActionStatus] = frozenset({"planned", "approved"})
_WAIT_END: TypeAdapter[datetime | timedelta] = TypeAdapter(AwareDatetime | timedelta)


class ArtefactReader(Protocol):
    """Reads results that are too large for an event."""

    async def fetch(self, name: str) -> bytes | None: ...


class StepGuide:
    def __init__(self, registry: Registry, artefacts: ArtefactReader, executors: StepExecutors | None = None) -> None:
        self._registry = registry
        self._artefacts = artefacts
        self._executors = executors or StepExecutors()
        spec = ToolSpec(name=GATHER, description="Gathers results.", parameters={"type": "object"}, effect="read")
        self._gather_tool = RegisteredTool(spec, self._gather)

    def tools(self, session: Session, tools: Mapping[str, RegisteredTool]) -> Mapping[str, RegisteredTool]:
        """The tools as steps run them, with step executors where configured. A user's own call is not a step."""
        actions = session.turn.actions if session.turn else ()
        steps = any(step_of(session, action.spec.id) for action in actions)
        return {**self._executors.override(tools), GATHER: self._gather_tool} if steps else tools

    async def preflight(self, context: WorkContext) -> bool:
        """Record what must happen before the batch can start: a changed call, a wait or a question.

        Returns whether anything was recorded; then nothing starts now.
        """
        command = await self._next_command(context)
        if command is None:
            return False
        try:
            await context.record(command)
        except Invalid as error:
            await context.record(c.Fail(reason=f"The plan cannot continue: {error}", retryable=False))
        return True

    async def _next_command(self, context: WorkContext) -> c.ChangeTurn | c.Wait | c.Ask | None:
        if old := self._outdated(context.session):
            return c.ChangeTurn(actions=old)
        batch = next_batch(context.session.turn)
        prepared = [await self._prepare(context.session, action.spec) for action in batch]
        if changed := [new for action, new in zip(batch, prepared, strict=True) if new != (action.spec,)]:
            specs = tuple(spec for new in changed for spec in new)
            return c.ChangeTurn(actions=_without_repeated_changes(context.session, specs))
        asked = undecided_actions(context.session.turn)
        waits = [a for a in batch if a.spec.waits_for and a.spec.decision != "deny" and a not in asked]
        commands = {action.spec.id: await self._wait_command(context, action) for action in waits}
        if refused := tuple(denied(a.spec, why) for a in waits if isinstance(why := commands[a.spec.id], str)):
            return c.ChangeTurn(actions=refused)
        if question := next((command for command in commands.values() if isinstance(command, c.Ask)), None):
            return question
        begun = [command for command in commands.values() if isinstance(command, c.Wait)]
        waiting = tuple(waiting for command in begun for waiting in command.actions)
        rules = {step: rule for command in begun for step, rule in command.rules.items()}
        return c.Wait(actions=waiting, rules=rules) if waiting else None

    def _outdated(self, session: Session) -> tuple[ActionSpec, ...]:
        """Upcoming steps whose tool has changed or is gone, denied: the plan does not continue past them."""
        rules = {name: tool.spec.rule for name in _upcoming_tools(session) if (tool := self._registry.find(name))}
        actions = session.turn.actions if session.turn else ()
        to_come = [action.spec for action in actions if action.status in NOT_STARTED]
        whys = ((spec, outdated_call(session, spec, rules.get(spec.tool))) for spec in to_come)
        return tuple(denied(spec, why) for spec, why in whys if why)

    async def _wait_command(self, context: WorkContext, action: Action) -> c.Ask | c.Wait | str:
        """The question or the wait that the step's tool describes; or, as text, why it describes neither."""
        spec = action.spec
        if spec.waits_for == "condition":
            return await self._poll_wait(context, action)
        tool = self._registry.find(spec.tool)
        if tool is None or tool.spec.waits_for != spec.waits_for:
            return f"There is no tool “{spec.tool}” that waits for a {spec.waits_for}."
        result = await call_with_timeout(
            tool, lambda: tool.run(ToolInvocation(context.session, "", spec.arguments, context, action))
        )
        if not result.ok:
            return result.error
        try:
            if spec.waits_for == "time":
                end = _WAIT_END.validate_python(result.value)
                now = await _broker_time(context)
                if isinstance(end, timedelta):
                    end = now + min(end, 2 * MAX_WAIT)  # a longer one can overflow a datetime; this is too long, too
                too_long = f"It would wait longer than {MAX_WAIT.days} days."
                return c.Wait(actions=(Waiting(action_id=spec.id, until=end),)) if end < now + MAX_WAIT else too_long
            return c.Ask.model_validate({**_fields(result.value), "about": "action", "action_id": spec.id})
        except ValidationError as error:
            return f"{spec.tool} gave no valid time or question to wait for: {error.errors()[0]['msg']}"

    async def _poll_wait(self, context: WorkContext, action: Action) -> c.Wait | str:
        session = context.session
        try:
            polling = await polling_of(self._registry, session, action)
            polled = polled_tool(self._registry, session, polling)
        except CannotPoll as error:
            return str(error)
        until = await _broker_time(context) + timedelta(seconds=polling.at_most)
        rule, step = poll_rule(self._registry, session, action, polled), action.spec.id
        waiting = Waiting(action_id=step, until=until, every=polling.every)
        return c.Wait(actions=(waiting,), rules={step: rule} if rule else {})

    async def _prepare(self, session: Session, spec: ActionSpec) -> tuple[ActionSpec, ...]:
        """The action with its references resolved, once for each item of its list, or denied."""
        calls: tuple[ActionSpec, ...] = (spec,)
        if is_unresolved(session, spec):
            try:
                calls = await self._resolve(session, spec)
            except Unresolved as error:
                return (denied(spec, str(error)),)
        return tuple(self._checked(session, call) for call in calls)

    async def _resolve(self, session: Session, spec: ActionSpec) -> tuple[ActionSpec, ...]:
        """Raises Unresolved."""
        step = step_of(session, spec.id)
        list_ = step.for_each if step else None
        named = referenced_steps([list_, spec.arguments])
        outputs = await self._outputs(session.turn, named)
        if list_ is None:
            arguments = self._arguments(spec, outputs)
            new = spec.model_copy(update={"arguments": arguments})
            if is_unresolved(session, new):  # it would be filled in again without end
                raise Unresolved("Its references lead to texts that are references again.")
            return (new,)
        items = resolve(list_, outputs)
        if not isinstance(items, list):
            raise Unresolved(f"{list_} is no list: a step can be done for each item of a list only.")
        if len(items) > MAX_ITEMS:
            raise Unresolved(f"{list_} has {len(items)} items, and a step can be done for {MAX_ITEMS}.")
        return expand_items(spec, [self._arguments(spec, outputs | {ITEM: item}) for item in items])

    def _arguments(self, spec: ActionSpec, outputs: Outputs) -> dict[str, JsonValue]:
        """Raises Unresolved."""
        inner = spec.arguments.get("arguments") if spec.waits_for == "condition" else None
        if not isinstance(inner, dict):
            return fill_arguments(spec.arguments, self._schema(spec.tool), outputs)
        outer = {name: value for name, value in spec.arguments.items() if name != "arguments"}
        polled = fill_arguments(inner, self._schema(asked_tool(spec)), outputs)
        return {**fill_arguments(outer, self._schema(spec.tool), outputs), "arguments": polled}

    def _schema(self, name: str) -> dict[str, JsonValue]:
        """The schema of this tool's arguments; {} if there is no such tool."""
        tool = self._registry.find(name)
        return tool.spec.parameters if tool else {}

    def _checked(self, session: Session, spec: ActionSpec) -> ActionSpec:
        """The call, denied if its tool cannot take its arguments or it breaks the rules of its pack, so that nobody is
        asked about a call that cannot be made.
        """
        tool = self._registry.find(spec.tool)
        if tool is None or is_unresolved(session, spec) or not (spec.depends_on or step_of(session, spec.id)):
            return spec  # a call that depends on no other was checked when it was planned
        forbidden = tool.objections(spec.arguments, past_of(session))
        return denied(spec, " ".join(forbidden)) if forbidden else spec

    async def _outputs(self, turn: Turn | None, steps: Collection[str]) -> dict[str, JsonValue]:
        """The complete outputs of these steps. Raises Unresolved."""
        actions = {ActionId.parse(action.spec.id).within: action for action in (turn.actions if turn else ())}
        return {name: await self._output(actions[name]) for name in steps if name in actions}

    async def _output(self, action: Action) -> JsonValue:
        """The complete output of a step. Raises Unresolved if it was not stored, or is gone."""
        if action.artefact is None:
            if action.status == "finished" and action.error:  # its complete result could not be stored
                raise Unresolved(f"What {action.spec.id} gave is not there whole: {action.error}")
            return decoded(action.result)
        body = await self._artefacts.fetch(action.artefact.name)
        if body is None or sha256(body).hexdigest() != action.artefact.sha256:
            raise Unresolved(f"What {action.spec.id} gave is not there any more as it was stored.")
        return decoded(body.decode())

    async def _gather(self, call: ToolInvocation) -> ToolResult:
        """The outputs for each item of a step's list, in order; null for a skipped item."""
        items = items_of(call.session, call.action) if call.action else ()
        try:
            return ToolResult(ok=True, value=[None if item is None else await self._output(item) for item in items])
        except Unresolved as error:
            return ToolResult(ok=False, error=str(error))


def _without_repeated_changes(session: Session, specs: Sequence[ActionSpec]) -> tuple[ActionSpec, ...]:
    """The calls, but a change with the same tool and arguments as another call of the turn is denied.

    Reads, and the steps of a plan, may repeat a call.
    """
    ids = {spec.id for spec in specs}
    actions = session.turn.actions if session.turn else ()
    others = [a.spec for a in actions if a.spec.id not in ids and not a.is_dead and a.spec.decision != "deny"]
    made = {key_of(spec.tool, spec.arguments): spec.id for spec in others}
    checked: list[ActionSpec] = []
    for spec in specs:
        same = made.setdefault(key_of(spec.tool, spec.arguments), spec.id)
        repeats = same != spec.id and spec.effect != "read" and not step_of(session, spec.id)
        checked.append(denied(spec, f"It is the same change as {same}: once is enough.") if repeats else spec)
    return tuple(checked)


def _upcoming_tools(session: Session) -> set[str]:
    return {
        action.spec.tool for action in (session.turn.actions if session.turn else ()) if action.status in NOT_STARTED
    }


async def _broker_time(context: WorkContext) -> datetime:
    """The broker's time, by which waits end, whatever the clock of this machine says. Raises LogUnavailable."""
    return (await context.deps.log.count()).at


def _fields(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}
