"""Each invariant of the chaos suite holds for the evidence of a correct run and detects broken evidence."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chaos.evidence import AcknowledgedCommand, Effect, Evidence, Rows, UserOutcome
from chaos.invariant_check import InvariantCheck
from chaos.invariants import check_invariants
from chaos.model_usage import ServedRequest
from chaos.process import ProcessExit
from chaos.reconnecting_client import SocketRecord
from parley.events import dump_event
from parley.events.values import ActionSpec, ModelCall, SessionSettings, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import undecided_actions
from shared.log import EXPECTED_SEQUENCE, MESSAGE_ID, StoredMessage, guard_headers, subject_of
from shared.story import Story, finish_action

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
GRACE = 5.0
CANCEL, NOTE = "cancel_pending_order", "trial.note"
KEY = "s1/1/1.1/1"
ACTIONS = (
    ActionSpec(id="1.1", tool=CANCEL, arguments={"order_id": "#W1"}, effect="write"),
    ActionSpec(id="1.2", tool=NOTE, arguments={"text": "hello"}, effect="write"),
)
ALL = tuple(f"I{number}" for number in range(1, 13))


CALL = ModelCall(
    model="m", role="planner", prompt_tokens=10, cached_tokens=0, completion_tokens=4, cost=0, latency=1, attempt=1
)


class RecordedSession(Story):
    """A session that the domain's rules have run, with its log and the events that a client received."""

    @property
    def stored_messages(self) -> list[StoredMessage]:
        return [
            StoredMessage(
                index + 1,
                subject_of(transition.event, transition.due),
                guard_headers(self.id, index, transition.event.id),
                dump_event(transition.event),
                NOON,
            )
            for index, transition in enumerate(self.transitions)
        ]

    @property
    def shown_events(self) -> list[dict[str, Any]]:
        return [event.model_dump(mode="json", by_alias=True) for event in self.events]


def recorded_session(*, is_note_known: bool = True) -> RecordedSession:
    """A session with two writes: one has a key; the other has none, so its outcome may be uncertain."""
    session = RecordedSession()
    settings = SessionSettings(approval="never")
    session.apply(c.Say(text="Cancel it, and note it", workflow="agentflow", settings=settings))
    session.apply(c.PlanTurn(sub_goal="Do both", actions=ACTIONS, final=True), usage=(CALL,))
    session.apply(c.Start())
    session.apply(finish_action(action_id="1.1", ok=True, result="cancelled"))
    if is_note_known:
        session.apply(finish_action(action_id="1.2", ok=True, result="noted"))
        session.apply(c.VerifyTurn(status="success", next_action="complete"))
        session.apply(c.GiveAnswer(text="Done.", confidence=1.0))
    else:
        session.apply(c.ReportUncertain(action_id="1.2", reason="the executor was ended while it ran"))
        session.apply(c.Stop())
    return session


EFFECT = Effect("shared", KEY, CANCEL, {"order_id": "#W1"}, "cancelled")
ROWS: Rows = {"sessions": [("s1", 7), ("s2", 3)], "journal": [("s1", 1, {"a": 1})]}


def evidence(session: RecordedSession | None = None) -> Evidence:
    """Evidence of a correct run, with something for every invariant to check."""
    session = session or recorded_session()
    return Evidence(
        log={"s1": session.stored_messages},
        socket_records=[
            SocketRecord("s1", 0, session.shown_events[:4]),
            SocketRecord("s1", 2, session.shown_events[2:]),
        ],
        acknowledged=[AcknowledgedCommand("s1", "cmd-1", 1)],
        user_outcomes=[UserOutcome("s1", "notes", "answered")],
        rows=ROWS,
        rebuilt_rows=ROWS,
        effects=[EFFECT],
        worlds={"shared": {"orders/#W1": {"status": "cancelled"}}},
        replayed_worlds={"shared": {"orders/#W1": {"status": "cancelled"}}},
        notes={"hello": 1},
        served_requests=[ServedRequest("planner", "ok", (10, 4))],
        exits=[ProcessExit("planner-1", 0, "SIGTERM", 2.0), ProcessExit("planner-1", -9, "SIGKILL", 0.1)],
        outstanding={"planner": 0},
    )


def results(run: Evidence) -> dict[str, InvariantCheck]:
    return {result.name: result for result in check_invariants(run, grace=GRACE)}


def violated(run: Evidence) -> set[str]:
    return {name for name, result in results(run).items() if result.violations}


def test_all_invariants_are_checked_and_hold() -> None:
    run = results(evidence())
    assert tuple(run) == ALL
    assert {name: result.violations for name, result in run.items()} == {name: [] for name in ALL}
    assert all(result.checked for result in run.values())


def test_an_uncertain_write_may_be_done_or_not_and_is_counted() -> None:
    for times, word in ((1, "done"), (0, "not done")):
        run = replace(evidence(recorded_session(is_note_known=False)), notes={"hello": times})
        assert violated(run) == set()
        assert results(run)["I4"].notes[f"uncertain, {word}"] == 1


def session_that_repeats_an_uncertain_step(*, leaves_out: bool = False) -> RecordedSession:
    """The note's outcome is uncertain. The user approves a new version of the plan, which writes the note again."""
    session = RecordedSession()
    note = Step(text="Note it", tool=NOTE, id="s1", effect="write", arguments={"text": "hello"})
    look = Step(text="Look", tool="look", id="s2", effect="read")
    session.apply(c.Say(text="Note it", workflow="execution_plan", settings=SessionSettings(approval="never")))
    session.apply(c.DraftPlan(goal="Note it", steps=(note,), kind="execution"), usage=(CALL,))
    approve_plan(session)
    session.apply(c.Start())
    session.apply(c.ReportUncertain(action_id="t2.s1", reason="the executor was ended while it ran"))
    session.apply(c.EditPlan(base=2, steps=(note, look)))
    approve_plan(session)
    if leaves_out:
        session.apply(c.Skip(action_id="t2.s1"))
        return session
    (action,) = undecided_actions(session.session.turn)
    session.apply(c.Approve(version=session.session.version, action_id="t2.s1", hash=action.hash))
    for step in ("t2.s2", "t2.s1"):  # the read comes first
        session.apply(c.Start())
        session.apply(finish_action(action_id=step, ok=True, result="noted"))
    return session


def approve_plan(session: RecordedSession) -> None:
    assert session.session.plan
    session.apply(c.Approve(version=session.session.plan.version, hash=session.session.plan.hash))


def test_an_uncertain_note_that_is_repeated_may_be_written_once_or_twice() -> None:
    session = session_that_repeats_an_uncertain_step()
    for times, broken in ((0, True), (1, False), (2, False), (3, True)):
        run = replace(evidence(session), effects=[], worlds={}, replayed_worlds={}, notes={"hello": times})
        assert ("I4" in violated(run)) == broken, times


def stopped_session(*outcomes: c.Finish | c.ReportUncertain | c.LoseResult) -> RecordedSession:
    """A session with both writes, which is stopped after these outcomes."""
    session = RecordedSession()
    session.apply(c.Say(text="Both", workflow="agentflow", settings=SessionSettings(approval="never")))
    session.apply(c.PlanTurn(sub_goal="Do both", actions=ACTIONS, final=True), usage=(CALL,))
    session.apply(c.Start())
    for outcome in outcomes:
        session.apply(outcome)
    session.apply(c.Stop())
    return session


def uncertain_after_stop(*outcomes: c.Finish) -> RecordedSession:
    """A session that was stopped while the keyed write ran; then its executor was killed."""
    session = stopped_session(*outcomes)
    session.apply(c.ReportUncertain(action_id="1.1", reason="its executor ended"))
    return session


DONE = finish_action(action_id="1.1", ok=True, result="cancelled")


def test_a_recorded_outcome_that_differs_from_the_effect_is_a_violation() -> None:
    """The retail store refuses a repeated write, so its state alone does not show that a write was repeated."""
    noted = finish_action(action_id="1.2", ok=True, result="noted")
    refused = finish_action(action_id="1.1", ok=False, error="Error: it is cancelled already")
    missing_tool = finish_action(action_id="1.2", ok=False, error="There is no tool.")
    lost = c.ReportUncertain(action_id="1.1", reason="the executor was ended while it ran")
    assert violated(evidence(stopped_session(DONE, noted))) == set()
    assert violated(evidence(stopped_session(refused, noted))) == {"I4"}, "it took effect, and is recorded as failed"
    assert violated(evidence(stopped_session(lost, noted))) == {"I4"}, "its key makes the outcome known"
    assert violated(evidence(uncertain_after_stop(noted))) == set(), "its executor was killed, and the session stopped"
    assert violated(evidence(stopped_session(DONE, missing_tool))) == {"I4"}, "it was noted, and is recorded as failed"
    assert violated(replace(evidence(stopped_session(DONE, noted)), notes={"hello": 2})) == {"I4"}
    assert violated(replace(evidence(stopped_session(DONE, noted)), replayed_results={KEY: "cancelled"})) == set()
    assert violated(replace(evidence(stopped_session(DONE, noted)), replayed_results={KEY: "another"})) == {"I4"}


def test_a_started_action_without_an_outcome_is_a_violation() -> None:
    large = finish_action("1.1", ok=True, result="cancelled", size=60_000)
    noted = finish_action("1.2", ok=True, result="noted")
    assert violated(evidence(stopped_session(DONE))) == {"I9"}, "the note has no outcome"
    assert violated(evidence(stopped_session(large, noted))) == {"I9"}, "the result is neither stored nor lost"
    assert violated(evidence(stopped_session(large, c.LoseResult(action_id="1.1", reason="no room"), noted))) == set()


def test_lost_work_is_a_violation() -> None:
    session = RecordedSession()
    session.apply(c.Say(text="Write a calculator"))
    session.apply(c.Fail(reason="The planner lost the work: nothing came of it."), usage=(CALL,))
    run = replace(
        evidence(session),
        socket_records=[SocketRecord("s1", 0, session.shown_events)],
        effects=[],
        worlds={},
        replayed_worlds={},
        notes={},
    )
    assert violated(run) == {"I5"}


def test_an_append_that_lost_to_an_outsiders_message_must_be_repeated() -> None:
    run = replace(log_with(overtaken)(evidence()), poison_positions=frozenset({90}), is_clustered=True)
    assert violated(run) == set()
    assert results(run)["I2"].notes == {"overtaken by a stranger": 1}
    assert violated(replace(run, is_clustered=False)) == {"I2"}, "a single server stores no such message"
    assert violated(replace(run, poison_positions=frozenset())) == {"I2"}, "Parley itself never appends without a guard"
    assert violated(log_with(lambda messages: messages[:-1])(run)) == {"I1", "I5"}, "it was not appended again"


Change = Callable[[Evidence], Evidence]


def log_with(change: Callable[[list[StoredMessage]], list[StoredMessage]]) -> Change:
    return lambda run: replace(run, log={"s1": change(list(run.log["s1"]))})


def shown_with(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Change:
    return lambda run: replace(run, socket_records=[SocketRecord("s1", 0, change(list(run.socket_records[0].events)))])


def headed(message: StoredMessage, **headers: str) -> StoredMessage:
    return message._replace(headers={**message.headers, **headers})


def guarded(messages: list[StoredMessage], at: int, expected: str | None) -> list[StoredMessage]:
    """The messages with another guard at this index, or with none."""
    others = {name: value for name, value in messages[at].headers.items() if name != EXPECTED_SEQUENCE}
    messages[at] = messages[at]._replace(headers=others | ({EXPECTED_SEQUENCE: expected} if expected else {}))
    return messages


def fork(messages: list[StoredMessage]) -> list[StoredMessage]:
    """Add another event with the same predecessor: a second writer's guard had another filter."""
    twin = json.loads(messages[3].data) | {"id": "s1:twin", "at": "2031-01-01T00:00:00Z"}
    headers = {**messages[3].headers, MESSAGE_ID: f"s1:twin@{messages[3].headers[EXPECTED_SEQUENCE]}"}
    return [*messages, StoredMessage(90, messages[3].subject, headers, json.dumps(twin).encode(), NOON)]


def stored_twice(messages: list[StoredMessage]) -> list[StoredMessage]:
    """Add the first event again as the next version, as if deduplication and guard had failed."""
    again = json.loads(messages[0].data) | {"version": 8, "intent": "request"}
    following = guard_headers("s1", messages[-1].position, again["id"])
    return [*messages, StoredMessage(91, messages[0].subject, following, json.dumps(again).encode(), NOON)]


def overtaken(messages: list[StoredMessage]) -> list[StoredMessage]:
    """Store an outsider's message before the last event, which is then appended again, as a cluster does."""
    *_, last = messages
    outsider = StoredMessage(90, "session.s1.nobody.session.stopped", {}, b"{}", NOON)
    again = headed(last, **guard_headers("s1", 91, json.loads(last.data)["id"]))._replace(position=92)
    return [*messages[:-1], outsider, last._replace(position=91), again]


def changed(events: list[dict[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    return [*events[:-1], events[-1] | fields]


def effects(*recorded: Effect, **more: Any) -> Change:
    return lambda run: replace(run, effects=recorded, **more)


def row(table: str, *values: Any) -> Change:
    return lambda run: replace(run, rows=dict(run.rows) | {table: [*run.rows[table], values]})


def exited(code: int, cause: str, seconds: float) -> Change:
    return lambda run: replace(run, exits=[ProcessExit("planner-1", code, cause, seconds)])


BROKEN: list[tuple[str, str, Change]] = [
    ("I1", "the last event is missing", log_with(lambda raws: raws[:-1])),
    ("I1", "an event was shown differently", shown_with(lambda events: changed(events, at="2031-01-01T00:00:00Z"))),
    (
        "I1",
        "an acknowledged command is missing",
        lambda e: replace(e, acknowledged=[AcknowledgedCommand("s1", "c9", 7)]),
    ),
    ("I2", "an event in the middle is missing", log_with(lambda raws: [*raws[:2], *raws[3:]])),
    ("I2", "an unguarded write", log_with(lambda raws: guarded(raws, 3, None))),
    ("I2", "a guard for another position", log_with(lambda raws: guarded(raws, 3, "77"))),
    ("I2", "a fork", log_with(fork)),
    ("I3", "an event is stored twice", log_with(stored_twice)),
    ("I3", "the header has another id", log_with(lambda raws: [headed(raws[0], **{MESSAGE_ID: "x"}), *raws[1:]])),
    ("I4", "an effect without a started action", effects(EFFECT, replace(EFFECT, key="s1/9/9.1"))),
    ("I4", "recorded as done but not done", effects()),
    ("I4", "the effect has another result", effects(replace(EFFECT, result="refunded twice"))),
    ("I4", "the store was changed twice", effects(EFFECT, worlds={"shared": {"orders/#W1": {"status": "gone"}}})),
    ("I4", "noted twice", lambda e: replace(e, notes={"hello": 2})),
    ("I4", "recorded as noted but not noted", lambda e: replace(e, notes={})),
    ("I5", "the work never ends", log_with(lambda raws: raws[:-1])),
    ("I5", "the user got no outcome", lambda e: replace(e, user_outcomes=[UserOutcome("s1", "notes", "")])),
    ("I5", "the session is missing", lambda e: replace(e, user_outcomes=[UserOutcome("s2", "notes", "answered")])),
    ("I5", "a message was never processed", lambda e: replace(e, outstanding={"planner": 1})),
    ("I6", "an additional row", row("sessions", "s3", 1)),
    ("I6", "a duplicate row", row("journal", "s1", 1, {"a": 1})),
    ("I6", "a row differs", lambda e: replace(e, rows={**e.rows, "journal": [("s1", 1, {"a": 2})]})),
    ("I6", "a table is empty", lambda e: replace(e, rows={**e.rows, "sessions": []})),
    ("I7", "an event was not shown", shown_with(lambda events: [*events[:1], *events[2:]])),
    ("I7", "an event was shown twice", shown_with(lambda events: [*events, events[-1]])),
    ("I7", "two events were shown in the wrong order", shown_with(lambda events: [events[1], events[0], *events[2:]])),
    (
        "I7",
        "the events do not begin where the socket resumed",
        lambda e: replace(e, socket_records=[SocketRecord("s1", 1, list(e.socket_records[1].events))]),
    ),
    ("I8", "the process ended too late", exited(0, "SIGTERM", GRACE + 5.1)),
    ("I8", "the process failed while it shut down", exited(1, "SIGTERM", 1.0)),
    ("I8", "the process ended by itself", exited(77, "", 0.0)),
    (
        "I10",
        "a served request is not recorded",
        lambda e: replace(e, served_requests=[*e.served_requests, *e.served_requests]),
    ),
    ("I10", "a recorded request was not served", lambda e: replace(e, served_requests=[])),
]


@pytest.mark.parametrize(("name", "fault", "change"), BROKEN, ids=[f"{name} {fault}" for name, fault, _ in BROKEN])
def test_broken_evidence_is_detected(name: str, fault: str, change: Change) -> None:
    assert name in violated(change(evidence())), fault


def test_a_malformed_message_is_allowed_only_if_the_suite_itself_published_it() -> None:
    outsider = StoredMessage(4, "session.s1.planner.message.received", {}, b"{", NOON)

    def between(messages: list[StoredMessage]) -> list[StoredMessage]:
        shifted = [message._replace(position=message.position + 1) for message in messages[3:]]
        later = [
            headed(message, **guard_headers("s1", message.position - 1, json.loads(message.data)["id"]))
            for message in shifted
        ]
        return [*messages[:3], outsider, *later]

    run = log_with(between)(evidence())
    assert violated(run) == {"I2"}
    assert violated(replace(run, poison_positions=frozenset({4}))) == set()
