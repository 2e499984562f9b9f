"""The invariants of the chaos suite see what they are there to see: each with evidence that holds, and with broken."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chaos.accounts import Served
from chaos.evidence import Acknowledged, Effect, Evidence, Left, Rows
from chaos.invariants import Verdict, judge
from chaos.process import Exit
from chaos.recorder import Shown
from parley.events import dump_event
from parley.events.values import ActionSpec, ModelCall, SessionSettings
from shared.domain import commands as c
from shared.log import EXPECTED, MESSAGE_ID, StoredMessage, guard, subject_of
from shared.story import Story, finish

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
GRACE = 5.0
CANCEL, NOTE = "cancel_pending_order", "trial.note"
KEY = "s1/1/1.1/1"
ACTIONS = (
    ActionSpec(id="1.1", tool=CANCEL, arguments={"order_id": "#W1"}, effect="write"),
    ActionSpec(id="1.2", tool=NOTE, arguments={"text": "hello"}, effect="write"),
)
ALL = ("I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9", "I10")


CALL = ModelCall(
    model="m", role="planner", prompt_tokens=10, cached_tokens=0, completion_tokens=4, cost=0, latency=1, attempt=1
)


class Life(Story):
    """One session by the domain's own rules, and the log that it leaves."""

    @property
    def raws(self) -> list[StoredMessage]:
        return [
            StoredMessage(
                at + 1, subject_of(one.event, one.due), guard(self.id, at, one.event.id), dump_event(one.event), NOON
            )
            for at, one in enumerate(self.transitions)
        ]

    @property
    def seen(self) -> list[dict[str, Any]]:
        return [event.model_dump(mode="json", by_alias=True) for event in self.events]


def acted(*, note_known: bool = True) -> Life:
    """A request with a keyed write and one without a key; of the latter it may be unknown what happened."""
    life = Life()
    settings = SessionSettings(approval="never")
    life.apply(c.Say(text="Cancel it, and note it", workflow="agentflow", settings=settings))
    life.apply(c.PlanTurn(sub_goal="Do both", actions=ACTIONS, final=True), usage=(CALL,))
    life.apply(c.Start())
    life.apply(finish(action_id="1.1", ok=True, result="cancelled"))
    if note_known:
        life.apply(finish(action_id="1.2", ok=True, result="noted"))
        life.apply(c.VerifyTurn(status="success", next_action="complete"))
        life.apply(c.GiveAnswer(text="Done.", confidence=1.0))
    else:
        life.apply(c.Uncertain(action_id="1.2", reason="the executor was ended while it ran"))
        life.apply(c.Stop())
    return life


EFFECT = Effect("shared", KEY, CANCEL, {"order_id": "#W1"}, "cancelled")
ROWS: Rows = {"sessions": [("s1", 7), ("s2", 3)], "journal": [("s1", 1, {"a": 1})]}


def evidence(life: Life | None = None) -> Evidence:
    """Of a run in which all was well, with something for every invariant to look at."""
    life = life or acted()
    return Evidence(
        log={"s1": life.raws},
        shown=[Shown("s1", 0, life.seen[:4]), Shown("s1", 2, life.seen[2:])],
        acknowledged=[Acknowledged("s1", "cmd-1", 1)],
        left=[Left("s1", "notes", "answered")],
        rows=ROWS,
        folded=ROWS,
        effects=[EFFECT],
        worlds={"shared": {"orders/#W1": {"status": "cancelled"}}},
        replayed={"shared": {"orders/#W1": {"status": "cancelled"}}},
        notes={"hello": 1},
        served=[Served("planner", "ok", (10, 4))],
        exits=[Exit("planner-1", 0, "SIGTERM", 2.0), Exit("planner-1", -9, "SIGKILL", 0.1)],
        waiting={"planner": 0},
    )


def verdicts(found: Evidence) -> dict[str, Verdict]:
    return {verdict.name: verdict for verdict in judge(found, grace=GRACE)}


def broken(found: Evidence) -> set[str]:
    return {name for name, verdict in verdicts(found).items() if verdict.violations}


def test_all_hold_and_all_were_checked() -> None:
    found = verdicts(evidence())
    assert tuple(found) == ALL
    assert {name: verdict.violations for name, verdict in found.items()} == dict.fromkeys(ALL, ())
    assert all(verdict.checked for verdict in found.values())


def test_where_there_is_nothing_nothing_is_proved() -> None:
    assert [verdict.checked for verdict in judge(Evidence(), grace=GRACE)] == [0] * len(ALL)


def test_what_nobody_can_tell_is_counted() -> None:
    for times, word in ((1, "done"), (0, "not done")):
        found = replace(evidence(acted(note_known=False)), notes={"hello": times})
        assert broken(found) == set()
        assert f"1 uncertain, {word}" in verdicts(found)["I4"].noted


def ended(*outcomes: c.Finish | c.Uncertain | c.LoseResult) -> Life:
    """The same request, where the two writes came to this."""
    life = Life()
    life.apply(c.Say(text="Both", workflow="agentflow", settings=SessionSettings(approval="never")))
    life.apply(c.PlanTurn(sub_goal="Do both", actions=ACTIONS, final=True), usage=(CALL,))
    life.apply(c.Start())
    for outcome in outcomes:
        life.apply(outcome)
    life.apply(c.Stop())
    return life


def given_up(*outcomes: c.Finish) -> Life:
    """The keyed write was under way when the session was stopped, and its executor killed."""
    life = ended(*outcomes)
    life.apply(c.Uncertain(action_id="1.1", reason="its executor ended"))
    return life


DONE = finish(action_id="1.1", ok=True, result="cancelled")


def test_what_a_write_came_to_is_what_is_told() -> None:
    """A store that does a thing again says that it is done already: its state alone shows nothing."""
    noted = finish(action_id="1.2", ok=True, result="noted")
    refused = finish(action_id="1.1", ok=False, error="Error: it is cancelled already")
    away = finish(action_id="1.2", ok=False, error="There is no tool.")
    lost = c.Uncertain(action_id="1.1", reason="the executor was ended while it ran")
    assert broken(evidence(ended(DONE, noted))) == set()
    assert broken(evidence(ended(refused, noted))) == {"I4"}, "it took effect, and is told as failed"
    assert broken(evidence(ended(lost, noted))) == {"I4"}, "it knows its key: it can be told"
    assert broken(evidence(given_up(noted))) == set(), "its executor was gone, and the session stopped"
    assert broken(evidence(ended(DONE, away))) == {"I4"}, "it was noted, and is told as failed"
    assert broken(replace(evidence(ended(DONE, noted)), notes={"hello": 2})) == {"I4"}
    assert broken(replace(evidence(ended(DONE, noted)), answers={KEY: "cancelled"})) == set()
    assert broken(replace(evidence(ended(DONE, noted)), answers={KEY: "another"})) == {"I4"}


def test_what_is_started_comes_to_an_end() -> None:
    large = finish("1.1", ok=True, result="cancelled", size=60_000)
    noted = finish("1.2", ok=True, result="noted")
    assert broken(evidence(ended(DONE))) == {"I9"}, "the note has no outcome"
    assert broken(evidence(ended(large, noted))) == {"I9"}, "the result is neither stored nor lost"
    assert broken(evidence(ended(large, c.LoseResult(action_id="1.1", reason="no room"), noted))) == set()


def test_lost_work_is_no_end() -> None:
    life = Life()
    life.apply(c.Say(text="Write a calculator"))
    life.apply(c.Fail(reason="The planner lost the work: nothing came of it."), usage=(CALL,))
    found = replace(evidence(life), shown=[Shown("s1", 0, life.seen)], effects=[], worlds={}, replayed={}, notes={})
    assert broken(found) == {"I5"}


def test_what_a_stranger_overtook_is_counted_and_was_made_again() -> None:
    found = replace(log_with(overtaken)(evidence()), poison=frozenset({90}), clustered=True)
    assert broken(found) == set()
    assert verdicts(found)["I2"].noted == ("1 overtaken by a stranger",)
    assert broken(replace(found, clustered=False)) == {"I2"}, "a single server lets nothing pass"
    assert broken(replace(found, poison=frozenset())) == {"I2"}, "nor does Parley write without a guard"
    assert broken(log_with(lambda raws: raws[:-1])(found)) == {"I1", "I5"}, "it was not made again"


Change = Callable[[Evidence], Evidence]


def log_with(change: Callable[[list[StoredMessage]], list[StoredMessage]]) -> Change:
    return lambda found: replace(found, log={"s1": change(list(found.log["s1"]))})


def shown_with(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Change:
    return lambda found: replace(found, shown=[Shown("s1", 0, change(list(found.shown[0].events)))])


def headed(raw: StoredMessage, **headers: str) -> StoredMessage:
    return raw._replace(headers={**raw.headers, **headers})


def guarded(raws: list[StoredMessage], at: int, expected: str | None) -> list[StoredMessage]:
    """The message at this place says that it follows another position, or nothing at all."""
    others = {name: value for name, value in raws[at].headers.items() if name != EXPECTED}
    raws[at] = raws[at]._replace(headers=others | ({EXPECTED: expected} if expected else {}))
    return raws


def fork(raws: list[StoredMessage]) -> list[StoredMessage]:
    """A second writer stored another event on the same position, because its guard had another filter."""
    twin = json.loads(raws[3].data) | {"id": "s1:twin", "at": "2031-01-01T00:00:00Z"}
    headers = {**raws[3].headers, MESSAGE_ID: f"s1:twin@{raws[3].headers[EXPECTED]}"}
    return [*raws, StoredMessage(90, raws[3].subject, headers, json.dumps(twin).encode(), NOON)]


def stored_twice(raws: list[StoredMessage]) -> list[StoredMessage]:
    """The broker forgot the id, and the guard did not hold: the last event once more, as the next version."""
    again = json.loads(raws[0].data) | {"version": 8, "intent": "request"}
    following = guard("s1", raws[-1].position, again["id"])
    return [*raws, StoredMessage(91, raws[0].subject, following, json.dumps(again).encode(), NOON)]


def overtaken(raws: list[StoredMessage]) -> list[StoredMessage]:
    """A stranger's message came before the last append, which a cluster stored all the same; it was made again."""
    *_, last = raws
    stranger = StoredMessage(90, "session.s1.nobody.session.stopped", {}, b"{}", NOON)
    again = headed(last, **guard("s1", 91, json.loads(last.data)["id"]))._replace(position=92)
    return [*raws[:-1], stranger, last._replace(position=91), again]


def changed(events: list[dict[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    return [*events[:-1], events[-1] | fields]


def effects(*found: Effect, **more: Any) -> Change:
    return lambda before: replace(before, effects=found, **more)


def row(table: str, *values: Any) -> Change:
    return lambda found: replace(found, rows=dict(found.rows) | {table: [*found.rows[table], values]})


def exited(code: int, asked: str, seconds: float) -> Change:
    return lambda found: replace(found, exits=[Exit("planner-1", code, asked, seconds)])


BROKEN: list[tuple[str, str, Change]] = [
    ("I1", "the last event is gone", log_with(lambda raws: raws[:-1])),
    ("I1", "it was shown otherwise", shown_with(lambda events: changed(events, at="2031-01-01T00:00:00Z"))),
    ("I1", "acknowledged, never stored", lambda e: replace(e, acknowledged=[Acknowledged("s1", "c9", 7)])),
    ("I2", "one in the middle is gone", log_with(lambda raws: [*raws[:2], *raws[3:]])),
    ("I2", "an unguarded write", log_with(lambda raws: guarded(raws, 3, None))),
    ("I2", "a guard of another position", log_with(lambda raws: guarded(raws, 3, "77"))),
    ("I2", "a fork", log_with(fork)),
    ("I3", "an event twice", log_with(stored_twice)),
    ("I3", "another id in its header", log_with(lambda raws: [headed(raws[0], **{MESSAGE_ID: "x"}), *raws[1:]])),
    ("I4", "done without a start", effects(EFFECT, replace(EFFECT, key="s1/9/9.1"))),
    ("I4", "told as done, not done", effects()),
    ("I4", "came to something else", effects(replace(EFFECT, result="refunded twice"))),
    ("I4", "the store was changed twice", effects(EFFECT, worlds={"shared": {"orders/#W1": {"status": "gone"}}})),
    ("I4", "noted twice", lambda e: replace(e, notes={"hello": 2})),
    ("I4", "told as noted, never noted", lambda e: replace(e, notes={})),
    ("I5", "work goes on for ever", log_with(lambda raws: raws[:-1])),
    ("I5", "its person still waits", lambda e: replace(e, left=[Left("s1", "notes", "")])),
    ("I5", "the session is nowhere", lambda e: replace(e, left=[Left("s2", "notes", "answered")])),
    ("I5", "a message is never taken", lambda e: replace(e, waiting={"planner": 1})),
    ("I6", "a row too many", row("sessions", "s3", 1)),
    ("I6", "a row twice", row("journal", "s1", 1, {"a": 1})),
    ("I6", "a row differs", lambda e: replace(e, rows={**e.rows, "journal": [("s1", 1, {"a": 2})]})),
    ("I6", "a table is empty", lambda e: replace(e, rows={**e.rows, "sessions": []})),
    ("I7", "one left out", shown_with(lambda events: [*events[:1], *events[2:]])),
    ("I7", "one twice", shown_with(lambda events: [*events, events[-1]])),
    ("I7", "two the other way round", shown_with(lambda events: [events[1], events[0], *events[2:]])),
    ("I7", "not from where it resumed", lambda e: replace(e, shown=[Shown("s1", 1, list(e.shown[1].events))])),
    ("I8", "too late", exited(0, "SIGTERM", GRACE + 5.1)),
    ("I8", "it failed while leaving", exited(1, "SIGTERM", 1.0)),
    ("I8", "it ended by itself", exited(77, "", 0.0)),
    ("I10", "served, not accounted for", lambda e: replace(e, served=[*e.served, *e.served])),
    ("I10", "accounted for, not served", lambda e: replace(e, served=[])),
]


@pytest.mark.parametrize(("name", "what", "change"), BROKEN, ids=[f"{name} {what}" for name, what, _ in BROKEN])
def test_it_sees_what_is_broken(name: str, what: str, change: Change) -> None:
    assert name in broken(change(evidence())), what


def test_what_the_suite_itself_put_there_is_no_break_of_the_chain() -> None:
    stranger = StoredMessage(4, "session.s1.planner.message.received", {}, b"{", NOON)

    def between(raws: list[StoredMessage]) -> list[StoredMessage]:
        late = [raw._replace(position=raw.position + 1) for raw in raws[3:]]
        later = [headed(raw, **guard("s1", raw.position - 1, json.loads(raw.data)["id"])) for raw in late]
        return [*raws[:3], stranger, *later]

    found = log_with(between)(evidence())
    assert broken(found) == {"I2"}
    assert broken(replace(found, poison=frozenset({4}))) == set()


def test_a_machine_that_does_something_else_is_allowed_for() -> None:
    late = exited(0, "SIGTERM", GRACE + 6.0)(evidence())
    assert broken(late) == {"I8"}
    assert broken(replace(late, exits=[one._replace(late=2.0) for one in late.exits])) == set()
    assert broken(replace(late, exits=[one._replace(starved=2.0) for one in late.exits])) == set()
    assert broken(replace(late, exits=[one._replace(crowd=2.0) for one in late.exits])) == set()
    very_late = exited(0, "SIGTERM", 20.0)(evidence())
    assert broken(replace(very_late, exits=[one._replace(crowd=9.0) for one in very_late.exits])) == {"I8"}
