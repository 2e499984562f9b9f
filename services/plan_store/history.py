"""Folding a session's messages from the log, with the prefix of its parent where it is a fork."""

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from shared.domain.session import Session
from shared.events import SessionEvent
from shared.log import Loaded, Log, NeedsParent, Raw, accept

PAGE = 500
MAX_FORKS = 50  # how many generations of forks are followed


class StoreLog(Log, Protocol):
    """What plan_store needs of the log besides appending and reading."""

    async def session_ids(self) -> list[str]: ...
    async def message(self, position: int) -> Raw | None: ...
    async def purge(self, session_id: str) -> None: ...


class Step(NamedTuple):
    """One message folded: the session before and after it, and its event, or why it is none."""

    before: Loaded
    raw: Raw
    event: SessionEvent | None
    reason: str
    after: Loaded


async def fold_one(log: Log, loaded: Loaded, raw: Raw, *, generation: int = 0) -> Step:
    """Fold the next message of the session. Raises LogDown.

    A fork takes over what the log held of its parent *before* the fork began: so the same fork always comes out the
    same, whatever the parent did later, and no ring of forks can be endless.
    """
    try:
        after, event, reason = accept(loaded, raw)
    except NeedsParent as fork:
        parent = Loaded(Session(fork.parent), 0)
        if generation < MAX_FORKS:
            parent = await as_it_was(log, fork.parent, fork.version, before=raw.position, generation=generation + 1)
        after, event, reason = accept(loaded, raw, parent.session)
    return Step(loaded, raw, event, reason, after)


async def as_it_was(
    log: Log, session_id: str, version: int, *, before: int | None = None, generation: int = 0
) -> Loaded:
    """The session as its first `version` events left it (fewer, if it has fewer before that position)."""
    loaded = Loaded(Session(session_id), 0)
    async for raw in messages(log, session_id):
        if loaded.session.version == version or (before is not None and raw.position >= before):
            break
        loaded = (await fold_one(log, loaded, raw, generation=generation)).after
    return loaded


async def messages(log: Log, session_id: str) -> AsyncIterator[Raw]:
    """All of the session's messages, in order, a page at a time."""
    after = 0
    while page := await log.read(session_id, after=after, limit=PAGE):
        for raw in page:
            yield raw
        after = page[-1].position
