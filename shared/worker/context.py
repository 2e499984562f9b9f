"""The WorkContext of a worker: the session, the model, and the one way to record outcomes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

import structlog
from pydantic import BaseModel

from parley.events import SessionEvent
from parley.events.values import ModelCall, Service
from parley.reply import content_of
from shared.domain import commands as c
from shared.domain.commands import CommandMeta, Work
from shared.domain.compaction import within
from shared.domain.decide import AnyCommand
from shared.domain.errors import CommandRefused, OutOfTurn
from shared.domain.fast_replace import replace
from shared.domain.session import Session
from shared.domain.usage import sum_calls
from shared.llm import Message, Model, ModelRequest
from shared.log import SessionAtPosition, TimedLog, Unstorable, accept, commit
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
log = structlog.get_logger("worker")


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
        if self.work not in self.session.works:
            raise OutOfTurn("The work was stopped, or another worker has taken it over.")
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
            return await self._append(_without_secrets(command), calls, id=id, usage=calls)

    async def _append(
        self,
        command: AnyCommand,
        calls: tuple[ModelCall, ...],
        *,
        id: str | None,  # noqa: A002
        usage: tuple[ModelCall, ...] = (),
    ) -> SessionEvent:
        """Append the event. The calls stay pending if the event was certainly not stored."""
        meta = CommandMeta(self.deps.service, datetime.now(UTC), id, self._cause, self.work, usage, self._title)
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
