"""Recording what came of actions: from the moment a result exists until all of it is stored."""

import asyncio
import time
from collections.abc import Iterable
from typing import NamedTuple

import structlog
from pydantic_core import to_json

from parley.events import facts
from parley.events.facts import MAX_OUTCOMES
from parley.events.values import Outcome
from services.executor.keeping import ERROR, Keeps, fitted, not_kept, room_for_results
from services.executor.tools import RegisteredTool, Result
from shared.domain import commands as c
from shared.domain import wording
from shared.domain.errors import OutOfTurn
from shared.domain.state import Action
from shared.log import MAX_BODY, Unstorable
from shared.worker import WorkContext

log = structlog.get_logger("executor")
ROOM = MAX_BODY - 16 * 1024  # bytes of outcomes in one event; the rest is for its envelope


class Attempt(NamedTuple):
    """One attempt at an action that was started, and its tool, if there is one.

    `key` is its tool's idempotency key, `artefact` the name of the whole of its result. Both are taken when the wave
    begins, because the session may have moved on when the action ends.
    """

    action: Action
    key: str
    artefact: str
    tool: RegisteredTool | None

    @property
    def again(self) -> bool:
        return self.tool.again if self.tool else self.action.spec.effect == "read"


class Recorder:
    """Records what came of one wave's actions, as they end.

    The outcome comes first: what the tool did is known from then on. A result that no event can hold is stored after
    it. What ends while an event is being appended is recorded with the next one.
    """

    def __init__(self, context: WorkContext, keeps: Keeps) -> None:
        self._desk = context
        self._keeps = keeps
        self._waiting: list[Outcome] = []
        self._recorded: dict[str, Outcome] = {}
        self._appending = asyncio.Lock()
        self._failed: Exception | None = None
        self._room = room_for_results(context.session)

    async def record(self, attempt: Attempt, result: Result, started: float) -> None:
        """`started` by the monotonic clock."""
        spec, number = attempt.action.spec, attempt.action.attempt
        if result.unknown and spec.effect != "read":
            await self._append(c.Uncertain(action_id=spec.id, attempt=number, reason=result.error[:ERROR]))
            return
        fit, whole = fitted(result, attempt.tool.largest if attempt.tool else 0, self._room)
        self._room = max(self._room - len(to_json(fit.value)), 0)
        outcome = Outcome(
            action_id=spec.id,
            attempt=number,
            ok=fit.ok,
            result=fit.value,
            error=fit.error,
            cause=fit.cause,
            seconds=round(time.monotonic() - started, 3),
            size=None if whole is None else len(whole),
            confirmed=fit.confirmed,
            violation=fit.violation[:ERROR],
            handed_over=fit.handed_over,
            files=dict(fit.files),
        )
        await self._outcomes([outcome])
        recorded = self._recorded.get(spec.id)
        if whole is not None and recorded and recorded.size is not None:
            await self._store(attempt, whole)

    async def record_not_run(self, attempts: Iterable[Attempt]) -> None:
        """Record that these were started and never called.

        After a stop that holds for all of them. Where the executor itself is ended, the next one runs what may be run
        again; only of the rest it could not know that it never ran.
        """
        stopped = self._desk.stopped
        error = wording.CUT_OFF_BEFORE if stopped else wording.LEFT_BEFORE
        actions = [attempt.action for attempt in attempts if stopped or not attempt.again]
        await self._outcomes(
            [
                Outcome(
                    action_id=one.spec.id,
                    attempt=one.attempt,
                    ok=False,
                    error=error,
                    cause="stopped" if stopped else None,
                )
                for one in actions
            ]
        )

    async def lost(self, action: Action, reason: str) -> None:
        """The result of which the outcome has the beginning will not be stored."""
        await self._append(c.LoseResult(action_id=action.spec.id, attempt=action.attempt, reason=reason[:ERROR]))

    async def uncertain(self, action: Action, reason: str) -> None:
        await self._append(c.Uncertain(action_id=action.spec.id, attempt=action.attempt, reason=reason))

    async def _store(self, attempt: Attempt, whole: bytes) -> None:
        action = attempt.action
        try:
            artefact = await self._keeps.keep(attempt.artefact, whole)
        except Exception as error:  # whatever the store says: the outcome is recorded, and the wave goes on
            log.warning("artefact_not_kept", name=attempt.artefact, error=repr(error))
            await self.lost(action, f"Only the beginning of its {len(whole)} bytes is here: {error}")
        else:
            await self._append(c.StoreResult(action_id=action.spec.id, attempt=action.attempt, artefact=artefact))

    async def _append(self, command: c.Uncertain | c.StoreResult | c.LoseResult) -> None:
        try:
            await self._desk.record(command)
        except OutOfTurn as error:  # another delivery recorded this first
            log.info("recorded_already", action_id=command.action_id, reason=str(error))

    async def _outcomes(self, outcomes: list[Outcome]) -> None:
        """Raises what kept an outcome of the wave from being recorded: those that wait behind it give up with it."""
        self._waiting += outcomes
        async with self._appending:
            while any(outcome in self._waiting for outcome in outcomes):
                if self._failed:
                    raise self._failed
                batch = _batch(self._waiting)
                try:
                    await self._finish(batch)
                except Exception as error:
                    self._failed = error
                    raise
                del self._waiting[: len(batch)]

    async def _finish(self, outcomes: tuple[Outcome, ...]) -> None:
        try:
            event = await self._desk.record(c.Finish(outcomes=outcomes))
        except OutOfTurn:
            return  # another delivery recorded these first
        except Unstorable as error:
            if len(outcomes) > 1:
                for one in outcomes:
                    await self._finish((one,))
                return
            (one,) = outcomes
            if one.result is None:
                raise
            without = {"result": None, "size": None, "error": not_kept(one.error, error)}
            await self._finish((one.model_copy(update=without),))
        else:
            recorded = event.outcomes if isinstance(event, facts.ActionsFinished) else ()
            self._recorded |= {outcome.action_id: outcome for outcome in recorded}


def _batch(waiting: list[Outcome]) -> tuple[Outcome, ...]:
    """As many of the first as one event can hold; the first one in any case."""
    first, *others = waiting[:MAX_OUTCOMES]
    batch = [first]
    room = ROOM - _size(first) if others else 0
    for outcome in others:
        if (room := room - _size(outcome)) < 0:
            break
        batch.append(outcome)
    return tuple(batch)


def _size(outcome: Outcome) -> int:
    """Bytes."""
    return len(outcome.model_dump_json().encode())
