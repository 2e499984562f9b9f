"""The executor's handler: run the batch of actions that is ready.

The start of each action is recorded before it runs and its outcome afterwards. Reads run in parallel, writes one after
the other in the order of the plan. A write that has started is never cancelled: a stop waits for its outcome, so that
the journal tells what happened. Once a tool has returned, its result is recorded, even during a stop or a shutdown.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

import structlog

from parley.events import facts
from services.executor.outcomes import ArtefactWriter, Attempt, OutcomeRecorder
from services.executor.tools import RegisteredTool, Registry, ToolInvocation, ToolResult, call_with_timeout
from shared.domain.kernel import commands as c
from shared.domain.kernel import wording
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.plan.policy import stricter_ruling
from shared.domain.turn.attempt_names import artefact_name, idempotency_key
from shared.domain.turn.batches import actions_to_start, running_actions
from shared.domain.turn.outcomes import RESULT_LEFT
from shared.domain.workflows import workflow_of_work
from shared.telemetry import metrics
from shared.worker import WorkContext
from shared.worker.cancellation import finish_before_cancel

log = structlog.get_logger("executor")
Tools = Mapping[str, RegisteredTool]


class FairSlots:
    """At most `total` batches run at once, and a user's next one only while more slots are free than the user holds.

    So one user alone gets half of the slots, and a slot stays free for the next user until many hold some. Batches
    start in the order of their arrival, except that one of a user who holds too many lets others pass.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._held: Counter[str] = Counter()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, user: str) -> AsyncIterator[None]:
        """Waits until the user's batch may run, and holds its slot meanwhile."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((user, turn))
        self._start_waiting()
        try:
            await turn
            yield
        finally:
            if (user, turn) in self._waiting:
                self._waiting.remove((user, turn))
            else:
                self._held -= Counter([user])
            self._start_waiting()

    def _start_waiting(self) -> None:
        for entry in list(self._waiting):
            user, turn = entry
            if not turn.cancelled() and self._held[user] < self._total - self._held.total():
                self._waiting.remove(entry)
                self._held[user] += 1
                turn.set_result(None)


class Guide(Protocol):
    """What a workflow does right before actions of its turn start."""

    def tools(self, session: Session, tools: Tools) -> Tools:
        """The tools as the workflow's actions run them."""
        ...

    async def preflight(self, context: WorkContext) -> bool:
        """Whether the guide changed the turn or asked the user, so that nothing starts now."""
        ...


class Executor:
    """Runs actions. `artefacts` stores results too large for an event; `guides` are by workflow."""

    def __init__(
        self, registry: Registry, artefacts: ArtefactWriter, guides: Mapping[str, Guide] | None = None
    ) -> None:
        self._registry = registry
        self._artefacts = artefacts
        self._guides = guides or {}

    async def run_batch(self, context: WorkContext) -> None:
        """Record `actions.started` unless there are only quiet reads, run the batch, and record each outcome.

        After a redelivery some actions have started already. Repeatable ones run again; the others become uncertain.
        """
        guide = self._guides.get(workflow_of_work(context.session).name)
        tools = self._registry.all()  # one snapshot, so that the rules checked are those of the tools called
        tools = guide.tools(context.session, tools) if guide else tools
        recorder = OutcomeRecorder(context, self._artefacts)
        if running_actions(context.session):
            await _close_interrupted(context, recorder, tools)
        elif guide and await guide.preflight(context):
            return
        try:
            if not await _start(context, recorder, tools):
                return
        except OutOfTurn:
            if context.session.work != context.work or not running_actions(context.session):
                raise
            await self.run_batch(context)  # another delivery started the batch first
            return
        attempts = _attempts(context, tools)
        reads = [attempt for attempt in attempts if attempt.action.spec.effect == "read"]
        writes = [attempt for attempt in attempts if attempt.action.spec.effect != "read"]
        try:
            async with asyncio.TaskGroup() as tasks:
                for read in reads:
                    tasks.create_task(_read(context, recorder, read))
                tasks.create_task(_in_order(context, recorder, writes))
        except ExceptionGroup as group:  # callers handle the errors, not exception groups
            raise group.exceptions[0] from group


async def _read(context: WorkContext, recorder: OutcomeRecorder, attempt: Attempt) -> None:
    started = time.monotonic()
    try:
        result = await _call(context, attempt)
    except asyncio.CancelledError:
        if context.stopped:
            cut_off = ToolResult(ok=False, error=wording.CUT_OFF, cause="stopped")
            await finish_before_cancel(recorder.record(attempt, cut_off, started))
        raise
    await finish_before_cancel(recorder.record(attempt, result, started))


async def _in_order(context: WorkContext, recorder: OutcomeRecorder, writes: list[Attempt]) -> None:
    for number, attempt in enumerate(writes, 1):
        try:
            await finish_before_cancel(_write(context, recorder, attempt))
        except asyncio.CancelledError:
            if untouched := writes[number:]:
                await finish_before_cancel(recorder.record_not_run(untouched))
            raise


async def _write(context: WorkContext, recorder: OutcomeRecorder, attempt: Attempt) -> None:
    started = time.monotonic()
    await recorder.record(attempt, await _call(context, attempt), started)


async def _call(context: WorkContext, attempt: Attempt) -> ToolResult:
    spec, tool = attempt.action.spec, attempt.tool
    if tool is None:
        return ToolResult(ok=False, error=f"There is no tool “{spec.tool}”.")
    call = ToolInvocation(context.session, attempt.key, spec.arguments, context, attempt.action)
    return await call_with_timeout(tool, lambda: tool.run(call))


async def _start(context: WorkContext, recorder: OutcomeRecorder, tools: Tools) -> bool:
    """Whether the batch has started. If it is cancelled before its first call, the started actions are recorded."""
    try:
        return await finish_before_cancel(_started(context, tools))
    except asyncio.CancelledError:
        untouched = [attempt for attempt in _attempts(context, tools) if attempt.action.status == "started"]
        if untouched:
            await finish_before_cancel(recorder.record_not_run(untouched))
        raise


async def _started(context: WorkContext, tools: Tools) -> bool:
    """Whether the batch runs now; records its start unless only quiet reads run, which need none.

    The domain restricts the turn instead if a tool does more than the plan says, or needs an approval that is missing.
    Raises OutOfTurn.
    """
    session = context.session
    if session.work != context.work:
        return False  # an uncertain action has ended the batch
    under_way, waiting = running_actions(session), actions_to_start(session)
    known = {tool.spec.name: tool for action in (*under_way, *waiting) if (tool := tools.get(action.spec.tool))}
    rules = {name: rule for name, tool in known.items() if (rule := tool.rule(session))}
    quiet = ((action, rules.get(action.spec.tool)) for action in under_way if action.status == "running")
    if under_way and not waiting and not any(stricter_ruling(session, action, rule) for action, rule in quiet):
        return True
    planned = {action.spec.id: action.spec for action in session.turn.actions} if session.turn else {}
    event = await context.record(c.Start(tools=rules))
    if not isinstance(event, facts.TurnChanged):
        return True
    for spec in (spec for spec in event.actions if spec != planned.get(spec.id)):
        metrics.ACTIONS_RESTRICTED.labels(spec.decision).inc()
        log.warning("action_restricted", action_id=spec.id, tool=spec.tool, effect=spec.effect, decision=spec.decision)
    return context.session.work == context.work


async def _close_interrupted(context: WorkContext, recorder: OutcomeRecorder, tools: Tools) -> None:
    """Record the actions that an earlier executor started and that cannot be repeated, and results it did not store."""
    for action in running_actions(context.session):
        if action.storing:
            await recorder.record_lost(action, RESULT_LEFT)
    for attempt in _attempts(context, tools):
        if attempt.action.status == "started" and not attempt.is_repeatable:
            await recorder.record_uncertain(attempt.action, "the executor was ended while it ran")


def _attempts(context: WorkContext, tools: Tools) -> tuple[Attempt, ...]:
    """The actions of the turn that have started and have no outcome yet."""
    return tuple(
        Attempt(
            action,
            idempotency_key(context.session, action),
            artefact_name(context.session, action),
            tools.get(action.spec.tool),
        )
        for action in running_actions(context.session)
        if not action.storing
    )
