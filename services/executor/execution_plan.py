"""The guide of a plan's steps: before a wave begins, its references become what earlier steps have given.

What is against a pack's rules then, refers to nothing, or calls a tool that has changed since the plan was made, is
denied before it starts.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Protocol

from pydantic import JsonValue, ValidationError

from parley.events.values import ActionSpec, Waiting
from parley.protocol.tools import ToolSpec, past_calls
from services.executor.calling import bounded
from services.executor.keeping import parsed
from services.executor.polling import CannotPoll, polled_tool, polling_of
from services.executor.step_executors import StepExecutors
from services.executor.tools import Call, RegisteredTool, Registry, Result
from shared.domain import commands as c
from shared.domain.errors import Invalid
from shared.domain.for_each import MOST_ITEMS, expanded, items_of
from shared.domain.memory import history
from shared.domain.plan_steps import GATHER, step_of, unresolved
from shared.domain.policy import outdated
from shared.domain.references import ITEM, Outputs, Unresolved, resolved, steps_in
from shared.domain.session import Session
from shared.domain.state import Action, ActionStatus, Turn
from shared.domain.waiting import LONGEST_WAIT
from shared.domain.waves import ready
from shared.plan_checks.kinds import filled
from shared.worker import WorkContext

TO_COME: frozenset[ActionStatus] = frozenset({"planned", "approved"})


class Fetches(Protocol):
    """Where results are that are too large for an event: the bus."""

    async def fetch(self, name: str) -> bytes | None: ...


class StepGuide:
    def __init__(self, registry: Registry, artefacts: Fetches, executors: StepExecutors | None = None) -> None:
        self._registry = registry
        self._artefacts = artefacts
        self._executors = executors or StepExecutors()
        spec = ToolSpec(name=GATHER, description="Gathers results.", parameters={"type": "object"}, effect="read")
        self._gathers = RegisteredTool(spec, self._gather)

    def tools(self, session: Session, tools: Mapping[str, RegisteredTool]) -> Mapping[str, RegisteredTool]:
        """The tools as steps run them: by a step executor where there is one for them. A person's own call is none."""
        actions = session.turn.actions if session.turn else ()
        steps = any(step_of(session, action.spec.id) for action in actions)
        return {**self._executors.taking_over(tools), GATHER: self._gathers} if steps else tools

    async def leads(self, context: WorkContext) -> bool:
        """Whether the wave was changed, a step began to wait, or the person was asked, instead of what would begin."""
        command = await self._instead(context)
        if command is None:
            return False
        try:
            await context.record(command)
        except Invalid as error:
            await context.record(c.Fail(reason=f"The plan cannot go on: {error}", retryable=False))
        return True

    async def _instead(self, context: WorkContext) -> c.ChangeTurn | c.Wait | c.Ask | None:
        if old := self._outdated(context.session):
            return c.ChangeTurn(actions=old)
        wave = ready(context.session.turn)
        prepared = [await self._prepared(context.session, action.spec) for action in wave]
        changed = [new for action, new in zip(wave, prepared, strict=True) if new != (action.spec,)]
        if changed:
            return c.ChangeTurn(actions=tuple(spec for new in changed for spec in new))
        waits = [action for action in wave if action.spec.waits_for and action.spec.decision != "deny"]
        told = {action.spec.id: await self._waits_for(context, action) for action in waits}
        if refused := tuple(_denied(a.spec, why) for a in waits if isinstance(why := told[a.spec.id], str)):
            return c.ChangeTurn(actions=refused)
        if asked := next((one for one in told.values() if isinstance(one, c.Ask)), None):
            return asked
        until = tuple(one for one in told.values() if isinstance(one, Waiting))
        return c.Wait(actions=until) if until else None

    def _outdated(self, session: Session) -> tuple[ActionSpec, ...]:
        """The steps to come whose tool has changed, or is gone, denied: none of the plan goes on past them."""
        rules = {name: tool.spec.rule for name in _tools_to_come(session) if (tool := self._registry.find(name))}
        denied: list[ActionSpec] = []
        for action in session.turn.actions if session.turn else ():
            step, spec = step_of(session, action.spec.id), action.spec
            to_come = step is not None and action.status in TO_COME and spec.tool != GATHER
            if step and to_come and (why := outdated(step, rules.get(spec.tool))):
                denied.append(_denied(spec, why))
        return tuple(denied)

    async def _waits_for(self, context: WorkContext, action: Action) -> c.Ask | Waiting | str:
        """What this step asks, or until when it waits, as its tool says; or why it can do neither."""
        spec = action.spec
        if spec.waits_for == "condition":
            return await self._polls(context.session, action)
        tool = self._registry.find(spec.tool)
        if tool is None or tool.spec.waits_for != spec.waits_for:
            return f"There is no tool “{spec.tool}” that waits for a {spec.waits_for}."
        result = await bounded(tool, lambda: tool.run(Call(context.session, "", spec.arguments, context, action)))
        if not result.ok:
            return result.error
        try:
            if spec.waits_for == "time":
                waiting = Waiting.model_validate({"action_id": spec.id, "until": result.value})
                longest = datetime.now(UTC) + LONGEST_WAIT
                return waiting if waiting.until < longest else f"It would wait longer than {LONGEST_WAIT.days} days."
            return c.Ask.model_validate({**_fields(result.value), "about": "action", "action_id": spec.id})
        except ValidationError as error:
            return f"{spec.tool} does not say what is waited for: {error.errors()[0]['msg']}"

    async def _polls(self, session: Session, action: Action) -> Waiting | str:
        try:
            polling = await polling_of(self._registry, session, action)
            polled_tool(self._registry, session, polling)
        except CannotPoll as error:
            return str(error)
        until = datetime.now(UTC) + timedelta(seconds=polling.at_most)
        return Waiting(action_id=action.spec.id, until=until, every=polling.every)

    async def _prepared(self, session: Session, spec: ActionSpec) -> tuple[ActionSpec, ...]:
        """What the action becomes: with the values of its references, once for each item of its list, or denied."""
        calls: tuple[ActionSpec, ...] = (spec,)
        if unresolved(session, spec):
            try:
                calls = await self._resolved(session, spec)
            except Unresolved as error:
                return (_denied(spec, str(error)),)
        return tuple(self._allowed(session, call) for call in calls)

    async def _resolved(self, session: Session, spec: ActionSpec) -> tuple[ActionSpec, ...]:
        """Raises Unresolved."""
        step = step_of(session, spec.id)
        list_ = step.for_each if step else None
        outputs = await self._outputs(session.turn, {*steps_in(list_), *steps_in(spec.arguments)})
        if list_ is None:
            arguments = self._arguments(spec, outputs)
            if arguments == spec.arguments:  # it would be taken for unresolved for ever
                raise Unresolved("What its references stand for is the references themselves.")
            return (spec.model_copy(update={"arguments": arguments}),)
        items = resolved(list_, outputs)
        if not isinstance(items, list):
            raise Unresolved(f"{list_} is no list: a step can be done for each item of a list only.")
        if len(items) > MOST_ITEMS:
            raise Unresolved(f"{list_} has {len(items)} items, and a step can be done for {MOST_ITEMS}.")
        return expanded(spec, [self._arguments(spec, outputs | {ITEM: item}) for item in items])

    def _arguments(self, spec: ActionSpec, outputs: Outputs) -> dict[str, JsonValue]:
        """Raises Unresolved."""
        tool = self._registry.find(spec.tool)
        return filled(spec.arguments, tool.spec.parameters if tool else {}, outputs)

    def _allowed(self, session: Session, spec: ActionSpec) -> ActionSpec:
        """The call, denied where it is against the rules of its pack."""
        tool = self._registry.find(spec.tool)
        past = past_calls(history(session.memory, session.turn))
        forbidden = tool.check(spec.arguments, past) if tool and tool.check else ()
        return _denied(spec, " ".join(forbidden)) if forbidden else spec

    async def _outputs(self, turn: Turn | None, steps: Collection[str]) -> dict[str, JsonValue]:
        """What these steps gave, whole."""
        actions = {action.spec.id.rpartition(".")[2]: action for action in (turn.actions if turn else ())}
        return {name: await self._output(actions[name]) for name in steps if name in actions}

    async def _output(self, action: Action) -> JsonValue:
        """Raises Unresolved where it is not there whole."""
        if action.artefact is None:
            if action.status == "finished" and action.error:  # the whole of its result could not be stored
                raise Unresolved(f"What {action.spec.id} gave is not there whole: {action.error}")
            return parsed(action.result)
        body = await self._artefacts.fetch(action.artefact.name)
        if body is None or sha256(body).hexdigest() != action.artefact.sha256:
            raise Unresolved(f"What {action.spec.id} gave is not there any more as it was stored.")
        return parsed(body.decode())

    async def _gather(self, call: Call) -> Result:
        """What a step gave for each item of its list, in order; null for one that was left out."""
        items = items_of(call.session, call.action) if call.action else ()
        try:
            return Result(ok=True, value=[None if item is None else await self._output(item) for item in items])
        except Unresolved as error:
            return Result(ok=False, error=str(error))


def _tools_to_come(session: Session) -> set[str]:
    return {action.spec.tool for action in (session.turn.actions if session.turn else ()) if action.status in TO_COME}


def _fields(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _denied(spec: ActionSpec, why: str) -> ActionSpec:
    return spec.model_copy(update={"decision": "deny", "decision_reason": why[:2_000]})
