"""What every worker does with a message: load, is it my turn, do the work, decide, append."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from pydantic import ValidationError

from shared.bus import Delivery, Park
from shared.domain import commands as c
from shared.domain.commands import Work
from shared.domain.errors import Refused
from shared.domain.workers import WorkerCommand
from shared.events import SessionEvent, parse_event
from shared.llm import ModelError, ModelUnreachable
from shared.log import LogDown, TooLarge
from shared.store import patiently
from shared.worker.desk import Desk, Kit

log = structlog.get_logger("worker")

# One sentence: look at the session, do the work, return what came of it (None: everything is recorded already).
Handler = Callable[[Desk], Awaitable[WorkerCommand | None]]


class Worker:
    """The harness around a handler. A redelivery, a replica, a stop or a crash at any line leaves one history."""

    def __init__(self, kit: Kit, handler: Handler) -> None:
        self._kit = kit
        self._handler = handler
        self._running: dict[str, asyncio.Task[None]] = {}
        self._desks: dict[str, Desk] = {}

    async def on_delivery(self, delivery: Delivery) -> None:
        """For the durable consumer `session.*.<service>.>`. Raises Park for what is no event."""
        try:
            event = parse_event(delivery.data)
        except ValidationError as error:
            raise Park(f"not an event: {error.error_count()} problems") from error
        session_id = event.session_id
        if session_id in self._running:
            return  # this process is at it: a redelivery came too early
        task = asyncio.create_task(self._turn(event, delivery))
        self._running[session_id] = task
        try:
            await task
        except asyncio.CancelledError:
            if (current := asyncio.current_task()) and current.cancelling():
                task.cancel()
                raise  # the process is leaving: the message comes again elsewhere
            log.info("cancelled_by_stop", session_id=session_id, service=self._kit.service)
        finally:
            self._running.pop(session_id, None)
            self._desks.pop(session_id, None)
            self._kit.drafts.forget(session_id)

    async def on_stopped(self, subject: str, _: bytes) -> None:
        """For `feed.*.*.session.stopped`: whatever is in hand for that session ends now."""
        session_id = subject.split(".")[1]
        if desk := self._desks.get(session_id):
            desk.stopped = True
        if task := self._running.get(session_id):
            task.cancel()

    async def _turn(self, event: SessionEvent, delivery: Delivery) -> None:
        bound = {"session_id": event.session_id, "event_id": event.id}
        with structlog.contextvars.bound_contextvars(**bound):
            loaded = await patiently(self._kit.store, event.session_id, at_least=delivery.position, log=log)
            if loaded.session.work != Work(service=self._kit.service, version=event.version):
                return  # done already, stopped, or a message that only looks like one of ours
            desk = self._desks[event.session_id] = Desk(self._kit, loaded, cause=event.id)
            try:
                await self._work(desk)
            except Refused as refusal:
                log.info("not_my_turn", reason=str(refusal))

    async def _work(self, desk: Desk) -> None:
        """The handler's outcome, or an honest failure, becomes a fact. Raises Refused when the turn has passed."""
        if desk.session.over_budget and self._kit.service != "executor":
            await desk.record(c.Ask(about="budget", text="The budget is spent. Raise it, or stop here?"))
            return
        try:
            command = await self._patiently(desk)
            if command is not None:
                await desk.record(command)
        except (Refused, LogDown):
            raise
        except ModelError as error:
            log.warning("model_failed", reason=error.reason)
            await desk.record(c.Fail(reason=error.reason, retryable=error.retryable, raw=error.raw))
        except TooLarge as error:
            await desk.record(c.Fail(reason=str(error)))
        except Exception as error:
            log.exception("handler_failed")
            await desk.record(c.Fail(reason=f"The {self._kit.service} met an error of its own: {_said(error)}"))

    async def _patiently(self, desk: Desk) -> WorkerCommand | None:
        """While nobody listens at the model's address the work waits; what answers badly is the client's affair."""
        waited, delay = 0.0, 0.5
        while True:
            try:
                return await self._handler(desk)
            except ModelUnreachable as error:
                if waited >= self._kit.settings.model_patience:
                    raise
                log.warning("waiting_for_model", reason=error.reason, waited=round(waited, 1))
                await asyncio.sleep(delay)
                waited, delay = waited + delay, min(delay * 2, 10)


def _said(error: Exception) -> str:
    text: Any = str(error) or repr(error)
    return f"{type(error).__name__}: {text}"[:2000]
