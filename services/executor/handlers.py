"""Executor: run the wave that is ready. Recorded as started before, and as finished after, whatever happens.

Reads run side by side, writes one after the other in the order of the plan. A write that has begun is never cut off:
a stop waits for its outcome, so that the journal tells what happened and not what was meant. What a tool has returned
is recorded in any case: neither a stop nor the end of the process comes between.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Protocol

import structlog

from parley.events import facts
from services.executor.calling import bounded
from services.executor.keeping import Keeps
from services.executor.recording import Attempt, Recorder
from services.executor.tools import Call, RegisteredTool, Registry, Result
from shared.domain import commands as c
from shared.domain import wording
from shared.domain.attempt_names import artefact_name, idempotency_key
from shared.domain.errors import OutOfTurn
from shared.domain.outcomes import RESULT_LEFT
from shared.domain.policy import stricter
from shared.domain.session import Session
from shared.domain.waves import running, to_start
from shared.domain.workflows import of_work
from shared.telemetry import metrics
from shared.worker import WorkContext
from shared.worker.shielded import shielded

log = structlog.get_logger("executor")
Tools = Mapping[str, RegisteredTool]


class Guide(Protocol):
    """What a workflow does right before actions of its turn begin."""

    def tools(self, session: Session, tools: Tools) -> Tools:
        """The tools as its actions run them."""
        ...

    async def leads(self, context: WorkContext) -> bool:
        """Whether the turn was changed, or a person asked, instead of what would begin now."""
        ...


class Executor:
    """Runs the tools of this process. `keeps` stores what is too large for an event; `guides` are by workflow."""

    def __init__(self, registry: Registry, keeps: Keeps, guides: Mapping[str, Guide] | None = None) -> None:
        self._registry = registry
        self._keeps = keeps
        self._guides = guides or {}

    async def run_wave(self, context: WorkContext) -> None:
        """One `actions.started` unless there are only quiet reads, which run already; then one outcome each.

        A redelivery finds some started already: what may be run again is, of the rest nobody knows what happened.
        """
        guide = self._guides.get(of_work(context.session).name)
        tools = self._registry.all()  # as they are now: what the wave is ruled by is what is called
        tools = guide.tools(context.session, tools) if guide else tools
        recorder = Recorder(context, self._keeps)
        if running(context.session):
            await _take_up(context, recorder, tools)
        elif guide and await guide.leads(context):
            return
        try:
            if not await _start(context, recorder, tools):
                return
        except OutOfTurn:
            if context.session.work != context.work or not running(context.session):
                raise
            await self.run_wave(context)  # another delivery has started it: to this one it comes again
            return
        attempts = _attempts(context, tools)
        reads = [attempt for attempt in attempts if attempt.action.spec.effect == "read"]
        writes = [attempt for attempt in attempts if attempt.action.spec.effect != "read"]
        try:
            async with asyncio.TaskGroup() as wave:
                for read in reads:
                    wave.create_task(_read(context, recorder, read))
                wave.create_task(_in_order(context, recorder, writes))
        except ExceptionGroup as several:  # whoever called us knows the errors, not the groups
            raise several.exceptions[0] from several


async def _read(context: WorkContext, recorder: Recorder, attempt: Attempt) -> None:
    started = time.monotonic()
    try:
        result = await _call(context, attempt)
    except asyncio.CancelledError:
        if context.stopped:
            cut_off = Result(ok=False, error=wording.CUT_OFF, cause="stopped")
            await shielded(recorder.record(attempt, cut_off, started))
        raise
    await shielded(recorder.record(attempt, result, started))


async def _in_order(context: WorkContext, recorder: Recorder, writes: list[Attempt]) -> None:
    for number, attempt in enumerate(writes, 1):
        try:
            await shielded(_write(context, recorder, attempt))
        except asyncio.CancelledError:
            if untouched := writes[number:]:
                await shielded(recorder.record_not_run(untouched))
            raise


async def _write(context: WorkContext, recorder: Recorder, attempt: Attempt) -> None:
    started = time.monotonic()
    await recorder.record(attempt, await _call(context, attempt), started)


async def _call(context: WorkContext, attempt: Attempt) -> Result:
    spec, tool = attempt.action.spec, attempt.tool
    if tool is None:
        return Result(ok=False, error=f"There is no tool “{spec.tool}”.")
    call = Call(context.session, attempt.key, spec.arguments, context, attempt.action)
    return await bounded(tool, lambda: tool.run(call))


async def _start(context: WorkContext, recorder: Recorder, tools: Tools) -> bool:
    """Whether the wave has started. A cancellation between its start and its first call is recorded of what started."""
    try:
        return await shielded(_started(context, tools))
    except asyncio.CancelledError:
        untouched = [one for one in _attempts(context, tools) if one.action.status == "started"]
        if untouched:
            await shielded(recorder.record_not_run(untouched))
        raise


async def _started(context: WorkContext, tools: Tools) -> bool:
    """Whether the wave runs now, in this work: its quiet reads do already, of the rest that is recorded first.

    Not if a tool does more than its plan says, or needs a yes that nobody gave. Raises OutOfTurn.
    """
    session = context.session
    if session.work != context.work:
        return False  # what nobody can tell about has ended the wave
    under_way, waiting = running(session), to_start(session)
    known = {tool.spec.name: tool for action in (*under_way, *waiting) if (tool := tools.get(action.spec.tool))}
    rules = {name: rule for name, tool in known.items() if (rule := tool.rule(session))}
    quiet = ((action, rules.get(action.spec.tool)) for action in under_way if action.status == "running")
    if under_way and not waiting and not any(stricter(session, action, rule) for action, rule in quiet):
        return True
    planned = {action.spec.id: action.spec for action in session.turn.actions} if session.turn else {}
    event = await context.record(c.Start(tools=rules))
    if not isinstance(event, facts.TurnChanged):
        return True
    for spec in (spec for spec in event.actions if spec != planned.get(spec.id)):
        metrics.ACTIONS_RESTRICTED.labels(spec.decision).inc()
        log.warning("action_restricted", action_id=spec.id, tool=spec.tool, effect=spec.effect, decision=spec.decision)
    return context.session.work == context.work


async def _take_up(context: WorkContext, recorder: Recorder, tools: Tools) -> None:
    """End what an executor before us began and cannot be run again; whatever it was storing is gone with it."""
    for action in running(context.session):
        if action.storing:
            await recorder.lost(action, RESULT_LEFT)
    for attempt in _attempts(context, tools):
        if attempt.action.status == "started" and not attempt.again:
            await recorder.uncertain(attempt.action, "the executor was ended while it ran")


def _attempts(context: WorkContext, tools: Tools) -> tuple[Attempt, ...]:
    """What of the turn has started and has no outcome yet."""
    return tuple(
        Attempt(
            action,
            idempotency_key(context.session, action),
            artefact_name(context.session, action),
            tools.get(action.spec.tool),
        )
        for action in running(context.session)
        if not action.storing
    )
