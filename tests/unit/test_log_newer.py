"""What a release does with events that only a newer one can fold: it stops there, and nothing is lost beside them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from parley.events import SessionEvent, dump_event, envelope
from parley.events.values import Check, Step
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand, decide, due
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.log import (
    EXPECTED,
    SessionAtPosition,
    StoredMessage,
    UpgradeNeeded,
    VersionConflict,
    accept,
    commit,
    guard,
    subject_of,
)
from shared.testing import InMemoryLog, InMemoryStore

NEWER = {"needs": envelope.FORMAT + 1}
UNKNOWN_TYPE = {"type": "plan.dreamt", "needs": envelope.FORMAT + 1}
UNKNOWN_SHAPE = {"text": {"words": ["Hello"]}, "needs": envelope.FORMAT + 1}
RULES = {"rules": envelope.RULES + 1}


class Told:
    """A session on a log in memory, as people and services write it."""

    def __init__(self) -> None:
        self.log = InMemoryLog()
        self.store = InMemoryStore(self.log)

    async def says(self, command: AnyCommand, key: str) -> SessionEvent:
        by = CommandMeta("user:ann", datetime.now(UTC), key)
        return (await commit(self.log, await self.store.load("s"), command, by))[1]

    async def works(self, command: AnyCommand) -> SessionEvent:
        loaded = await self.store.load("s")
        work = loaded.session.work
        assert work
        by = CommandMeta(work.service, datetime.now(UTC), None, None, work)
        return (await commit(self.log, loaded, command, by))[1]

    async def newer(self, changes: dict[str, Any], *, at: int | None = None, guarded: bool = True) -> None:
        """What a newer release appends next: a message with these changes."""
        loaded = await self.store.load("s")
        event = decide(loaded.session, c.Say(text="Hello"), CommandMeta("user:ann", datetime.now(UTC), "newer"))
        body = json.loads(dump_event(event)) | changes
        headers = guard("s", loaded.position if at is None else at, event.id) if guarded else {}
        self.log.publish(f"session.s.planner.{body['type']}", json.dumps(body).encode(), headers)

    def fold(self) -> tuple[SessionAtPosition, list[tuple[int, str]]]:
        """From the beginning; with the positions that are parked, and why."""
        loaded, parked = SessionAtPosition(Session("s"), 0), []
        for raw in self.log.messages:
            loaded, event, why = accept(loaded, raw)
            if event is None:
                parked.append((raw.position, why))
        return loaded, parked


@pytest.mark.parametrize("changes", [NEWER, UNKNOWN_TYPE, UNKNOWN_SHAPE, RULES])
async def test_nothing_is_folded_past_it_and_nothing_is_decided(changes: dict[str, Any]) -> None:
    told = Told()
    await told.says(c.Say(text="A calculator"), "a")
    before = await told.store.load("s")
    await told.newer(changes)
    with pytest.raises(UpgradeNeeded, match="newer release of Parley has continued session s") as stopped:
        accept(before, told.log.messages[-1])
    assert stopped.value.position == told.log.messages[-1].position
    with pytest.raises(UpgradeNeeded):
        await commit(told.log, before, c.Rename(title="Mine"), CommandMeta("user:ann", datetime.now(UTC), "b"))
    assert len(told.log.messages) == 2, "what cannot be decided on is not appended"


async def test_two_releases_write_one_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newer planner records what its new format needs; the older services go no further; the newer ones do."""
    told = Told()
    await told.says(c.Say(text="A calculator"), "a")
    await told.newer(NEWER)
    with pytest.raises(UpgradeNeeded):
        await told.works(c.DraftPlan(goal="g", steps=(Step(text="one"),)))
    monkeypatch.setattr(envelope, "FORMAT", NEWER["needs"])
    await told.works(c.DraftPlan(goal="g", steps=(Step(text="one"),)))
    loaded, parked = told.fold()
    assert (loaded.session.version, loaded.session.needs, loaded.session.phase) == (3, envelope.FORMAT, "planning")
    assert parked == []


async def test_what_was_stored_before_it_is_acknowledged() -> None:
    """The append is not answered, and a newer release goes on after it before the tail is read."""
    told = Told()
    await told.says(c.Say(text="A calculator"), "a")
    loaded = await told.store.load("s")
    told.log = _Overtaking(told)
    after, event = await commit(
        told.log, loaded, c.Rename(title="Mine"), CommandMeta("user:ann", datetime.now(UTC), "b")
    )
    assert (after.session.title, event.version, len(told.log.messages)) == ("Mine", 2, 3)


class _Overtaking(InMemoryLog):
    def __init__(self, told: Told) -> None:
        super().__init__()
        self.messages, self._positions = told.log.messages, told.log._positions
        self._told = told

    async def append(self, event: SessionEvent, *, after: int, due: Any) -> int:
        await super().append(event, after=after, due=due)
        await self._told.newer(NEWER)
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
async def test_what_is_not_next_is_parked_whatever_it_says(changes: dict[str, Any], at: int | None, why: str) -> None:
    told = Told()
    await told.says(c.Say(text="A calculator"), "a")
    await told.newer(changes, at=at)
    _, [(_, reason)] = told.fold()
    assert why in reason
    assert (await told.says(c.Say(text="And a fast one"), "b")).version == 2


@pytest.mark.parametrize("headers", [{}, {EXPECTED: "0"}, {EXPECTED: "5710"}])
def test_a_session_may_begin_with_a_message_of_a_newer_release(headers: dict[str, str]) -> None:
    """Also one that stands for many: it follows the last of them, and has its version."""
    body = {"type": "session.archived", "session_id": "s", "version": 57, **NEWER}
    raw = StoredMessage(9, "session.s.nobody.session.archived", headers, json.dumps(body).encode(), datetime.now(UTC))
    with pytest.raises(UpgradeNeeded):
        accept(SessionAtPosition(Session("s"), 0), raw)


async def test_what_has_no_guard_is_parked_too() -> None:
    told = Told()
    await told.says(c.Say(text="A calculator"), "a")
    await told.newer(NEWER, guarded=False)
    _, [(_, reason)] = told.fold()
    assert "unguarded" in reason


# --- rules


async def _twice_repaired(told: Told) -> None:
    """Code that was sent back as often as the rules allow, and five more requests."""
    failed = c.VerifyCode(checks=(Check(name="tests", ok=False, detail="no"),))
    await told.says(c.Say(text="A calculator"), "a")
    plan = await told.works(c.DraftPlan(goal="g", steps=(Step(text="one"),)))
    await told.says(c.Approve(version=plan.version), "ok")
    for number in range(3):
        code = await told.works(c.DraftCode(code=f"print({number})\n"))
        await told.works(failed)
    await told.says(c.Approve(version=code.version), "ok2")
    for number in range(5):
        await told.says(c.Say(text=f"request {number}"), f"m{number}")
        await told.works(c.DraftPlan(goal="g", steps=(Step(text="one"),)))


async def test_who_was_due_is_a_fact_that_newer_rules_do_not_judge() -> None:
    told = Told()
    await _twice_repaired(told)
    known, _ = told.fold()
    told.log.messages[:] = [_due_nobody(raw) for raw in told.log.messages]
    loaded, parked = told.fold()
    assert (loaded.session, parked) == (known.session, [])


def _due_nobody(raw: StoredMessage) -> StoredMessage:
    session, session_id, _, kind = raw.subject.split(".", 3)
    return raw._replace(subject=f"{session}.{session_id}.nobody.{kind}")


async def test_a_session_at_rest_goes_over_to_newer_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()
    await told.says(c.Say(text="A calculator"), "a")
    monkeypatch.setattr(envelope, "RULES", 2)
    assert (await told.works(c.DraftPlan(goal="g", steps=(Step(text="one"),)))).rules is None, "work is under way"
    await told.says(c.CancelPlan(), "c")
    assert (await told.says(c.Say(text="Another one"), "b")).rules == 2
    assert (await told.store.load("s")).session.rules == 2
    assert (await told.says(c.Say(text="and fast"), "d")).rules is None, "once is enough"
    monkeypatch.setattr(envelope, "RULES", 1)
    with pytest.raises(UpgradeNeeded):
        await told.store.load("s")


def test_a_number_of_rules_is_never_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(envelope, "RULES", 3)
    first = decide(Session("s"), c.Say(text="A calculator"), CommandMeta("user:ann", datetime.now(UTC), "a"))
    assert first.rules == 3, "a session that begins has no older ones"
    begun = evolve(Session("s"), first)
    lower = decide(begun, c.Rename(title="x"), CommandMeta("user:ann", datetime.now(UTC), "b")).model_copy(
        update={"rules": 2}
    )
    assert evolve(begun, lower).rules == 3
    raw = StoredMessage(
        2, subject_of(lower, due(evolve(begun, lower))), guard("s", 1, "b"), dump_event(lower), lower.at
    )
    assert accept(SessionAtPosition(begun, 1), raw)[2] == ""
