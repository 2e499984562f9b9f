"""What every worker does with a message: load, is it my turn, do the work, decide, append."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import structlog
from pydantic import ValidationError

from parley.events import SessionEvent, facts, parse_event
from parley.events.envelope import is_newer, read_head
from shared.bus import Delivery, Park
from shared.domain import commands as c
from shared.domain import wording
from shared.domain.commands import Work
from shared.domain.errors import OutOfTurn, Refused
from shared.domain.outcomes import abandoned
from shared.domain.plan_approval import begins_by_setting
from shared.domain.session import Session
from shared.domain.waves import running
from shared.domain.workers import WorkerCommand
from shared.domain.workflows import of_work
from shared.llm import ModelError, ModelUnreachable
from shared.log import EXPECTED, LogDown, SessionAtPosition, Unstorable, UpgradeNeeded, accept, follows, newest
from shared.store import StoreRefused, load_when_available
from shared.telemetry import metrics
from shared.worker.context import BudgetExceeded, WorkContext, WorkerDeps

log = structlog.get_logger("worker")
YOUNG = timedelta(seconds=5)

# One sentence: look at the session, do the work, return what came of it (None: everything is recorded already).
Handler = Callable[[WorkContext], Awaitable[WorkerCommand | None]]


class _Running(NamedTuple):
    """A piece of work in hand, and the version of the event that began it."""

    version: int
    task: asyncio.Task[None]


class FalseStop(Exception):
    """A stop was told that the session did not accept; the delivery is tried again."""


class Worker:
    """The harness around a handler. A redelivery, a replica, a stop or a crash at any line leaves one history."""

    def __init__(self, deps: WorkerDeps, handler: Handler) -> None:
        self._kit = deps
        self._handler = handler
        self._running: dict[str, _Running] = {}
        self._desks: dict[str, WorkContext] = {}

    async def on_delivery(self, delivery: Delivery) -> None:
        """For the durable consumer `session.*.<service>.>`. Raises Park for what is no event, UpgradeNeeded for what
        only a newer release can work on."""
        event = await self._event(delivery)
        while earlier := self._running.get(event.session_id):
            # A redelivery, or the session's next work while the last one is wound up: look again when that has ended.
            await asyncio.wait({earlier.task})
        task = asyncio.create_task(self._turn(event, delivery))
        self._running[event.session_id] = _Running(event.version, task)
        task.add_done_callback(lambda _: self._ended(event.session_id))
        try:
            await task
        except asyncio.CancelledError:
            if (current := asyncio.current_task()) and current.cancelling():
                raise  # the process is leaving: the message comes again elsewhere
            await self._must_be_stopped(event)
            log.info("cancelled_by_stop", session_id=event.session_id, service=self._kit.service)

    async def _event(self, delivery: Delivery) -> SessionEvent:
        """The event delivered. Raises Park; UpgradeNeeded where it is one for a newer release."""
        session_id = delivery.subject.split(".")[1]
        try:
            event = parse_event(delivery.data)
        except ValidationError as error:
            if (head := read_head(delivery.data)) and is_newer(head):
                await self._look(session_id, delivery.position)
            raise Park(f"not an event: {error.error_count()} problems") from error
        if session_id != event.session_id:
            raise Park(f"it is of session {event.session_id}")
        return event

    async def _look(self, session_id: str, position: int) -> None:
        """Raise UpgradeNeeded where the session goes on with this message, or with one before it."""
        with suppress(StoreRefused):  # no such session
            await load_when_available(self._kit.store, session_id, at_least=position)

    async def _must_be_stopped(self, event: SessionEvent) -> None:
        """The feed shows whatever is stored, a stranger's stop too: work that is still ours comes again.

        Raises FalseStop.
        """
        loaded = await load_when_available(self._kit.store, event.session_id, at_least=0)
        if loaded.session.work == (work := self._work_of(event)):
            raise FalseStop("The session was not stopped: its work is due again.")
        await self._end_actions(loaded, work, event.id)

    def _work_of(self, event: SessionEvent) -> Work:
        return Work(service=self._kit.service, version=event.version)

    async def _end_actions(self, loaded: SessionAtPosition, work: Work, cause: str) -> None:
        """Record the end of what this work began and left without one, now that the work has passed."""
        if not (commands := abandoned(loaded.session, work)):
            return
        desk = WorkContext(self._kit, loaded, cause=cause)
        desk.work = work
        for command in commands:
            with contextlib.suppress(OutOfTurn):  # whoever has it in hand told first
                await desk.record(command)

    async def on_stopped(self, subject: str, data: bytes) -> None:
        """For `feed.*.*.session.stopped`: what is in hand for that session ends now, unless it was begun since."""
        session_id = subject.split(".")[1]
        running = self._running.get(session_id)
        if running is None or running.version > _stopped_at(data):
            return
        if desk := self._desks.get(session_id):
            desk.stopped = True
        running.task.cancel()

    def _ended(self, session_id: str) -> None:
        self._running.pop(session_id, None)
        self._desks.pop(session_id, None)
        self._kit.drafts.forget(session_id)

    async def _turn(self, event: SessionEvent, delivery: Delivery) -> None:
        bound = {"session_id": event.session_id, "event_id": event.id}
        with structlog.contextvars.bound_contextvars(**bound):
            try:
                loaded = await self._loaded(event.session_id, delivery)
            except StoreRefused as refused:
                if refused.code == "too_large":
                    raise Park(f"the session cannot be loaded: {refused}") from refused  # the keeper fails it
                if refused.code != "purged":
                    raise
                return  # somebody removed the session while its message was on the way
            if loaded.session.work == (work := self._work_of(event)):
                loaded = await self._worked(loaded, event)
            # else: done already, stopped, or a message that only looks like one of ours
            await self._end_actions(loaded, work, event.id)

    async def _worked(self, loaded: SessionAtPosition, event: SessionEvent) -> SessionAtPosition:
        """Do the work; the session after it."""
        desk = self._desks[event.session_id] = WorkContext(self._kit, loaded, cause=event.id)
        try:
            await self._work(desk)
        except Refused as refusal:
            log.info("not_my_turn", reason=str(refusal))
            return await newest(self._kit.log, desk.loaded)
        finally:
            await desk.settle()
        return desk.loaded

    async def _loaded(self, session_id: str, delivery: Delivery) -> SessionAtPosition:
        """A first delivery needs nothing newer than itself. When it comes again, whoever had it may have done a part,
        which only the newest state shows; a replica of the log that lags behind the delivery is not that.
        """
        if delivery.deliveries > 1:
            newest = await load_when_available(self._kit.store, session_id, at_least=0)
            if newest.position >= delivery.position:
                return newest
        elif not self._kit.log.clustered:  # a guard proves nothing where a cluster keeps the log
            if _is_young(delivery) and (begun := _begun(delivery)):
                return begun
            if before := _before(delivery):
                # plan_store may not have been given this message yet, but nearly always the one that it follows.
                loaded = await load_when_available(self._kit.store, session_id, at_least=before)
                if with_it := _with(loaded, delivery):
                    return with_it
        return await load_when_available(self._kit.store, session_id, at_least=delivery.position)

    async def _work(self, context: WorkContext) -> None:
        """The handler's outcome, or an honest failure, becomes a fact. Raises Refused when the turn has passed."""
        if (context.over_budget and _asks_models(context)) or (context.over_work_budget and _begins_work(context)):
            await self._ask_for_budget(context)
            return
        try:
            command = await self._patiently(context)
            if command is not None:
                await context.record(command)
        except Refused as refusal:
            if context.session.work != context.work:
                raise
            log.warning("result_refused", reason=str(refusal))
            await context.record(c.Fail(reason=f"The {self._kit.service}'s result cannot be recorded: {refusal}"))
        except (LogDown, UpgradeNeeded):
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
            await context.record(c.Fail(reason=f"The {self._kit.service} met an error of its own: {_said(error)}"))

    async def _ask_for_budget(self, context: WorkContext) -> None:
        metrics.BUDGET_EXCEEDED.labels(self._kit.service).inc()
        await context.record(c.Ask(about="budget", text=wording.BUDGET_SPENT))

    async def _patiently(self, context: WorkContext) -> WorkerCommand | None:
        """While nobody listens at the model's address the work waits; what answers badly is the client's affair."""
        waited, delay = 0.0, 0.5
        while True:
            try:
                return await self._handler(context)
            except ModelUnreachable as error:
                if waited >= self._kit.settings.model_outage_timeout:
                    raise
                log.warning("waiting_for_model", reason=error.reason, waited=round(waited, 1))
                await asyncio.sleep(delay)
                waited, delay = waited + delay, min(delay * 2, 10)


def _is_young(delivery: Delivery) -> bool:
    """Whether it was stored a moment ago: in a session that waited longer a person may have stopped or changed it."""
    return datetime.now(UTC) - delivery.at < YOUNG


def _begun(delivery: Delivery) -> SessionAtPosition | None:
    """The session, where all there is of it is this message: nobody need be asked."""
    raw = delivery.raw
    if not follows(raw, 0):
        return None
    loaded, event, _ = accept(SessionAtPosition(Session(raw.subject.split(".")[1]), 0), raw)
    return loaded if event else None


def _before(delivery: Delivery) -> int:
    """The position that the message follows, as its guard says; 0 where nothing vouches for one."""
    told = delivery.headers.get(EXPECTED, "")
    position = int(told) if told.isdecimal() else 0
    return position if follows(delivery.raw, position) else 0


def _with(loaded: SessionAtPosition, delivery: Delivery) -> SessionAtPosition | None:
    """The session with this message, where it has it already, or where nothing lies between."""
    if loaded.position >= delivery.position:
        return loaded
    if not follows(delivery.raw, loaded.position):
        return None
    after, event, _ = accept(loaded, delivery.raw)
    return after if event else None


def _asks_models(context: WorkContext) -> bool:
    """Whether this work may cost money. What has begun is ended first; to begin a drafted plan costs nothing."""
    session = context.session
    free = running(session) or begins_by_setting(session)
    return session.phase in of_work(session).asks_models and not free


def _begins_work(context: WorkContext) -> bool:
    """Whether this work would begin calls of tools, or ask a model. What has begun is ended first."""
    session = context.session
    return _asks_models(context) or (session.phase == "executing" and not running(session))


def _stopped_at(data: bytes) -> int:
    """The version of the stop; 0, which stops nothing, when it is not one."""
    try:
        event = parse_event(data)
    except ValidationError:
        return 0
    return event.version if isinstance(event, facts.SessionStopped) else 0


def _said(error: Exception) -> str:
    text: Any = str(error) or repr(error)
    return f"{type(error).__name__}: {text}"[:2000]
