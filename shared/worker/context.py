"""The WorkContext of a worker: the session, the model, and the one way to record outcomes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

import structlog
from pydantic import BaseModel

from parley.events import SessionEvent
from parley.events.values import ModelCall, Service
from parley.reply import content_of
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta, Work
from shared.domain.kernel.errors import CommandRefused, OutOfTurn
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.plan.approval import starts_by_setting
from shared.domain.rules.decide import AnyCommand
from shared.domain.rules.usage import sum_calls
from shared.domain.rules.worker_commands import WorkerCommand
from shared.domain.transcript.compaction import within
from shared.domain.turn.batches import running_actions
from shared.domain.workflows import workflow_of_work
from shared.llm import Message, Model, ModelRequest
from shared.log import LogUnavailable, SessionAtPosition, TimedLog, Unstorable, UpgradeNeeded, accept, commit
from shared.logging import conceal
from shared.settings import Settings
from shared.store import SessionLoader
from shared.worker.cancellation import finish_before_cancel
from shared.worker.drafts import Drafts, Kind, Render

FIELDS_WITH_QUOTES = ("reason", "raw", "error", "result")  # fields of commands that may quote servers and tools
BYTES_PER_TOKEN = 4
MAX_TITLE = 80  # characters
COMMIT_TIMEOUT = 3600.0  # seconds; heartbeats keep the worker's message meanwhile
CANCEL_GRACE = 1.0  # seconds that a running append may take after its work is cancelled
MAX_RESTARTS = 3  # of a piece of work, each with messages that came meanwhile
log = structlog.get_logger("worker")


# Does the work on the session and returns the command to record; None if everything is recorded already.
type Handler = Callable[["WorkContext"], Awaitable[WorkerCommand | None]]


class WorkerDeps(NamedTuple):
    """The dependencies of a worker's process."""

    service: Service
    store: SessionLoader
    log: TimedLog
    model: Model
    drafts: Drafts
    settings: Settings


class BudgetExceeded(Exception):
    """The session's budget does not allow another model call: none was made."""


class WorkContext:
    """The context of one piece of work; `session` is the newest state that this work has seen.

    A finished model call is pending until the next event of this work carries its usage: a `usage.recorded`, appended
    before another call starts, or any other event. A crash loses the usage of calls in progress only.
    """

    def __init__(self, deps: WorkerDeps, loaded: SessionAtPosition, *, cause: str, work: Work | None = None) -> None:
        self.deps = deps
        self._loaded = loaded
        self._cause = cause
        self.stopped = False  # the user pressed stop: the work is being cancelled
        self._appending = asyncio.Lock()
        self._title = ""  # that the model gave the session, until an event of this work carries it
        self._pending: tuple[ModelCall, ...] = ()  # finished calls whose usage is not recorded yet
        self._handling: asyncio.Future[WorkerCommand | None] | None = None  # the running handler
        self._seen = 0  # version of the session that it makes a draft or reply from; 0 for any other work
        self._overtaken = False  # it is being cancelled: a message came that it has not read
        self._restarts = 0
        self.work = work or next(iter(loaded.session.works), None)  # by default the only one

    @property
    def loaded(self) -> SessionAtPosition:
        return self._loaded

    @property
    def session(self) -> Session:
        return self._loaded.session

    @property
    def answers_message(self) -> bool:
        """Whether this work answers a message, while something else waits or runs."""
        return self.work is not None and self.work == self.session.reply

    @property
    def prompt_session(self) -> Session:
        """The session as prompts show it, with the part of its transcript that they have room for."""
        limit = self.deps.settings.model_transcript_limit * BYTES_PER_TOKEN
        return replace(self.session, transcript=within(self.session.transcript, limit))

    @property
    def over_budget(self) -> bool:
        """Whether recorded and pending calls have used up the session's tokens or money."""
        return sum_calls(self.session.spent, self._pending).is_over_model_budget(self.session.settings)

    @property
    def over_work_budget(self) -> bool:
        """Whether the session's calls of tools, or its time, are used up."""
        return self.session.spent.is_over_work_budget(self.session.settings)

    @property
    def calls_models(self) -> bool:
        """Whether this work may call a model. Running actions finish first; starting a drafted plan calls none."""
        if self.answers_message:
            return True
        free = running_actions(self.session) or starts_by_setting(self.session)
        return self.session.phase in workflow_of_work(self.session).asks_models and not free

    @property
    def starts_work(self) -> bool:
        """Whether this work would start tool calls or call a model. Running actions finish first."""
        return self.calls_models or (self.session.phase == "executing" and not running_actions(self.session))

    async def run(self, handler: Handler) -> WorkerCommand | None:
        """Run the handler, and begin it again with each message that `interrupt` cancels it for.

        Raises OutOfTurn if another piece of work answers that message.
        """
        while True:
            drafts = self.answers_message or self.session.phase in ("planning", "coding")
            self._seen, self._overtaken = self.session.version if drafts else 0, False
            self._handling = asyncio.ensure_future(handler(self))
            try:
                return await self._handling
            except asyncio.CancelledError:
                if not self._overtaken or ((current := asyncio.current_task()) and current.cancelling()):
                    raise
            finally:
                self._handling = None
            self._require_own_work()
            self._restarts += 1
            log.info("began_again_with_message", session_id=self.session.id, restarts=self._restarts)

    async def interrupt(self) -> None:
        """Cancel the running handler if its draft or reply would miss a message. A running append ends before that."""
        if not self._seen or self._restarts == MAX_RESTARTS:
            return
        async with self._appending:
            with suppress(LogUnavailable, UpgradeNeeded):  # the message is read after the draft
                await self._catch_up()
            misses = any(message.version > self._seen for message in self.session.words.unread)
            if self._handling and misses and not self._overtaken:
                self._overtaken = self._handling.cancel()

    def _require_own_work(self) -> None:
        if self.work not in self.session.works:
            raise OutOfTurn("The work was stopped, or another worker has taken it over.")

    async def record(self, command: AnyCommand, *, id: str | None = None) -> SessionEvent:  # noqa: A002
        """Append the command's event, with the usage of pending calls.

        Raises CommandRefused if the work belongs to another worker or the session does not allow the command. A
        cancellation waits for a running append, so that each call is recorded exactly once.
        """
        return await finish_before_cancel(self._record(command, id), grace=CANCEL_GRACE)

    async def record_pending_calls(self) -> None:
        """Record pending calls of work that ends without an event."""
        if not self._pending:
            return
        try:
            await finish_before_cancel(self._record_usage(), grace=CANCEL_GRACE)
        except CommandRefused as refusal:  # the session was purged
            log.warning("usage_not_recorded", reason=str(refusal))

    async def _catch_up(self) -> None:
        for raw in await self.deps.log.read(self.session.id, after=self._loaded.position, leader=True):
            self._loaded, _, _ = accept(self._loaded, raw)

    async def ask[Reply: BaseModel](  # noqa: PLR0913  the model's options
        self,
        messages: Sequence[Message],
        reply: type[Reply],
        *,
        kind: Kind,
        render: Render,
        action_id: str = "",
        temperature: float | None = None,
        refuse: Callable[[Reply], str] | None = None,
    ) -> Reply:
        """Ask the model in this service's role, and publish its reply as a draft while it is written.

        With an `action_id` the call's cost is attributed to that action. Raises ModelError, BudgetExceeded, and
        OutOfTurn if the work belongs to another worker.
        """
        draft_id = f"{self.work.version if self.work else 0}-{kind}-{uuid4().hex[:6]}"

        async def on_partial(partial: Mapping[str, Any]) -> None:
            await self.deps.drafts.write(self.session.id, draft_id, kind, render(content_of(partial)))

        async def on_wait(seconds: float) -> None:
            await self.deps.drafts.wait(self.session.id, draft_id, kind, seconds)

        async def on_call(call: ModelCall) -> None:
            self._pending = (*self._pending, call.model_copy(update={"action_id": action_id}))

        settings = self.session.settings
        request = ModelRequest(
            self.deps.service,
            messages,
            reply,
            on_call,
            quality=settings.quality,
            model=settings.model,
            temperature=temperature,
            refuse=refuse,
            before_call=self._before_call,
            on_partial=on_partial,
            on_wait=on_wait,
        )
        answered = await self.deps.model.ask(request)
        self._title = " ".join(str(getattr(answered, "title", "")).split())[:MAX_TITLE] or self._title
        return answered

    async def _before_call(self) -> None:
        """Record pending usage, and check that another call is allowed. Raises BudgetExceeded, OutOfTurn."""
        if not self.over_budget:  # otherwise the budget question carries the usage
            await finish_before_cancel(self._record_usage(), grace=CANCEL_GRACE)
        self._require_own_work()
        if self.over_budget:
            raise BudgetExceeded

    async def _record_usage(self) -> None:
        async with self._appending:  # also with nothing pending: another append may be in progress
            if calls := self._pending:
                self._pending = ()
                await self._append(c.RecordUsage(calls=calls), calls, id=f"usage-{uuid4().hex}")

    async def _record(self, command: AnyCommand, id: str | None) -> SessionEvent:  # noqa: A002
        async with self._appending:
            calls, self._pending = self._pending, ()
            return await self._append(_without_secrets(command), calls, id=id, usage=calls, seen=self._seen)

    async def _append(
        self,
        command: AnyCommand,
        calls: tuple[ModelCall, ...],
        *,
        id: str | None,  # noqa: A002
        usage: tuple[ModelCall, ...] = (),
        seen: int = 0,
    ) -> SessionEvent:
        """Append the event. The calls stay pending if the event was certainly not stored."""
        meta = CommandMeta(self.deps.service, datetime.now(UTC), id, self._cause, self.work, usage, self._title, seen)
        try:
            self._loaded, event = await commit(self.deps.log, self._loaded, command, meta, timeout=COMMIT_TIMEOUT)
        except (CommandRefused, Unstorable) as error:
            self._pending = (*calls, *self._pending)
            if isinstance(error, CommandRefused):
                await self._catch_up()  # the refusal may come from a newer state than this one
            raise
        return event


def _without_secrets[Quoting: BaseModel](command: Quoting) -> Quoting:
    """Hide secrets that a server's error quotes: events are stored for ever."""
    fields = vars(command)
    concealed = {name: conceal(fields[name]) for name in FIELDS_WITH_QUOTES if fields.get(name)}
    if outcomes := fields.get("outcomes", ()):
        concealed["outcomes"] = tuple(map(_without_secrets, outcomes))
    return command.model_copy(update=concealed) if concealed else command
