"""The contract of session logs, run on the in-memory log and on JetStream, also with failing servers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

import pytest

from parley.events import Due, SessionEvent, dump_event, facts
from parley.events.values import Knowledge, Step
from shared.bus import Bus, jetstream
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import AlreadyDone, OutOfTurn, Stale
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand, decide, due
from shared.log import (
    EXPECTED_SEQUENCE,
    EXPECTED_SEQUENCE_SUBJECT,
    FIRST_DELAY,
    MESSAGE_ID,
    EventTooLarge,
    Indeterminate,
    LogExtent,
    LogUnavailable,
    SessionAtPosition,
    SessionLog,
    StoredMessage,
    VersionConflict,
    WholeLog,
    accept,
    commit,
    fork,
    guard_headers,
    subject_of,
)
from shared.testing import InMemoryLog, InMemoryStore, session_ids
from tests.conftest import person
from tests.support.nats import NatsServer, frozen, kill9
from tests.support.timeouts import WAIT_TIMEOUT

Publish = Callable[[str, bytes, dict[str, str]], Awaitable[None]]


class EveryLog(SessionLog, WholeLog, Protocol):
    """Both logs implement more than SessionLog and WholeLog."""

    async def extent(self) -> LogExtent: ...

    async def message(self, position: int) -> StoredMessage | None: ...

    async def purge(self, session_id: str) -> None: ...


class Rig(NamedTuple):
    """A log, a way to publish any message on its subjects, and the session under test."""

    log: EveryLog
    publish: Publish
    id: str

    async def load(self, session_id: str = "") -> SessionAtPosition:
        return await InMemoryStore(self.log).load(session_id or self.id)

    async def commit(self, command: AnyCommand, meta: CommandMeta | None = None) -> SessionEvent:
        return (await commit(self.log, await self.load(), command, meta or person()))[1]

    async def events(self) -> list[SessionEvent]:
        return await InMemoryStore(self.log).events(self.id)


@pytest.fixture(params=["memory", "jetstream"])
def rig(request: pytest.FixtureRequest, session_id: str) -> Rig:
    if request.param == "memory":
        memory = InMemoryLog()

        async def publish(subject: str, data: bytes, headers: dict[str, str]) -> None:
            memory.publish(subject, data, headers)

        return Rig(memory, publish, session_id)
    bus: Bus = request.getfixturevalue("bus")

    async def publish_to_stream(subject: str, data: bytes, headers: dict[str, str]) -> None:
        await bus.client.jetstream().publish(subject, data, headers=headers, timeout=WAIT_TIMEOUT)

    return Rig(bus.log, publish_to_stream, session_id)


def first_message(
    session: Session, text: str = "Write a calculator", meta: CommandMeta | None = None
) -> tuple[SessionEvent, Due]:
    """The session's event for a message from a user, and the service that is due after it."""
    event = decide(session, c.Say(text=text), meta or person())
    return event, due(evolve(session, event))


def comparable(messages: list[StoredMessage]) -> list[object]:
    """The parts of messages that do not depend on the way of reading: for one of the two the server adds headers."""
    guarded = (EXPECTED_SEQUENCE, EXPECTED_SEQUENCE_SUBJECT, MESSAGE_ID)
    return [(m.position, m.subject, m.data, m.at, *(m.headers.get(key) for key in guarded)) for m in messages]


# --- append


async def test_an_event_is_stored_at_the_position_it_was_decided_on(rig: Rig) -> None:
    event, planner = first_message(Session(rig.id))
    first = await rig.log.append(event, after=0, due=planner)
    [raw] = await rig.log.read(rig.id)
    assert (raw.position, raw.subject) == (first, f"session.{rig.id}.planner.message.received")
    assert raw.headers[EXPECTED_SEQUENCE] == "0"
    assert raw.headers[MESSAGE_ID] == f"{event.id}@0"
    assert raw.data == dump_event(event)
    assert (message := await rig.log.message(first))
    assert comparable([message]) == comparable([raw])
    assert await rig.log.message(first + 1) is None
    second, next_due = first_message((await rig.load()).session, "and quickly")
    assert await rig.log.append(second, after=first, due=next_due) > first
    assert await rig.events() == [event, second]


@pytest.mark.parametrize("after", [0, 99])
async def test_an_append_at_an_old_position_conflicts(rig: Rig, after: int) -> None:
    await rig.commit(c.Say(text="first"))
    late, next_due = first_message((await rig.load()).session)
    with pytest.raises(VersionConflict):
        await rig.log.append(late, after=after, due=next_due)
    assert len(await rig.log.read(rig.id)) == 1


async def test_sessions_do_not_conflict_with_each_other(rig: Rig) -> None:
    await rig.commit(c.Say(text="first"))
    other, planner = first_message(Session(f"{rig.id}0"))  # this id begins with the id of the first session
    await rig.log.append(other, after=0, due=planner)
    assert (await rig.commit(c.Say(text="second"))).version == 2
    assert await session_ids(rig.log) == [rig.id, f"{rig.id}0"]
    everything = await rig.log.read_all(after=0, limit=10)
    assert [raw.subject.split(".")[1] for raw in everything] == [rig.id, f"{rig.id}0", rig.id]
    [second] = await rig.log.read_all(after=everything[0].position, limit=1, leader=True)
    assert (second.position, second.data) == (everything[1].position, everything[1].data)
    assert (await rig.log.extent())[1:] == (everything[0].position, everything[2].position)


async def test_an_event_id_is_stored_only_once(rig: Rig) -> None:
    event = await rig.commit(c.Say(text="first"), person("m1"))
    with pytest.raises(AlreadyDone):
        await rig.commit(c.Say(text="first"), person("m1"))
    other, planner = first_message(Session("other"))
    with pytest.raises(Indeterminate):
        await rig.log.append(other.model_copy(update={"id": event.id}), after=0, due=planner)
    assert await rig.log.read("other") == []


async def test_retries_on_indeterminate_appends_are_limited(rig: Rig) -> None:
    headers = {MESSAGE_ID: f"{rig.id}:m1@0"}  # another program has already used the event's message id
    await rig.publish("session.other.nobody.x", b"", headers)
    with pytest.raises(LogUnavailable):
        await commit(rig.log, SessionAtPosition(Session(rig.id), 0), c.Say(text="first"), person("m1"), timeout=0.2)


async def test_an_event_that_is_too_large_is_not_sent(rig: Rig) -> None:
    books = tuple(Knowledge(name=f"book {n}", text="x" * 50_000) for n in range(6))
    with pytest.raises(EventTooLarge, match="262144 are allowed"):
        await rig.commit(c.Say(text="read these", knowledge=books))
    assert await rig.log.read(rig.id) == []


# --- commit


async def test_after_a_conflict_the_command_is_decided_on_the_new_state(rig: Rig) -> None:
    await rig.commit(c.Say(text="A calculator"))
    work = (await rig.load()).session.work
    draft = c.DraftPlan(goal="g", steps=(Step(text="one"),))
    plan = await rig.commit(draft, person()._replace(actor="planner", id=None, work=work))
    old = await rig.load()
    await rig.commit(c.EditPlan(base=plan.version, steps=(Step(text="two"),)))
    with pytest.raises(Stale):
        await commit(rig.log, old, c.Approve(version=plan.version), person())
    assert len(await rig.events()) == 3


async def test_fifty_concurrent_commits_all_succeed(rig: Rig) -> None:
    await rig.commit(c.Say(text="A calculator"))
    old = await rig.load()
    written = await asyncio.gather(*(commit(rig.log, old, c.Say(text=f"word {n}"), person(f"m{n}")) for n in range(50)))
    events = await rig.events()
    assert [event.version for event in events] == list(range(1, 52))
    assert sorted(event.id for _, event in written) == sorted(event.id for event in events[1:])
    assert all(events[event.version - 1] == event for _, event in written)
    positions = [raw.position for raw in await rig.log.read(rig.id)]
    assert all(loaded.position == positions[event.version - 1] for loaded, event in written)
    assert len((await rig.load()).session.words.unread) == 50


@pytest.mark.parametrize(("message", "attempts"), [("stored", 1), ("before it was stored", 2)])
async def test_an_append_with_an_unknown_result_is_stored_once(session_id: str, message: str, attempts: int) -> None:
    log = InMemoryLog()
    log.faults = [Indeterminate(message)]
    loaded, event = await commit(log, SessionAtPosition(Session(session_id), 0), c.Say(text="first"), person())
    assert [raw.data for raw in log.messages] == [dump_event(event)]
    assert loaded == await InMemoryStore(log).load(session_id)
    assert loaded.position == 1


class LogWithOtherWriters(InMemoryLog):
    """A log that fails the first appends, and each time stores another writer's event instead."""

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        if len(self.messages) < 12:
            await super().append(decide(await self._newest(), c.Say(text="me too"), person()), after=after, due=due)
            raise Indeterminate("another append of this session is in flight")
        return await super().append(event, after=after, due=due)

    async def _newest(self) -> Session:
        return (await InMemoryStore(self).load("a")).session


async def test_delays_do_not_grow_while_other_writers_succeed(monkeypatch: pytest.MonkeyPatch) -> None:
    log, pauses, sleep = LogWithOtherWriters(), [], asyncio.sleep

    async def paused(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr("shared.log.asyncio.sleep", paused)
    loaded, _ = await commit(log, SessionAtPosition(Session("a"), 0), c.Say(text="first"), person())
    assert loaded.session.version == 13
    assert set(pauses) == {FIRST_DELAY}


class LogThatSignalsFailure:
    """A log that signals when an append has failed."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self.failed = asyncio.Event()

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        try:
            return await self._log.append(event, after=after, due=due)
        except Indeterminate:
            self.failed.set()
            raise

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return await self._log.read(session_id, after=after, limit=limit, leader=leader)


async def test_an_append_that_a_frozen_server_stores_late_is_not_repeated(
    nats: NatsServer, bus: Bus, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jetstream, "APPEND_TIMEOUT", 0.3)
    log = LogThatSignalsFailure(bus.log)
    with frozen(nats):
        writing = asyncio.create_task(
            commit(log, SessionAtPosition(Session(session_id), 0), c.Say(text="hello"), person())
        )
        await log.failed.wait()
    loaded, event = await writing
    assert await InMemoryStore(bus.log).events(session_id) == [event]
    assert loaded == await InMemoryStore(bus.log).load(session_id)


async def test_a_commit_succeeds_after_the_killed_server_restarts(
    nats: NatsServer, bus: Bus, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jetstream, "READ_TIMEOUT", 0.3)
    log = LogThatSignalsFailure(bus.log)
    start, _ = await commit(log, SessionAtPosition(Session(session_id), 0), c.Say(text="hello"), person())
    kill9(nats)
    with pytest.raises(LogUnavailable):
        await bus.log.read(session_id)
    writing = asyncio.create_task(commit(log, start, c.Say(text="once more"), person(), timeout=20))
    await log.failed.wait()
    await asyncio.to_thread(nats.restart)
    loaded, event = await writing
    assert [raw.data for raw in await bus.log.read(session_id)][1:] == [dump_event(event)]
    assert loaded.session.version == 2


async def test_retries_end_with_the_timeout(
    nats: NatsServer, bus: Bus, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jetstream, "APPEND_TIMEOUT", 0.3)
    monkeypatch.setattr(jetstream, "READ_TIMEOUT", 0.3)
    kill9(nats)
    with pytest.raises(LogUnavailable):
        await commit(bus.log, SessionAtPosition(Session(session_id), 0), c.Say(text="hello"), person(), timeout=0.2)
    for request in (session_ids(bus.log), bus.log.extent(), bus.log.message(1), bus.log.purge(session_id)):
        with pytest.raises(LogUnavailable):
            await request


# --- messages that other programs publish on a session's subjects


class Foreign(NamedTuple):
    """A message that another program publishes after version 1, and a part of the reason why it is not an event.

    `make` gets the session's next event and the log position of version 1.
    """

    reason: str
    make: Callable[[SessionEvent, int], tuple[str, bytes, dict[str, str]]]


def _valid(event: SessionEvent, at: int) -> tuple[str, bytes, dict[str, str]]:
    return subject_of(event, "nobody"), dump_event(event), guard_headers(event.session_id, at, "theirs")


def _changed(**changes: object) -> Callable[[SessionEvent, int], tuple[str, bytes, dict[str, str]]]:
    def make(event: SessionEvent, at: int) -> tuple[str, bytes, dict[str, str]]:
        subject, _, headers = _valid(event, at)
        return subject, dump_event(event.model_copy(update=changes)), headers

    return make


def _body(data: bytes) -> Callable[[SessionEvent, int], tuple[str, bytes, dict[str, str]]]:
    return lambda event, at: (subject_of(event, "planner"), data, guard_headers(event.session_id, at, "theirs"))


def _headers(headers: dict[str, str]) -> Callable[[SessionEvent, int], tuple[str, bytes, dict[str, str]]]:
    return lambda event, _: (subject_of(event, "nobody"), dump_event(event), headers)


def _subject(rest: str) -> Callable[[SessionEvent, int], tuple[str, bytes, dict[str, str]]]:
    return lambda event, at: (f"session.{event.session_id}.{rest}", *_valid(event, at)[1:])


LYING = {"Status": "404", "Nats-Sequence": "1", "Nats-Subject": "session.x.nobody.y", "Nats-Time-Stamp": "now"}
FOREIGN = {
    "no guard": Foreign("unguarded", _headers({})),
    "lying headers": Foreign("unguarded", _headers(LYING)),
    "another position": Foreign("follows position 0", _headers({EXPECTED_SEQUENCE: "0"})),
    "a guard written otherwise": Foreign("follows position 00", _headers({EXPECTED_SEQUENCE: "00"})),
    "garbage": Foreign("unreadable: The body", _body(b"\x00\xff garbage")),
    "empty": Foreign("unreadable: The body", _body(b"")),
    "a megabyte": Foreign("unreadable", _body(b'{"text":"' + b"x" * 1_000_000 + b'"}')),
    "an unknown type": Foreign("unreadable: The body", _body(b'{"type":"session.exploded"}')),
    "another version": Foreign("version 9 after version 1", _changed(version=9)),
    "the comparable version": Foreign("version 1 after version 1", _changed(version=1)),
    "another session": Foreign("it is of session elsewhere", _changed(session_id="elsewhere")),
    "another type in its subject": Foreign("wrong subject: it belongs on", _subject("nobody.plan.drafted")),
    "nothing but the session in its subject": Foreign("wrong subject: it belongs on", _subject("x")),
}


@pytest.mark.parametrize("name", FOREIGN)
async def test_a_foreign_message_is_quarantined_and_the_session_goes_on(rig: Rig, name: str) -> None:
    expected_reason, make = FOREIGN[name]
    await rig.commit(c.Say(text="A calculator"))
    before = await rig.load()
    subject, body, headers = make(first_message(before.session)[0], before.position)
    await rig.publish(subject, body, headers)
    [raw] = await rig.log.read(rig.id, after=before.position)
    skipped, event, reason = accept(before, raw)
    assert event is None
    assert expected_reason in reason
    assert (skipped.session, skipped.position) == (before.session, raw.position)
    assert len(reason) <= 500

    loaded, own_event = await commit(rig.log, before, c.Say(text="and quickly"), person())
    assert own_event.version == 2
    assert loaded == await rig.load()
    assert [event.version for event in await rig.events()] == [1, 2]
    assert comparable(await rig.log.read(rig.id)) == comparable(await rig.log.read(rig.id, leader=True))


async def test_the_first_message_needs_no_guard(rig: Rig) -> None:
    event, planner = first_message(Session(rig.id))
    await rig.publish(subject_of(event, planner), dump_event(event), {})
    assert await rig.events() == [event]
    assert (await rig.commit(c.Say(text="and quickly"))).version == 2


async def test_a_session_can_begin_after_an_unreadable_message(rig: Rig) -> None:
    await rig.publish(f"session.{rig.id}.planner.message.received", b"garbage", {})
    loaded = await rig.load()
    assert loaded == SessionAtPosition(Session(rig.id), loaded.position)
    assert loaded.position > 0
    assert (await rig.commit(c.Say(text="A calculator"))).version == 1


# --- reading, forks, purge


async def test_paged_reads_from_a_replica_and_from_the_leader_agree(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jetstream, "BATCH", 3)
    for n in range(8):
        await rig.commit(c.Say(text=f"word {n}"))
        await rig.publish(f"session.between{n}.nobody.x", b"", {})
    messages = await rig.log.read(rig.id)
    assert [event.version for event in await rig.events()] == list(range(1, 9))
    for leader in (False, True):
        assert comparable(await rig.log.read(rig.id, leader=leader)) == comparable(messages)
        pages = [await rig.log.read(rig.id, limit=5, leader=leader)]
        pages.append(await rig.log.read(rig.id, after=pages[0][-1].position, limit=5, leader=leader))
        assert [len(page) for page in pages] == [5, 3]
        assert comparable(pages[0] + pages[1]) == comparable(messages)
        assert await rig.log.read(rig.id, after=messages[-1].position, leader=leader) == []
        assert await rig.log.read("nobody", leader=leader) == []


async def test_a_fork_begins_with_its_parents_state_at_the_forked_version(rig: Rig) -> None:
    await rig.commit(c.Say(text="A calculator"))
    parent = (await rig.load()).session
    await rig.commit(c.Say(text="which the fork never hears"))
    event = await fork(rig.log, parent, "child", person())
    child = (await rig.load("child")).session
    assert (child.words.request, child.parent_id, child.version, child.words.unread) == ("A calculator", rig.id, 1, ())
    assert await InMemoryStore(rig.log).events("child") == [event]
    with pytest.raises(VersionConflict):
        await fork(rig.log, parent, "child", person())


async def test_a_commit_that_expected_a_new_session_but_finds_a_fork_succeeds(rig: Rig) -> None:
    await rig.commit(c.Say(text="A calculator"))
    await fork(rig.log, (await rig.load()).session, "child", person())
    loaded, event = await commit(rig.log, SessionAtPosition(Session("child"), 0), c.Say(text="With floats"), person())
    assert isinstance(event, facts.MessageReceived)
    assert (event.version, event.text, loaded.session.parent_id) == (2, "With floats", rig.id)


async def test_purge_removes_one_session_and_no_other(rig: Rig) -> None:
    await rig.commit(c.Say(text="A calculator"))
    event, planner = first_message(Session(f"{rig.id}0"))
    await rig.log.append(event, after=0, due=planner)
    await rig.log.purge(rig.id)
    assert await rig.log.read(rig.id) == []
    assert await session_ids(rig.log) == [f"{rig.id}0"]


async def test_a_commit_to_a_purged_session_is_refused(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    await rig.commit(c.Say(text="A calculator"))
    loaded = await rig.load()
    await rig.log.purge(rig.id)
    monkeypatch.setattr("shared.log.MAX_FRUITLESS_CONFLICTS", 1)
    with pytest.raises(OutOfTurn, match="purged"):
        await commit(rig.log, loaded, c.Rename(title="Another one"), person())
    assert await rig.log.read(rig.id) == []
