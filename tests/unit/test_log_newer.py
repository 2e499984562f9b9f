"""Events that only a newer release can fold: folding stops there, and nothing is lost."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from parley.events import SessionEvent, dump_event, envelope
from parley.events.values import Check, Step
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand, decide
from shared.domain.session import Session
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


async def test_two_releases_write_one_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newer planner uses the new format; older services stop there, and newer ones go on."""
    story = SessionStory()
    await story.says(c.Say(text="A calculator"), "a")
    await story.newer(NEWER)
    with pytest.raises(UpgradeNeeded):
        await story.works(c.DraftPlan(goal="g", steps=(Step(text="one"),)))
    monkeypatch.setattr(envelope, "FORMAT", NEWER["needs"])
    await story.works(c.DraftPlan(goal="g", steps=(Step(text="one"),)))
    loaded, skipped = story.fold()
    assert (loaded.session.version, loaded.session.needs, loaded.session.phase) == (3, envelope.FORMAT, "planning")
    assert skipped == []


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


async def test_an_unguarded_message_is_quarantined_whatever_its_format() -> None:
    story = SessionStory()
    await story.says(c.Say(text="A calculator"), "a")
    await story.newer(NEWER, guarded=False)
    _, [(_, reason)] = story.fold()
    assert "unguarded" in reason


# --- rules


async def _twice_repaired(story: SessionStory) -> None:
    """A session whose code was repaired as often as the rules allow, and five more requests."""
    failed = c.VerifyCode(checks=(Check(name="tests", ok=False, detail="no"),))
    await story.says(c.Say(text="A calculator"), "a")
    plan = await story.works(c.DraftPlan(goal="g", steps=(Step(text="one"),)))
    await story.says(c.Approve(version=plan.version), "ok")
    for number in range(3):
        code = await story.works(c.DraftCode(code=f"print({number})\n"))
        await story.works(failed)
    await story.says(c.Approve(version=code.version), "ok2")
    for number in range(5):
        await story.says(c.Say(text=f"request {number}"), f"m{number}")
        await story.works(c.DraftPlan(goal="g", steps=(Step(text="one"),)))


async def test_newer_rules_do_not_change_which_service_was_due() -> None:
    story = SessionStory()
    await _twice_repaired(story)
    original, _ = story.fold()
    story.log.messages[:] = [_without_due_service(raw) for raw in story.log.messages]
    loaded, skipped = story.fold()
    assert (loaded.session, skipped) == (original.session, [])


def _without_due_service(raw: StoredMessage) -> StoredMessage:
    session, session_id, _, kind = raw.subject.split(".", 3)
    return raw._replace(subject=f"{session}.{session_id}.nobody.{kind}")
