"""Events that only a newer release can fold: folding stops there, and nothing is lost."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from parley.events import SessionEvent, dump_event, envelope
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand, decide
from shared.log import (
    EXPECTED_SEQUENCE,
    SessionAtPosition,
    StoredMessage,
    UpgradeNeeded,
    VersionConflict,
    accept,
    commit,
    guard_headers,
)
from shared.testing import InMemoryLog, InMemoryStore

NEWER = {"needs": envelope.FORMAT + 1}
UNKNOWN_TYPE = {"type": "plan.dreamt", "needs": envelope.FORMAT + 1}
UNKNOWN_SHAPE = {"text": {"words": ["Hello"]}, "needs": envelope.FORMAT + 1}


class SessionStory:
    """Writes a session to a log in memory, as users and services do."""

    def __init__(self) -> None:
        self.log = InMemoryLog()
        self.store = InMemoryStore(self.log)

    async def says(self, command: AnyCommand, key: str) -> SessionEvent:
        by = CommandMeta("user:ann", datetime.now(UTC), key)
        return (await commit(self.log, await self.store.load("s"), command, by))[1]

    async def works(self, command: AnyCommand) -> SessionEvent:
        loaded = await self.store.load("s")
        work = loaded.session.work or loaded.session.reply
        assert work
        by = CommandMeta(work.service, datetime.now(UTC), None, None, work)
        return (await commit(self.log, loaded, command, by))[1]

    async def newer(self, changes: dict[str, Any], *, at: int | None = None, guarded: bool = True) -> None:
        """Append the next message of a newer release, with these changes."""
        loaded = await self.store.load("s")
        event = decide(loaded.session, c.Say(text="Hello"), CommandMeta("user:ann", datetime.now(UTC), "newer"))
        body = json.loads(dump_event(event)) | changes
        headers = guard_headers("s", loaded.position if at is None else at, event.id) if guarded else {}
        self.log.publish(f"session.s.planner.{body['type']}", json.dumps(body).encode(), headers)

    def fold(self) -> tuple[SessionAtPosition, list[tuple[int, str]]]:
        """Fold from the beginning. Returns the session, and quarantined positions with reasons."""
        loaded, skipped = SessionAtPosition(Session("s"), 0), []
        for raw in self.log.messages:
            loaded, event, why = accept(loaded, raw)
            if event is None:
                skipped.append((raw.position, why))
        return loaded, skipped


@pytest.mark.parametrize("changes", [NEWER, UNKNOWN_TYPE, UNKNOWN_SHAPE])
async def test_an_event_of_a_newer_release_stops_folding_and_commits(changes: dict[str, Any]) -> None:
    story = SessionStory()
    await story.says(c.Say(text="A calculator"), "a")
    before = await story.store.load("s")
    await story.newer(changes)
    with pytest.raises(UpgradeNeeded, match="newer release of Parley has continued session s") as stopped:
        accept(before, story.log.messages[-1])
    assert stopped.value.position == story.log.messages[-1].position
    with pytest.raises(UpgradeNeeded):
        await commit(story.log, before, c.Rename(title="Mine"), CommandMeta("user:ann", datetime.now(UTC), "b"))
    assert len(story.log.messages) == 2, "the refused command appends nothing"


async def test_an_event_stored_before_a_newer_one_is_acknowledged() -> None:
    """The append gets no answer, and a newer release appends before the tail is read."""
    story = SessionStory()
    await story.says(c.Say(text="A calculator"), "a")
    loaded = await story.store.load("s")
    story.log = _Overtaking(story)
    after, event = await commit(
        story.log, loaded, c.Rename(title="Mine"), CommandMeta("user:ann", datetime.now(UTC), "b")
    )
    assert (after.session.title, event.version, len(story.log.messages)) == ("Mine", 2, 3)


class _Overtaking(InMemoryLog):
    def __init__(self, story: SessionStory) -> None:
        super().__init__()
        self.messages, self._positions = story.log.messages, story.log._positions
        self._story = story

    async def append(self, event: SessionEvent, *, after: int, due: Any) -> int:
        await super().append(event, after=after, due=due)
        await self._story.newer(NEWER)
        raise VersionConflict("the answer was lost")


@pytest.mark.parametrize(
    ("changes", "at", "why"),
    [
        (NEWER, 7, "it follows position 7"),
        (NEWER | {"version": 9}, None, "version 9 after version 1"),
        (NEWER | {"version": 1}, None, "version 1 after version 1"),
        (NEWER | {"session_id": "other"}, None, "it is of session other"),
        (UNKNOWN_TYPE | {"version": 9}, None, "unreadable"),
        (UNKNOWN_TYPE | {"needs": 1}, None, "unreadable"),
        (UNKNOWN_TYPE | {"needs": "many"}, None, "unreadable"),
    ],
)
async def test_a_message_that_is_not_next_is_quarantined_whatever_its_format(
    changes: dict[str, Any], at: int | None, why: str
) -> None:
    story = SessionStory()
    await story.says(c.Say(text="A calculator"), "a")
    await story.newer(changes, at=at)
    _, [(_, reason)] = story.fold()
    assert why in reason
    assert (await story.says(c.Say(text="And a fast one"), "b")).version == 2


@pytest.mark.parametrize("headers", [{}, {EXPECTED_SEQUENCE: "0"}, {EXPECTED_SEQUENCE: "5710"}])
def test_a_session_may_begin_with_a_message_of_a_newer_release(headers: dict[str, str]) -> None:
    """The message may stand for several events: then it has the version and position of the last one."""
    body = {"type": "session.archived", "session_id": "s", "version": 57, **NEWER}
    raw = StoredMessage(9, "session.s.nobody.session.archived", headers, json.dumps(body).encode(), datetime.now(UTC))
    with pytest.raises(UpgradeNeeded):
        accept(SessionAtPosition(Session("s"), 0), raw)
