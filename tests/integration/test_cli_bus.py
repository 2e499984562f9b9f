"""The `parley` commands that use the bus, on a real nats-server, with a scripted plan_store."""

import asyncio
import io
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog

from cli.command import Declined, Unreachable, silence_logs
from cli.operate import dead
from cli.operate.provision import provision
from cli.talk import publish, sessions, tail
from parley.events import dump_event, facts
from parley.events.values import Step
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.store_api import DeadPage, DeadRecord, ParkedRecord, SessionPage, SessionSummary
from shared.story import Story
from shared.testing import InMemoryStore
from tests.support.gateway import FakeStore
from tests.support.timeouts import WAIT_TIMEOUT

AT = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def silent_logs() -> Iterator[None]:
    """Silence logs, as the command line does before each command."""
    silence_logs()
    yield
    structlog.reset_defaults()


@pytest.fixture
async def store(bus: Bus) -> None:
    """Answer for plan_store: journals come from the log, other answers are fixed."""
    fake = FakeStore(bus.log)
    answers: dict[str, Any] = {"session.list": page(), "session.get": page().sessions[0], "dead.list": dead_letters()}

    async def answer(subject: str, body: bytes) -> bytes:
        verb = subject.removeprefix("plan_store.")
        if verb in answers:
            return answers[verb].model_dump_json().encode()  # type: ignore[no-any-return]
        if verb == "session.purge":
            return b'{"error": {"code": "busy", "message": "The planner is at work."}}'
        return json.dumps(await fake.ask(verb, **json.loads(body))).encode()

    await bus.answer("plan_store.>", answer, queue="plan_store")


def page() -> SessionPage:
    summary = SessionSummary(
        id="s1", owner="local", title="Prime\x1b numbers", request="primes", workflow="conversation", phase="resting",
        state="completed", paused=False, version=3, position=3, created_at=AT, updated_at=AT, work_service=None,
        work_version=None, work_since=None, parent=None,
    )  # fmt: skip
    return SessionPage(sessions=(summary,), total=1)


def dead_letters() -> DeadPage:
    parked = ParkedRecord(
        position=7, session_id="s1", subject="session.s1.nobody.x", reason="unreadable: no", preview="{", at=AT
    )
    dead_letter = DeadRecord(
        stream="SESSIONS", consumer="planner", stream_seq=9, reason="given up", session_id="s1",
        subject="session.s1.planner.x", at=AT, phase="failed",
    )  # fmt: skip
    orphan = dead_letter.model_copy(update={"stream_seq": 10, "session_id": "zzz", "phase": ""})
    resting = dead_letter.model_copy(update={"stream_seq": 11, "phase": "resting"})
    return DeadPage(parked=(parked,), parked_total=1, dead=(dead_letter, orphan, resting), dead_total=3)


async def begin(settings: Settings, session_id: str, text: str = "A calculator") -> None:
    await publish.begin_session(settings, text, workflow=None, session_id=session_id)


async def loaded(bus: Bus, session_id: str) -> Session:
    return (await InMemoryStore(bus.log).load(session_id)).session


def rename(session_id: str, version: int, title: str = "Mine") -> facts.SessionRenamed:
    return facts.SessionRenamed(
        id=f"{session_id}:r{version}", session_id=session_id, version=version, at=AT, actor="user:local", title=title
    )


async def test_publish_begins_a_session_only_once(
    settings: Settings, bus: Bus, session_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await begin(settings, session_id)
    assert capsys.readouterr().out == f"{session_id}\n"
    session = await loaded(bus, session_id)
    assert (session.version, session.phase, session.words.request, session.owner) == (
        1,
        "planning",
        "A calculator",
        "local",
    )
    with pytest.raises(Declined, match="exists already"):
        await begin(settings, session_id)


async def test_an_event_is_published_only_as_the_next_version(settings: Settings, bus: Bus, session_id: str) -> None:
    await begin(settings, session_id)
    assert await publish.publish_event(settings, b"\xef\xbb\xbf" + dump_event(rename(session_id, 2))) == 0
    assert (await loaded(bus, session_id)).title == "Mine"
    with pytest.raises(Declined, match="is at version 2"):
        await publish.publish_event(settings, dump_event(rename(session_id, 2, "Other")))
    with pytest.raises(Declined, match="`title` must not be empty"):
        await publish.publish_event(settings, dump_event(rename(session_id, 3)).replace(b'"Mine"', b'""'))
    assert (await loaded(bus, session_id)).version == 2


async def test_a_command_is_decided_on_the_session_in_the_log(
    settings: Settings, bus: Bus, session_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    story = Story(session_id, log=bus.log)
    reviewed = await story.commit(c.Say(text="A calculator"), c.DraftPlan(goal="Add", steps=(Step(text="add"),)))
    assert reviewed.plan

    def approve(version: int, hash_: str) -> str:
        return json.dumps({"approve": {"version": version, "hash": hash_}})

    for command, why in (
        (approve(9, reviewed.plan.hash), "version 2 is"),
        (approve(2, "deadbeef"), "content differs"),
        ('{"approve": {}}', "`version` is missing: give it"),
        ('{"destroy": {}}', "There are say, approve"),
        ("approve", "A command is written"),
    ):
        with pytest.raises(Declined, match=why):
            await publish.send_command(settings, command, session_id=session_id)
    assert await publish.send_command(settings, approve(2, reviewed.plan.hash), session_id=session_id, user="ann") == 0
    assert capsys.readouterr().out == f"stored plan.approved as version 3 of {session_id}\n"
    [*_, event] = await InMemoryStore(bus.log).events(session_id)
    assert (event.type, event.actor) == ("plan.approved", "user:ann")
    assert (await loaded(bus, session_id)).phase == "coding"


async def test_a_command_to_a_session_of_a_newer_release_is_refused(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    newer = json.loads(dump_event(rename(session_id, 1))) | {"needs": 99}
    await publish.publish_bytes(settings, f"session.{session_id}.nobody.{newer['type']}", json.dumps(newer).encode())
    with pytest.raises(Declined, match="A newer release of Parley has continued"):
        await publish.send_command(settings, '{"stop": {}}', session_id=session_id)


async def test_an_event_that_readers_would_reject_is_not_published(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    story = Story(session_id, log=bus.log)
    await story.commit(c.Say(text="A calculator"), c.DraftPlan(goal="Add", steps=(Step(text="add"),)))
    fields = {"id": "x", "session_id": session_id, "version": 3, "at": AT, "actor": "user:ann", "plan_version": 2}
    with pytest.raises(Declined, match="hash is not that of plan 2"):
        await publish.publish_event(
            settings, dump_event(facts.PlanApproved.model_validate(fields | {"hash": "deadbeef"}))
        )
    assert (await loaded(bus, session_id)).version == 2


async def test_raw_bytes_are_stored_without_a_guard_and_skipped_by_readers(
    settings: Settings, bus: Bus, session_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await begin(settings, session_id)
    assert await publish.publish_bytes(settings, f"session.{session_id}.nobody.x", b"garbage") == 0
    assert "No guard" in capsys.readouterr().err
    with pytest.raises(Declined, match="no stream"):
        await publish.publish_bytes(settings, "nowhere.x", b"garbage")
    # The guard of the next event counts the garbage, which moved the session's last position.
    assert await publish.publish_event(settings, b"\xef\xbb\xbf" + dump_event(rename(session_id, 2))) == 0
    assert (await loaded(bus, session_id)).title == "Mine"


class WatchedOutput(io.StringIO):
    """A stdout that lets a test wait for a line."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = asyncio.Event()

    def write(self, text: str) -> int:
        self._changed.set()
        return super().write(text)

    async def wait_for(self, text: str) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while text not in self.getvalue():
                self._changed.clear()
                await self._changed.wait()


async def test_tail_prints_the_journal_and_then_new_events_each_once(
    settings: Settings, store: None, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begin(settings, session_id)
    out = WatchedOutput()
    monkeypatch.setattr(sys, "stdout", out)
    running = asyncio.create_task(tail.tail(settings, session_id, as_json=True))
    await out.wait_for("message.received")
    await publish.publish_event(settings, dump_event(rename(session_id, 2)))
    await out.wait_for("session.renamed")
    await publish.publish_bytes(settings, f"session.{session_id}.nobody.x", b"garbage")
    await publish.publish_event(settings, dump_event(rename(session_id, 3, "Last")))
    await out.wait_for("Last")
    running.cancel()
    lines = [json.loads(line) for line in out.getvalue().splitlines() if line.startswith("{")]
    assert [line["version"] for line in lines] == [1, 2, 3]


async def test_tail_of_an_unknown_session_is_refused(settings: Settings, store: None) -> None:
    with pytest.raises(Declined, match="There is no session nope: `parley sessions` lists those there are"):
        await tail.tail(settings, "nope", follow=False)
    await begin(settings, "known")
    assert await tail.tail(settings, "known", follow=False) == 0


async def test_tail_reads_events_that_the_feed_missed_from_the_journal(
    bus: Bus, settings: Settings, store: None, session_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await begin(settings, session_id)
    printer = tail.Printer(as_json=False)
    printer.print_event(
        facts.MessageReceived(id="a", session_id=session_id, version=1, at=AT, actor="user:ann", text="hi\x1b[2J")
    )
    for version in (2, 3):
        await publish.publish_event(settings, dump_event(rename(session_id, version, f"title {version}")))
    capsys.readouterr()
    await tail._print_message(
        bus, printer, f"feed.{session_id}.nobody.session.renamed", dump_event(rename(session_id, 3, "title 3"))
    )
    await tail._print_message(bus, printer, f"feed.{session_id}.nobody.x", b"garbage\x1b")
    lines = capsys.readouterr().out.splitlines()
    assert ["title 2" in lines[0], "title 3" in lines[1], "unreadable" in lines[2], len(lines)] == [True, True, True, 3]
    assert "\x1b" not in "".join(lines)


async def test_sessions_are_listed_shown_and_purged_after_confirmation(
    settings: Settings, store: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await begin(settings, "s1")
    assert await sessions.list_sessions(settings) == 0
    out = capsys.readouterr().out
    assert "Prime<U+001B> numbers" in out
    assert await sessions.list_sessions(settings, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 1
    assert await sessions.show_session(settings, "s1") == 0
    assert "A calculator" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(Declined, match="--yes"):
        await sessions.purge_session(settings, "s1")
    with pytest.raises(Declined, match="The planner is at work"):
        await sessions.purge_session(settings, "s1", yes=True)


async def test_dead_letters_are_listed_with_advice(
    settings: Settings, store: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await dead.dead(settings) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "after a fix: parley dead --retry s1 To dismiss it: parley dead --dismiss SESSIONS#9" in out
    assert "No session waits for it. To dismiss it: parley dead --dismiss SESSIONS#10" in out
    assert "does not wait for it (it is resting). To dismiss it: parley dead --dismiss SESSIONS#11" in out
    assert out.count("--retry") == 1
    assert "unreadable: no" in out
    assert "blocks nothing. To dismiss it: parley dead --dismiss SESSIONS#7" in out
    assert await dead.dead(settings, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["dead_total"] == 3


async def test_a_retry_that_is_not_possible_is_refused_with_the_reason(
    settings: Settings, bus: Bus, session_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cli.operate.dead.PlanStoreClient", lambda bus: InMemoryStore(bus.log))
    with pytest.raises(Declined, match=r"There is no session zzz, so there is nothing to retry\. `parley dead` lists"):
        await dead.retry(settings, "zzz")
    await begin(settings, session_id)
    with pytest.raises(
        Declined, match=rf"nothing to retry\. Session {session_id} is planning: only a failed or stopped"
    ):
        await dead.retry(settings, session_id)
    await Story(session_id, log=bus.log).commit(c.Fail(reason="The planner gave the work up."))
    assert await dead.retry(settings, session_id) == 0
    assert capsys.readouterr().out.endswith(f"{session_id} tries again: version 3.\n")
    with pytest.raises(Declined, match="take its name from `parley dead`, like SESSIONS#12"):
        await dead.dismiss(settings, session_id)


async def test_a_missing_consumer_is_reported_and_restored(
    settings: Settings, bus: Bus, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await provision(settings, check=True) == 0
    await bus.client.jetstream().delete_consumer("SESSIONS", "planner")
    assert await provision(settings, check=True) == 1
    assert "SESSIONS/planner: missing" in capsys.readouterr().out
    assert await provision(settings) == 0
    assert await provision(settings, check=True) == 0


async def test_an_unreachable_plan_store_is_reported(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.talk.sessions.PlanStoreClient", lambda bus: PlanStoreClient(bus, wait=0.1))
    with pytest.raises(Unreachable, match="plan_store service"):
        await sessions.list_sessions(settings)
