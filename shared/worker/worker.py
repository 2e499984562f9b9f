"""The worker's harness: load the session, check that the work is due, run the handler, append its event."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import structlog
from pydantic import ValidationError

from parley.events import SessionEvent, facts, parse_event
from parley.events.envelope import is_newer, read_head
from shared.bus import Delivery, Unprocessable
from shared.domain.kernel import commands as c
from shared.domain.kernel import wording
from shared.domain.kernel.commands import Work
from shared.domain.kernel.errors import CommandRefused, OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.rules.worker_commands import WorkerCommand
from shared.domain.turn.outcomes import close_abandoned
from shared.llm import ModelError, ModelUnreachable
from shared.log import (
    EXPECTED_SEQUENCE,
    LogUnavailable,
    SessionAtPosition,
    Unstorable,
    UpgradeNeeded,
    accept,
    catch_up,
    follows,
)
from shared.logging import excerpt_of
from shared.store import StoreRefused, load_when_available
from shared.telemetry import metrics
from shared.worker.context import BudgetExceeded, Handler, WorkContext, WorkerDeps

log = structlog.get_logger("worker")
RECENT = timedelta(seconds=1)
MAX_SIGNALLED = 1_000  # sessions; a message whose signal is forgotten is read after the draft at hand


class _Running(NamedTuple):
    """Running work, and the version of the event that made it due."""

    version: int
    task: asyncio.Task[None]


class StopNotRecorded(Exception):
    """A stop was published that is not in the session; the delivery is retried."""


class Worker:
    """Runs a handler so that redeliveries, replicas, stops and crashes leave one consistent history."""

    def __init__(self, deps: WorkerDeps, handler: Handler) -> None:
        self._deps = deps
        self._handler = handler
        self._running: dict[str, _Running] = {}
        self._contexts: dict[str, WorkContext] = {}
        self._signalled: dict[str, int] = {}  # versions of the newest messages, by session

    async def on_delivery(self, delivery: Delivery) -> None:
        """Handle a delivery of the durable consumer `session.*.<service>.>`.

        Raises Unprocessable for what is not an event, UpgradeNeeded for what only a newer release can handle.
        """
        event = await self._event(delivery)
        while earlier := self._running.get(event.session_id):
            # A redelivery, or the session's next work while the previous one ends: check again when that has ended.
            await asyncio.wait({earlier.task})
        task = asyncio.create_task(self._process(event, delivery))
        self._running[event.session_id] = _Running(event.version, task)
        task.add_done_callback(lambda _: self._ended(event.session_id))
        try:
            await task
        except asyncio.CancelledError:
            if (current := asyncio.current_task()) and current.cancelling():
                raise  # the process is stopping: the message is redelivered elsewhere
            await self._require_stopped(event)
            log.info("cancelled_by_stop", session_id=event.session_id, service=self._deps.service)

    async def _event(self, delivery: Delivery) -> SessionEvent:
        """The delivered event. Raises Unprocessable; UpgradeNeeded if a newer release wrote it."""
        session_id = delivery.subject.split(".")[1]
        try:
            event = parse_event(delivery.data)
        except ValidationError as error:
            if (head := read_head(delivery.data)) and is_newer(head):
                with suppress(StoreRefused):  # no such session
                    await load_when_available(self._deps.store, session_id, at_least=delivery.position)
            raise Unprocessable(f"not an event: {error.error_count()} problems") from error
        if session_id != event.session_id:
            raise Unprocessable(f"it is of session {event.session_id}")
        return event

    async def _require_stopped(self, event: SessionEvent) -> None:
        """Check that the session was really stopped: the feed also carries messages that are not part of a session.

        Raises StopNotRecorded if the work is still due.
        """
        loaded = await load_when_available(self._deps.store, event.session_id, at_least=0)
        if (work := self._work_of(event)) in loaded.session.works:
            raise StopNotRecorded("The session was not stopped: its work is due again.")
        await self._end_actions(loaded, work, event.id)

    def _work_of(self, event: SessionEvent) -> Work:
        return Work(service=self._deps.service, version=event.version)

    async def _end_actions(self, loaded: SessionAtPosition, work: Work, cause: str) -> None:
        """Record an outcome for actions that this work started and left without one."""
        if not (commands := close_abandoned(loaded.session, work, by_executor=self._deps.service == "executor")):
            return
        context = WorkContext(self._deps, loaded, cause=cause, work=work)
        for command in commands:
            with suppress(OutOfTurn):  # another worker recorded it first
                await context.record(command)

    async def on_stopped(self, subject: str, data: bytes) -> None:
        """Cancel the session's running work on `feed.*.*.session.stopped`, unless it started after the stop."""
        session_id = subject.split(".")[1]
        running = self._running.get(session_id)
        if running is None or running.version > _stopped_at(data):
            return
        if context := self._contexts.get(session_id):
            context.stopped = True
        running.task.cancel()

    async def on_message(self, subject: str, data: bytes) -> None:
        """Let the session's running draft begin again with the message, on `feed.*.*.message.received`.

        The signal is not trusted: only a message that the log has counts.
        """
        session_id, head = subject.split(".")[1], read_head(data)
        self._signalled.pop(session_id, None)  # so that it counts as the newest
        self._signalled[session_id] = head.version if head else 0
        if len(self._signalled) > MAX_SIGNALLED:
            del self._signalled[next(iter(self._signalled))]
        if context := self._contexts.get(session_id):
            await context.interrupt()

    def _ended(self, session_id: str) -> None:
        self._running.pop(session_id, None)
        self._contexts.pop(session_id, None)
        self._deps.drafts.discard(session_id)

    async def _process(self, event: SessionEvent, delivery: Delivery) -> None:
        bound = {"session_id": event.session_id, "event_id": event.id}
        with structlog.contextvars.bound_contextvars(**bound):
            try:
                loaded = await self._load(event.session_id, delivery)
                while loaded.session.version < (signalled := self._signalled.get(event.session_id, 0)):
                    loaded = await catch_up(self._deps.log, loaded)
                    if loaded.session.version < signalled:  # the log has no such message
                        self._signalled.pop(event.session_id, None)
            except StoreRefused as refused:
                if refused.code == "too_large":
                    # plan_store fails the session
                    raise Unprocessable(f"the session cannot be loaded: {refused}") from refused
                if refused.code != "purged":
                    raise
                return  # the session was purged while its message was in transit
            if (work := self._work_of(event)) in loaded.session.works:
                loaded = await self._work_and_settle(loaded, work, event)
            # else: done already, stopped, or not this service's message
            await self._end_actions(loaded, work, event.id)

    async def _work_and_settle(self, loaded: SessionAtPosition, work: Work, event: SessionEvent) -> SessionAtPosition:
        """Do the work, and return the session after it."""
        context = self._contexts[event.session_id] = WorkContext(self._deps, loaded, cause=event.id, work=work)
        try:
            await self._work(context)
        except CommandRefused as refusal:
            log.info("not_my_turn", reason=str(refusal))
            return await catch_up(self._deps.log, context.loaded)
        finally:
            await context.record_pending_calls()
        return context.loaded

    async def _load(self, session_id: str, delivery: Delivery) -> SessionAtPosition:
        """The session, at least at the delivery's position.

        After a redelivery a previous worker may have completed part of the work, so load the latest state: a replica
        of the log that lags behind the delivery is not enough.
        """
        if delivery.deliveries > 1:
            newest = await load_when_available(self._deps.store, session_id, at_least=0)
            if newest.position >= delivery.position:
                return newest
        elif not self._deps.log.clustered:  # in a cluster the guard proves nothing
            if _is_recent(delivery) and (first := _from_first_message(delivery)):
                return first
            if before := _previous_position(delivery):
                # plan_store may not have this message yet, but it nearly always has the previous one.
                loaded = await load_when_available(self._deps.store, session_id, at_least=before)
                if with_it := _with_delivery(loaded, delivery):
                    return with_it
        return await load_when_available(self._deps.store, session_id, at_least=delivery.position)

    async def _work(self, context: WorkContext) -> None:
        """Record the handler's outcome, or its failure. Raises CommandRefused if the work is no longer due."""
        if (context.over_budget and context.calls_models) or (context.over_work_budget and context.starts_work):
            await self._ask_for_budget(context)
            return
        try:
            command = await self._run_handler(context)
            if command is not None:
                await context.record(command)
        except CommandRefused as refusal:
            if context.work not in context.session.works:
                raise
            log.warning("result_refused", reason=str(refusal))
            await context.record(c.Fail(reason=f"The {self._deps.service}'s result cannot be recorded: {refusal}"))
        except (LogUnavailable, UpgradeNeeded):
            raise
        except BudgetExceeded:
            await self._ask_for_budget(context)
        except ModelError as error:
            log.warning("model_failed", reason=error.reason)
            await context.record(c.Fail(reason=error.reason, retryable=error.retryable, raw=error.raw))
        except Unstorable as error:
            await context.record(c.Fail(reason=str(error)))
        except Exception as error:
            log.exception("handler_failed")
            reason = f"The {self._deps.service} met an error of its own: {_error_text(error)}"
            await context.record(c.Fail(reason=reason))

    async def _ask_for_budget(self, context: WorkContext) -> None:
        """Ask for more budget; while actions run, nothing is asked, and the message is not answered."""
        metrics.BUDGET_EXCEEDED.labels(self._deps.service).inc()
        try:
            await context.record(c.Ask(about="budget", text=wording.BUDGET_SPENT))
        except OutOfTurn:
            if context.work not in context.session.works:
                raise
            await context.record(c.Fail(reason=wording.OUT_OF_BUDGET))

    async def _run_handler(self, context: WorkContext) -> WorkerCommand | None:
        """Run the handler, and retry while the model's endpoint is unreachable. The client retries other faults."""
        waited, delay = 0.0, 0.5
        while True:
            try:
                return await context.run(self._handler)
            except ModelUnreachable as error:
                if waited >= self._deps.settings.model_outage_timeout:
                    raise
                log.warning("waiting_for_model", reason=error.reason, waited=round(waited, 1))
                await asyncio.sleep(delay)
                waited, delay = waited + delay, min(delay * 2, 10)


def _is_recent(delivery: Delivery) -> bool:
    """Whether the message was stored a moment ago. After a longer wait the user may have changed the session.

    False also if the broker's clock is ahead of this one, by which a long wait would look short.
    """
    return abs(datetime.now(UTC) - delivery.at) < RECENT


def _from_first_message(delivery: Delivery) -> SessionAtPosition | None:
    """The session if this is its first message, without a request to plan_store; otherwise None."""
    raw = delivery.raw
    if not follows(raw, 0):
        return None
    loaded, event, _ = accept(SessionAtPosition(Session(raw.subject.split(".")[1]), 0), raw)
    return loaded if event else None


def _previous_position(delivery: Delivery) -> int:
    """The position that the message follows, by its guard; 0 if the guard does not say."""
    expected = delivery.headers.get(EXPECTED_SEQUENCE, "")
    position = int(expected) if expected.isdecimal() else 0
    return position if follows(delivery.raw, position) else 0


def _with_delivery(loaded: SessionAtPosition, delivery: Delivery) -> SessionAtPosition | None:
    """The session with this message; None if messages between them are missing."""
    if loaded.position >= delivery.position:
        return loaded
    if not follows(delivery.raw, loaded.position):
        return None
    after, event, _ = accept(loaded, delivery.raw)
    return after if event else None


def _stopped_at(data: bytes) -> int:
    """The version of the stop; 0, which stops nothing, if this is not a stop."""
    try:
        event = parse_event(data)
    except ValidationError:
        return 0
    return event.version if isinstance(event, facts.SessionStopped) else 0


def _error_text(error: Exception) -> str:
    text: Any = str(error) or repr(error)
    return excerpt_of(f"{type(error).__name__}: {text}", 2_000)
