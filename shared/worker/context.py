"""A worker's desk: the session in hand, the model, and the one way to record what was done."""

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
from shared.domain.decide import AnyCommand
from shared.domain.errors import OutOfTurn, Refused
from shared.domain.session import Session
from shared.domain.usage import total
from shared.llm import Message, Model
from shared.log import ReplicatedLog, SessionAtPosition, Unstorable, accept, commit
from shared.logging import conceal
from shared.settings import Settings
from shared.store import Loads
from shared.worker.draft import Drafts, Kind, Render
from shared.worker.shielded import shielded

QUOTING = ("reason", "raw", "error", "result")  # fields in which a command tells what others said
PATIENCE = 3600.0  # a worker waits for the log under heartbeats; its message is not lost meanwhile
LAST_WORDS = 1.0  # seconds that an append which has begun may still take when its work is cancelled
log = structlog.get_logger("worker")


class WorkerDeps(NamedTuple):
    """What a worker's process has: who it is, where sessions are loaded and recorded, whom it asks."""

    service: Service
    store: Loads
    log: ReplicatedLog
    model: Model
    drafts: Drafts
    settings: Settings


class BudgetExceeded(Exception):
    """The session's budget leaves no room for another call of a model: none was made."""


class WorkContext:
    """Made anew for every piece of work; `session` is the newest state this work has seen.

    A finished model call is pending until the next event of this work carries it: the call's own `usage.recorded`,
    appended before another call begins, or whatever else is recorded. A crash loses one call's account for each call
    under way, and no more.
    """

    def __init__(self, deps: WorkerDeps, loaded: SessionAtPosition, *, cause: str) -> None:
        self.kit = deps
        self._loaded = loaded
        self._cause = cause
        self.stopped = False  # a person pressed stop: the work is being cancelled
        self._appending = asyncio.Lock()
        self._pending: tuple[ModelCall, ...] = ()  # finished calls that no event has carried yet
        self.work: Work | None = loaded.session.work

    @property
    def loaded(self) -> SessionAtPosition:
        return self._loaded

    @property
    def session(self) -> Session:
        return self._loaded.session

    @property
    def over_budget(self) -> bool:
        """Whether recorded and pending calls have used up the session's tokens or money."""
        return total(self.session.spent, self._pending).over_model_budget(self.session.settings)

    @property
    def over_work_budget(self) -> bool:
        """Whether the session's calls of tools, or its time, are used up."""
        return self.session.spent.over_work_budget(self.session.settings)

    async def record(self, command: AnyCommand, *, id: str | None = None) -> SessionEvent:  # noqa: A002
        """Make a fact of it, which carries the pending calls.

        Raises Refused when the work is no longer ours or the session does not allow it. A cancellation waits for an
        append that has begun, so that no call is accounted for twice or never.
        """
        return await shielded(self._record(command, id), grace=LAST_WORDS)

    async def settle(self) -> None:
        """Record the pending calls of work that ends without an event of its own."""
        if not self._pending:
            return
        try:
            await shielded(self._record_usage(), grace=LAST_WORDS)
        except Refused as refusal:  # purged: there is no session left to account to
            log.warning("usage_not_recorded", reason=str(refusal))

    async def _catch_up(self) -> None:
        for raw in await self.kit.log.read(self.session.id, after=self._loaded.position, leader=True):
            self._loaded, _, _ = accept(self._loaded, raw)

    async def ask[Reply: BaseModel](  # noqa: PLR0913  a question has as many sides
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
        """Ask the model in this service's role; what it writes under `reply` is shown while it writes.

        With an `action_id` the call is made for that action, and its cost is told there. Raises ModelError,
        BudgetExceeded, and OutOfTurn when the work is no longer ours.
        """
        draft_id = f"{self.work.version if self.work else 0}-{kind}-{uuid4().hex[:6]}"

        async def shown(partial: Mapping[str, Any]) -> None:
            await self.kit.drafts.write(self.session.id, draft_id, kind, render(content_of(partial)))

        async def called(call: ModelCall) -> None:
            self._pending = (*self._pending, call.model_copy(update={"action_id": action_id}))

        settings = self.session.settings
        return await self.kit.model.ask(
            self.kit.service,
            messages,
            reply,
            quality=settings.quality,
            model=settings.model,
            temperature=temperature,
            refuse=refuse,
            before_call=self._before_call,
            on_call=called,
            on_partial=shown,
        )

    async def _before_call(self) -> None:
        """Record what has been spent, and look whether there may be another call. Raises BudgetExceeded, OutOfTurn."""
        if not self.over_budget:  # else the question that follows carries what is pending
            await shielded(self._record_usage(), grace=LAST_WORDS)
        if self.session.work != self.work:
            raise OutOfTurn("The work was stopped, or given to somebody else.")
        if self.over_budget:
            raise BudgetExceeded

    async def _record_usage(self) -> None:
        async with self._appending:  # also with nothing pending: another call's account may be on its way
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
        """These calls stay pending when the event was certainly not stored."""
        by = CommandMeta(self.kit.service, datetime.now(UTC), id, self._cause, self.work, usage)
        try:
            self._loaded, event = await commit(self.kit.log, self._loaded, command, by, patience=PATIENCE)
        except (Refused, Unstorable) as error:
            self._pending = (*calls, *self._pending)
            if isinstance(error, Refused):
                await self._catch_up()  # the session that refuses it may be newer than the one that was seen
            raise
        return event


def _without_secrets[Quoting: BaseModel](command: Quoting) -> Quoting:
    """What others say of a failure may quote our keys back: an event is for ever."""
    fields = vars(command)
    told = {name: conceal(fields[name]) for name in QUOTING if fields.get(name)}
    if outcomes := fields.get("outcomes", ()):
        told["outcomes"] = tuple(map(_without_secrets, outcomes))
    return command.model_copy(update=told) if told else command
