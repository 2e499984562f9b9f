"""Folding a session's messages from the log, with the prefix of its parent where it is a fork."""

from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

from shared.domain.decide import due
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.events import SessionEvent, parse_event
from shared.log import Loaded, Log, NeedsParent, Raw, ReplicatedLog, accept

PAGE = 500
EVERYTHING = 2**62  # beyond every position
MAX_FORKS = 50  # how many generations of forks are followed


class StoreLog(ReplicatedLog, Protocol):
    """What plan_store needs of the log besides appending and reading."""

    async def session_ids(self) -> list[str]: ...
    async def message(self, position: int) -> Raw | None: ...
    async def purge(self, session_id: str) -> None: ...


class _Source(NamedTuple):
    """Which part of a session is read: before a position, for a fork of this generation, through the leader or not."""

    before: int = EVERYTHING
    generation: int = 0
    leader: bool = False


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
        parent = await _parent(log, fork, raw, generation)
        raw = raw._replace(subject=_as_due(raw, parent, loaded.session.id))
        after, event, reason = accept(loaded, raw, parent)
    return Step(loaded, raw, event, reason, after)


def _as_due(raw: Raw, parent: Session, session_id: str) -> str:
    """The subject with whoever is due by this fork now: with a purged parent that may be somebody else than it was."""
    began = evolve(parent, parse_event(raw.data))
    return ".".join(("session", session_id, due(began), *raw.subject.split(".")[3:]))


async def _parent(log: Log, fork: NeedsParent, raw: Raw, generation: int) -> Session:
    if generation >= MAX_FORKS:
        return Session(fork.parent)
    source = _Source(before=raw.position, generation=generation + 1)
    session = (await as_it_was(log, fork.parent, fork.version, source)).session
    if session.version < fork.version:  # the replica that was read may lag behind the one that had the fork
        session = (await as_it_was(log, fork.parent, fork.version, source._replace(leader=True))).session
    return session


async def as_it_was(log: Log, session_id: str, version: int, source: _Source | None = None) -> Loaded:
    """The session as its first `version` events left it (fewer, if it has fewer)."""
    source = source or _Source()
    loaded = Loaded(Session(session_id), 0)
    async for raw in messages(log, session_id, leader=source.leader):
        if loaded.session.version == version or raw.position >= source.before:
            break
        loaded = (await fold_one(log, loaded, raw, generation=source.generation)).after
    return loaded


async def messages(log: Log, session_id: str, *, leader: bool = False) -> AsyncIterator[Raw]:
    """All of the session's messages, in order, a page at a time."""
    after = 0
    while page := await log.read(session_id, after=after, limit=PAGE, leader=leader):
        for raw in page:
            yield raw
        after = page[-1].position
