"""A worker's desk: the session in hand, the model, and the one way to record what was done."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from pydantic import BaseModel

from shared.domain import commands as c
from shared.domain.commands import By, Work
from shared.domain.decide import AnyCommand
from shared.domain.errors import OutOfTurn
from shared.domain.session import Session
from shared.events import SessionEvent
from shared.events.values import Service
from shared.llm import Call, Message, Model
from shared.log import Loaded, ReplicatedLog, commit
from shared.logging import conceal
from shared.settings import Settings
from shared.store import Loads
from shared.worker.draft import Drafts, Kind, Render

QUOTING = ("reason", "raw", "error", "result")  # fields in which a command tells what others said
PATIENCE = 3600.0  # a worker waits for the log under heartbeats; its message is not lost meanwhile


class Kit(NamedTuple):
    """What a worker's process has: who it is, where sessions are loaded and recorded, whom it asks."""

    service: Service
    store: Loads
    log: ReplicatedLog
    model: Model
    drafts: Drafts
    settings: Settings


class Desk:
    """Made anew for every piece of work; `session` is the newest state this work has seen."""

    def __init__(self, kit: Kit, loaded: Loaded, *, cause: str) -> None:
        self.kit = kit
        self._loaded = loaded
        self._cause = cause
        self.stopped = False  # a person pressed stop: the work is being cancelled
        self._appending = asyncio.Lock()
        self.work: Work | None = loaded.session.work

    @property
    def loaded(self) -> Loaded:
        return self._loaded

    @property
    def session(self) -> Session:
        return self._loaded.session

    async def record(self, command: AnyCommand, *, id: str | None = None) -> SessionEvent:  # noqa: A002
        """Make a fact of it. Raises Refused when the work is no longer ours or the session does not allow it."""
        by = By(self.kit.service, datetime.now(UTC), id, self._cause, self.work)
        async with self._appending:
            told = _without_secrets(command)
            self._loaded, event = await commit(self.kit.log, self._loaded, told, by, patience=PATIENCE)
        return event

    async def ask[Reply: BaseModel](  # noqa: PLR0913  a question has as many sides
        self,
        messages: Sequence[Message],
        reply: type[Reply],
        *,
        kind: Kind,
        render: Render,
        action_id: str = "",
        temperature: float | None = None,
    ) -> Reply:
        """Ask the model in this service's role; what it writes is shown while it writes. Raises ModelError.

        With an `action_id` the call is made for that action, and its cost is told there.
        """
        draft_id = f"{self.work.version if self.work else 0}-{kind}-{uuid4().hex[:6]}"

        async def shown(partial: Mapping[str, Any]) -> None:
            await self.kit.drafts.write(self.session.id, draft_id, kind, render(partial))

        quality = self.session.settings.quality
        return await self.kit.model.ask(
            self.kit.service,
            messages,
            reply,
            quality=quality,
            temperature=temperature,
            on_call=partial(self._spent, action_id),
            on_partial=shown,
        )

    async def _spent(self, action_id: str, call: Call) -> None:
        """Also what a failed or cancelled call cost is a fact. Raises OutOfTurn when there must be no other call."""
        spent = c.Spend(**call.model_dump(), action_id=action_id)
        await self.record(spent, id=f"usage-{uuid4().hex}")
        if call.outcome != "cancelled" and self.session.work != self.work:
            raise OutOfTurn("The work was stopped, or given to somebody else.")


def _without_secrets[Quoting: BaseModel](command: Quoting) -> Quoting:
    """What others say of a failure may quote our keys back: an event is for ever."""
    told = {name: conceal(getattr(command, name)) for name in QUOTING if getattr(command, name, None)}
    if outcomes := getattr(command, "outcomes", ()):
        told["outcomes"] = tuple(map(_without_secrets, outcomes))
    return command.model_copy(update=told) if told else command
