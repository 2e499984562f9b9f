"""Records the outcomes of actions. A result too large for an event is stored, and the event keeps an excerpt."""

import asyncio
import time
from collections.abc import Iterable
from typing import NamedTuple, Protocol

import structlog
from pydantic import JsonValue
from pydantic_core import to_json, to_jsonable_python

from parley.events import facts
from parley.events.facts import MAX_OUTCOMES
from parley.events.values import Artefact, Effect, Outcome
from services.executor.tools import RegisteredTool, ToolResult
from shared.domain.kernel import commands as c
from shared.domain.kernel import wording
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.transcript.memory import text_of
from shared.log import MAX_BODY, Unstorable
from shared.logging import conceal, excerpt_of
from shared.repair.schema import is_finite
from shared.worker import WorkContext

EXCERPT = 4_000  # characters
SHORT_EXCERPT = 200  # characters, once the session has no room left
MAX_SESSION_RESULTS = 2_000_000  # bytes of all results in a session; further ones go to the object store
MAX_ERROR = 2_000
log = structlog.get_logger("executor")
MAX_OUTCOME_BYTES = MAX_BODY - 16 * 1024  # of outcomes in one event; the rest is for its envelope


class ArtefactWriter(Protocol):
    """Stores artefacts."""

    async def keep(self, name: str, data: bytes) -> Artefact: ...


def with_json_value(result: ToolResult, value: object, effect: Effect) -> ToolResult:
    """The result with this value as JSON. If JSON cannot express it, a read has failed; a write still counts."""
    try:
        return result._replace(value=_finite(to_jsonable_python(value)))
    except ValueError as error:
        ok = result.ok and effect != "read"
        return result._replace(ok=ok, value=None, error=unstorable_error(result.error, error))


def _finite(value: JsonValue) -> JsonValue:
    """The value. Raises ValueError if it has a number that is not finite."""
    if not is_finite(value):
        raise ValueError("it has a number that is not finite")
    return value


def remaining_result_bytes(session: Session) -> int:
    """Bytes of further results that the session has room for."""
    turn = session.turn.actions if session.turn else ()
    results = {action.spec.id: action.result for action in (*session.begun_steps, *session.left_running, *turn)}
    return max(MAX_SESSION_RESULTS - sum(len(to_json(result)) for result in results.values() if result is not None), 0)


def spill_if_large(
    result: ToolResult, largest: int, room: int = MAX_SESSION_RESULTS
) -> tuple[ToolResult, bytes | None]:
    """The result as an event carries it; and the complete text, secrets concealed, if the event has only an excerpt.

    The event carries a result of at most `largest` bytes that fits into the session's `room`, in bytes.
    """
    result = result._replace(error=excerpt_of(result.error, MAX_ERROR).encode(errors="replace").decode())
    try:
        if result.value is None or len(to_json(result.value)) <= min(largest, room):
            return result, None
    except ValueError as error:  # JSON cannot express it
        return result._replace(value=None, error=unstorable_error(result.error, error)), None
    text = conceal(text_of(result.value))
    beginning = text[: EXCERPT if room > EXCERPT else SHORT_EXCERPT]
    return result._replace(value=f"{beginning}…"), text.encode()


def unstorable_error(tool_error: str, problem: Exception) -> str:
    """The error of an outcome whose result cannot be stored: the tool's own error and the reason."""
    return excerpt_of(f"{tool_error} The result cannot be kept: {problem}".strip(), MAX_ERROR)


class Attempt(NamedTuple):
    """One attempt at a started action, with its tool, if that exists.

    `key` is the idempotency key, `artefact` the name under which a large result is stored. Both are computed when the
    batch starts, because the session may have changed when the action ends.
    """

    action: Action
    key: str
    artefact: str
    tool: RegisteredTool | None

    @property
    def is_repeatable(self) -> bool:
        return self.tool.is_repeatable if self.tool else self.action.spec.effect == "read"


class OutcomeRecorder:
    """Records the outcomes of one batch as its actions end.

    The outcome is appended first, so that it cannot be lost; a large result is stored afterwards. Outcomes that arrive
    while an event is being appended go into the next event.
    """

    def __init__(self, context: WorkContext, artefacts: ArtefactWriter) -> None:
        self._context = context
        self._artefacts = artefacts
        self._waiting: list[Outcome] = []
        self._recorded: dict[str, Outcome] = {}
        self._appending = asyncio.Lock()
        self._failed: Exception | None = None
        self._remaining_bytes = remaining_result_bytes(context.session)

    async def record(self, attempt: Attempt, result: ToolResult, started: float) -> None:
        """Record the result of an attempt. `started` is a time of the monotonic clock."""
        spec, number = attempt.action.spec, attempt.action.attempt
        if result.unknown and spec.effect != "read":
            await self._append(
                c.ReportUncertain(action_id=spec.id, attempt=number, reason=excerpt_of(result.error, MAX_ERROR))
            )
            return
        stored, whole = spill_if_large(result, attempt.tool.max_bytes if attempt.tool else 0, self._remaining_bytes)
        self._remaining_bytes = max(self._remaining_bytes - len(to_json(stored.value)), 0)
        outcome = Outcome(
            action_id=spec.id,
            attempt=number,
            ok=stored.ok,
            result=stored.value,
            error=stored.error,
            cause=stored.cause,
            seconds=round(time.monotonic() - started, 3),
            size=None if whole is None else len(whole),
            confirmed=stored.confirmed,
            violation=excerpt_of(stored.violation, MAX_ERROR),
            handed_over=stored.handed_over,
            files=dict(stored.files),
            subject=stored.subject,
        )
        await self._outcomes([outcome])
        recorded = self._recorded.get(spec.id)
        if whole is not None and recorded and recorded.size is not None:
            await self._store(attempt, whole)

    async def record_not_run(self, attempts: Iterable[Attempt]) -> None:
        """Record that these attempts were started but their tools never called.

        After a stop it records all of them. When the executor shuts down, it records only those that cannot be
        repeated: the next executor runs the others again.
        """
        stopped = self._context.stopped
        error = wording.CUT_OFF_BEFORE if stopped else wording.LEFT_BEFORE
        actions = [attempt.action for attempt in attempts if stopped or not attempt.is_repeatable]
        await self._outcomes(
            [
                Outcome(
                    action_id=action.spec.id,
                    attempt=action.attempt,
                    ok=False,
                    error=error,
                    cause="stopped" if stopped else None,
                )
                for action in actions
            ]
        )

    async def record_lost(self, action: Action, reason: str) -> None:
        """Record that a large result could not be stored; its outcome keeps the excerpt."""
        await self._append(
            c.LoseResult(action_id=action.spec.id, attempt=action.attempt, reason=excerpt_of(reason, MAX_ERROR))
        )

    async def record_uncertain(self, action: Action, reason: str) -> None:
        await self._append(c.ReportUncertain(action_id=action.spec.id, attempt=action.attempt, reason=reason))

    async def _store(self, attempt: Attempt, whole: bytes) -> None:
        action = attempt.action
        try:
            artefact = await self._artefacts.keep(attempt.artefact, whole)
        except Exception as error:  # the outcome is recorded already, and the batch continues
            log.warning("artefact_not_kept", name=attempt.artefact, error=repr(error))
            await self.record_lost(action, f"Only the beginning of its {len(whole)} bytes is here: {error}")
        else:
            await self._append(c.StoreResult(action_id=action.spec.id, attempt=action.attempt, artefact=artefact))

    async def _append(self, command: c.ReportUncertain | c.StoreResult | c.LoseResult) -> None:
        try:
            await self._context.record(command)
        except OutOfTurn as error:  # another delivery recorded this first
            log.info("recorded_already", action_id=command.action_id, reason=str(error))

    async def _outcomes(self, outcomes: list[Outcome]) -> None:
        """Record these outcomes. Raises the first error of the batch, also for outcomes queued after it."""
        self._waiting += outcomes
        async with self._appending:
            while any(outcome in self._waiting for outcome in outcomes):
                if self._failed:
                    raise self._failed
                batch = _first_batch(self._waiting)
                try:
                    await self._finish(batch)
                except Exception as error:
                    self._failed = error
                    raise
                del self._waiting[: len(batch)]

    async def _finish(self, outcomes: tuple[Outcome, ...]) -> None:
        try:
            event = await self._context.record(c.Finish(outcomes=outcomes))
        except OutOfTurn:
            return  # another delivery recorded these first
        except Unstorable as error:
            if len(outcomes) > 1:
                for single in outcomes:
                    await self._finish((single,))
                return
            (single,) = outcomes
            if single.result is None:
                raise
            changes = {"result": None, "size": None, "error": unstorable_error(single.error, error)}
            await self._finish((single.model_copy(update=changes),))
        else:
            recorded = event.outcomes if isinstance(event, facts.ActionsFinished) else ()
            self._recorded |= {outcome.action_id: outcome for outcome in recorded}


def _first_batch(waiting: list[Outcome]) -> tuple[Outcome, ...]:
    """The first outcomes, as many as one event can hold, and at least one."""
    first, *others = waiting[:MAX_OUTCOMES]
    batch = [first]
    room = MAX_OUTCOME_BYTES - _size(first) if others else 0
    for outcome in others:
        if (room := room - _size(outcome)) < 0:
            break
        batch.append(outcome)
    return tuple(batch)


def _size(outcome: Outcome) -> int:
    """The outcome's size in an event, in bytes."""
    return len(outcome.model_dump_json().encode())
