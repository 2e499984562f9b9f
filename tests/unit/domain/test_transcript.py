"""The transcript: what each event adds to it, and how it is kept within its limits."""

import json
import re
from functools import reduce
from itertools import pairwise
from typing import Any

import pytest

from parley.events import SessionEvent, dump_event, parse_event
from parley.events.values import ActionSpec, Check, FurtherQuestion, Option, PathPlan, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.actors import KEEPER
from shared.domain.kernel.evolve import evolve, fold
from shared.domain.kernel.session import Session
from shared.domain.rules.admissible import admit
from shared.domain.transcript.compaction import BOUNDARY, CUT, cut, fitting, within
from shared.domain.transcript.dialogue import TranscriptEntry
from shared.domain.transcript.entries import MAX_BYTES, MAX_ENTRY
from shared.domain.transcript.queries import last_exchange, questions, said_since_request, said_with
from shared.story import finish_action
from tests.unit.domain.spec import (
    CHECKING,
    HAPPENED,
    RUN_CODE,
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    StoryLine,
    act,
    allow,
    answer,
    approve,
    checked,
    done,
    draft,
    edit,
    edit_code,
    feedback,
    given,
    new_request,
    program,
    reject,
    request,
    say,
    spend,
    story,
    turn,
    verdict,
)
from tests.unit.domain.test_execution_plan import CANCEL, DRAFTED, LOOK, finish_step, plan

ASKS = (request("agentflow"), turn(act("1.1", effect="write", ask="a write")))
STARTED = (request("agentflow"), turn(act("1.1", arguments={"order": "#W1"})), c.Start())
PATH = c.PlanTurn(
    sub_goal="walk",
    actions=(ActionSpec(id="1.1", tool="sql.look"), ActionSpec(id="1.2", tool="sql.run", depends_on=("1.1",))),
    reasoning="It is in the database.",
    path=PathPlan(nodes=("sql.look", "sql.run")),
)
DOUBT = c.ReportUncertain(action_id="1.1", reason="crashed")
RAN = {"exit_code": 1, "stdout": "3.5\n", "stderr": "warning\n"}


def added(*lines: StoryLine) -> tuple[str, str, Any] | None:
    """Who says what in which kind of entry, by the last of these lines; of a service's reply, the reply."""
    before = given(*lines[:-1]).session
    after = given(lines[-1], begin=before).session
    entries = after.transcript[len(before.transcript) :]
    assert {entry.version for entry in entries} <= {after.version}
    if not entries:
        return None
    (entry,) = entries
    return entry.by, entry.kind, json.loads(entry.text)["reply"] if entry.is_reply else entry.text


# --- what each event says


@pytest.mark.parametrize(
    ("lines", "by", "kind", "text"),
    [
        ((say("a calculator"),), "person", "request", "a calculator"),
        ((*TO_PLAN, say("why?")), "person", "message", "why?"),
        ((*TO_PLAN, feedback("shorter")), "person", "message", "shorter"),
        ((say(), say("quickly")), "person", "message", "quickly"),
        ((*TO_DONE, c.Continue(), say("a list")), "person", "request", "a list"),
        ((*TO_DONE, c.Continue(), c.Answer(text="a list")), "person", "request", "a list"),
        ((say(), c.Ask(text="?"), say("yes")), "person", "answered", "yes"),
        ((*TO_PLAN, approve), "person", "decision", "Approved plan 1."),
        ((*TO_PLAN, reject), "person", "decision", "Declined plan 1."),
        ((*TO_CODE, reject), "person", "decision", "Declined program 1."),
        ((*TO_PLAN, c.Reject(replan=True)), "person", "decision", "Declined plan 1: wants another one, from scratch."),
        ((*TO_CODE, edit_code("x = 2")), "person", "decision",
         "Edited the program; it is program 2 now. The person wrote line 1:\nx = 2"),
        ((*TO_CODE, approve), "person", "decision", "Approved program 1."),
        ((*TO_PLAN, c.CancelPlan()), "person", "decision", "Cancelled the plan."),
        ((*TO_PLAN, c.DeletePlan()), "person", "decision", "Deleted the plan."),
        ((*ASKS, allow("1.1")), "person", "decision", 'Approved 1.1 orders {"id": "1.1"}.'),
        ((*ASKS, c.Reject(action_id="1.1")), "person", "decision", 'Declined 1.1 orders {"id": "1.1"}.'),
        ((*ASKS, allow("1.1"), c.Start(), DOUBT, say(HAPPENED)), "person", "decision",
         'Told what became of 1.1 orders {"id": "1.1"}: It happened'),
        ((*TO_PLAN, c.Expire(requested_version=2)), "person", "decision", "Nobody decided in time."),
        ((*ASKS, c.Skip(action_id="1.1")), "person", "decision", "Left out 1.1. skipped by the person"),
        ((*TO_DONE, c.Run()), "person", "decision", "Asked for: run_code"),
        ((say(), c.Stop()), "person", "decision", "Stopped the work."),
        ((say(), c.Stop(reason="enough")), "person", "decision", "Stopped the work. enough"),
        ((say(), c.Stop(), c.Retry()), "person", "decision", "Asked to try again."),
        ((*STARTED, done(), verdict(), answer(), c.Judge(accepted=True)), "person", "decision", "Accepted the answer."),
        ((*CHECKING, checked(ok=False)), "tool", "verdict", "tests: 1 failed"),
        ((*CHECKING, checked()), "tool", "verdict", "tests: ok"),
        ((*STARTED, done()), "tool", "run", '1.1 orders {"order": "#W1"}\n{"found": true}'),
        ((*STARTED, done(ok=False)), "tool", "run", '1.1 orders {"order": "#W1"}\nfailed: no'),
        ((say(), c.Fail(reason="no model")), "tool", "run", "The planning failed: no model"),
        ((*STARTED, done(), verdict()), "verifier", "verdict", "success; complete. seen"),
        ((*TO_DONE, *RUN_CODE[:2], finish_action(action_id="1.1", ok=False, result=RAN, error="It failed.")),
         "tool", "run", '1.1 run_code {"stdin": "", "args": []}\nfailed: It failed.\nexit code 1\n3.5\nwarning'),
        ((*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1")),
         "tool", "run", 's1 get_order {"order": "#W1"}\n{"price": 20}'),
    ],
)  # fmt: skip
def test_what_a_person_a_tool_or_a_judge_adds(lines: tuple[StoryLine, ...], by: str, kind: str, text: str) -> None:
    assert added(*lines) == (by, kind, text)


CALL = {"call": {"tool": "orders", "id": "1.1"}}
OTHER_CALL = {"call": {"tool": "orders", "id": "2.1"}}


@pytest.mark.parametrize(
    ("lines", "by", "kind", "reply"),
    [
        ((say(), c.Ask(text="floats?", options=("yes", "no"))), "planner", "question",
         {"kind": "question", "text": "floats?", "options": ["yes", "no"]}),
        ((say(), draft("add", say="Here.", notes="small")), "planner", "draft",
         {"kind": "plan", "say": "Here.", "goal": "a calculator", "steps": CUT, "notes": "small"}),
        ((*TO_PLAN, approve, c.DraftCode(code="x", explanation="adds", say="Done.")), "generator", "draft",
         {"kind": "code", "say": "Done.", "explanation": "adds", "code": CUT}),
        ((request("agentflow"), turn(say="I look.")), "planner", "draft",
         {"kind": "turn", "say": "I look.", "sub_goal": "look at the order", "actions": [CALL]}),
        ((request("agentflow"), turn(nothing=True)), "planner", "draft",
         {"kind": "nothing_to_do", "reason": "Nothing is left to do."}),
        ((request("flow"), PATH), "planner", "draft",
         {"kind": "path", "reasoning": "It is in the database.", "paths": [{"flow": "sql", "nodes": ["look", "run"]}]}),
        ((*TO_PLAN, say("why?"), c.AnswerRemark(text="Because.")), "planner", "answer",
         {"kind": "answer", "text": "Because."}),
        ((*TO_CODE, say("why?"), c.AnswerRemark(text="Because.")), "generator", "answer",
         {"kind": "answer", "text": "Because."}),
        ((*STARTED, done(), verdict(), answer()), "generator", "answer", {"kind": "answer", "text": "It is done."}),
        ((*ASKS, say("no"), turn(act("2.1"), say="Rather so.")), "planner", "draft",
         {"kind": "turn", "say": "Rather so.", "sub_goal": "look at the order", "actions": [OTHER_CALL]}),
        ((*ASKS, say("no"), turn(nothing=True)), "planner", "draft",
         {"kind": "nothing_to_do", "reason": "Nothing is left to do."}),
    ],
)  # fmt: skip
def test_what_a_service_says_stands_as_its_reply(
    lines: tuple[StoryLine, ...], by: str, kind: str, reply: dict[str, Any]
) -> None:
    assert added(*lines) == (by, kind, reply)


@pytest.mark.parametrize(
    "lines",
    [
        (say(), spend()),
        (*TO_PLAN, c.Pause()),
        (*TO_PLAN, c.Rename(title="x")),
        (*TO_PLAN, c.Share(user="bob", role="viewer")),
        (*STARTED[:-1], c.Start()),
        (say(), c.Ask(text="more?", about="budget")),
        (say(), c.Ask(text="more?", about="budget"), c.RaiseBudget(tokens=9)),
        (*TO_DONE, c.Continue()),
        (say(), say("quickly"), draft()),  # nobody gets to see it: it is drafted again
        (*TO_PLAN, approve, say("floats"), program()),
        (request("agentflow"), say("#W2"), turn()),
    ],
)
def test_what_nobody_said_or_saw_is_not_in_it(lines: tuple[StoryLine, ...]) -> None:
    assert added(*lines) is None


def test_an_offer_and_what_became_of_it() -> None:
    offered = (*ASKS, say("only one"), turn(act("2.1", effect="write", ask="a write")))
    assert added(*offered, c.TakeOffer()) == ("person", "decision", "Took the offer.")
    left_out = (*ASKS, say("no"), turn(nothing=True), c.TakeOffer())
    assert added(*left_out) == ("person", "decision", "Took the offer. What waited is left out.")
    assert added(*offered, c.KeepOffer()) == (
        "person", "decision", "Kept what was there, and turned the offer down.")  # fmt: skip
    late = (*offered, say("yes"))
    assert added(*late, c.TakeOffer()) == ("person", "decision", "Took the offer.")  # although a message is unread


def test_questions_that_are_asked_together_and_their_answers() -> None:
    size = FurtherQuestion(text="Which size?", options=(Option(key="1", label="S"),), several=True)
    asked = (say(), c.Ask(text="Which colour?", further=(size, FurtherQuestion(text="When?"))))
    assert added(*asked) == ("planner", "question", {
        "kind": "question", "text": "Which colour?",
        "more": [{"text": "Which size?", "options": ["S"], "several": True}, {"text": "When?"}]})  # fmt: skip
    both = (*asked, c.Answer(text="red", more=("S",)))
    assert added(*both) == ("person", "answered", "Which colour? – red\nWhich size? – S")
    assert added(*both, say("today")) == ("person", "answered", "When? – today")
    assert questions(given(*both).session) == (("Which colour?", "Which size?", "When?"),)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (("add", "print", "divide"), "The person wrote step 3."),
        (("subtract", "print"), "The person wrote step 1. Before it said “add”."),
        (("subtract",), "The person wrote step 1. Before it said “add”, “print”."),
        (("add",), "Before it said “print”."),
    ],
)
def test_an_edit_tells_which_steps_are_the_persons(steps: tuple[str, ...], words: str) -> None:
    assert added(say(), draft("add", "print"), edit(*steps)) == (
        "person", "decision", f"Edited the plan; it is plan 2 now. {words}")  # fmt: skip


def test_what_a_person_changes_while_something_runs() -> None:
    rest = (ActionSpec(id="0", tool="sql.tell"),)
    assert added(request("flow"), PATH, c.EditPath(actions=rest)) == (
        "person", "decision", "Changed what comes next: sql.tell")  # fmt: skip
    skipped = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Skip(action_id="t2.s1", output={"found": 1}))
    assert added(*skipped) == (
        "person", "decision", 'Left out s1, and gave its output: {"found": 1}. the person gave its output instead'
    )  # fmt: skip
    assert added(*ASKS, allow("1.1"), c.Start(), DOUBT) == (
        "tool", "run", '1.1 orders {"id": "1.1"}\nuncertain: crashed')  # fmt: skip


def test_a_step_that_asks_is_no_service() -> None:
    ask = Step(text="Ask", tool="ask_person", id="s1", effect="read", waits_for="person")
    asked = (*DRAFTED, plan(ask), approve, c.Ask(text="Tea?", about="action", action_id="t2.s1"))
    assert added(*asked) == ("tool", "question", "Tea?")
    assert questions(given(*asked).session) == ()


def test_a_reply_that_the_keeper_gave_up_is_the_services() -> None:
    lost = given(*TO_PLAN, say("why?")).when(c.Fail(reason="lost"), KEEPER).then("remark.answered")
    assert (lost.session.transcript[-1].by, lost.session.transcript[-1].kind) == ("planner", "answer")


def test_a_verdict_on_what_went_as_planned_is_left_out() -> None:
    judged = c.VerifyTurn(status="success", next_action="continue", reasoning="Fine.", rule="all actions finished")
    assert added(*STARTED, done(), judged) is None


def test_the_words_of_a_denial_are_a_message() -> None:
    session = given(*ASKS, c.Reject(action_id="1.1", reason="only one")).session
    told = [(entry.by, entry.kind, entry.text) for entry in session.transcript[-2:]]
    assert told == [
        ("person", "decision", 'Declined 1.1 orders {"id": "1.1"}.'), ("person", "message", "only one")]  # fmt: skip


def test_several_outcomes_are_an_entry_each() -> None:
    both = c.Finish(outcomes=(*done("1.1").outcomes, *done("1.2").outcomes))
    session = given(request("agentflow"), turn(act("1.1"), act("1.2")), c.Start(), both).session
    assert [entry.text.split()[0] for entry in session.transcript if entry.kind == "run"] == ["1.1", "1.2"]


# --- what others read in it


def test_what_was_said_about_the_current_request_only() -> None:
    first = (request("agentflow"), c.Ask(text="Which?"), say("#W1"), turn(act("1.1")), c.Start(), done(), verdict())
    session = given(*first, answer("Found."), say("and #W2?")).session
    assert (questions(session), said_since_request(session)) == ((), ())  # the message begins the next request
    asked = given(c.Ask(text="Which?"), say("#W3"), begin=session).session
    assert (questions(asked), said_since_request(asked)) == ((("Which?",),), ("#W3",))
    assert last_exchange(asked) == "user: #W1\n\nassistant: Found."
    fresh = given(*first, answer("Found."), new_request("else")).session
    assert (questions(fresh), said_since_request(fresh)) == ((), ())
    assert last_exchange(given(*first).session) == ""


def test_what_a_service_said_with_a_draft() -> None:
    session = given(say(), draft("add", say="Here it is.")).session
    assert said_with(session.transcript, 2) == "Here it is."
    assert said_with(session.transcript, 1) == ""


# --- its limits


def entry(text: str, version: int = 1) -> TranscriptEntry:
    return TranscriptEntry(version, "person", "message", text)


def compactions(sessions: list[Session]) -> int:
    starts = [session.transcript[0].version for session in sessions]
    return sum(before != after for before, after in pairwise(starts))


def test_five_hundred_entries_stay_within_the_limit_and_are_left_out_in_steps() -> None:
    sessions = [given(say()).session]
    for number in range(500):
        words = f"{number} " + "one two three " * 80
        sessions.append(given(say(words), begin=sessions[-1]).session)
    sizes = [sum(entry.size for entry in session.transcript) for session in sessions]
    assert MAX_BYTES * 0.95 < max(sizes) <= MAX_BYTES
    assert 8 <= compactions(sessions) <= 12  # half of the limit each time
    for before, after in pairwise(sessions):
        kept = after.transcript[:-1]
        assert kept == before.transcript[len(before.transcript) - len(kept) :]
        assert after.transcript[-1].version == after.version
        left_out = len(kept) < len(before.transcript)
        assert not left_out or sum(entry.size for entry in after.transcript) <= MAX_BYTES // 2


def test_the_same_log_makes_the_same_transcript() -> None:
    talk = story()
    talk.apply(say(), *(say(f"{number} " + "x " * 4_000) for number in range(30)), draft("a"), draft("b"), approve)
    stored = [parse_event(dump_event(event)) for event in talk.events]
    assert fold(Session("s1"), stored).transcript == talk.session.transcript
    assert reduce(evolve, stored, Session("s1")).transcript == talk.session.transcript


def test_an_event_that_comes_again_adds_nothing() -> None:
    session = given(*TO_PLAN).session
    event = given(*TO_PLAN).when(say("why?")).then_event()
    after, wrong = admit(session, event)
    assert wrong == ""
    again, wrong = admit(after, event.model_copy(update={"actor": "planner"}))
    assert (again.transcript, bool(wrong)) == (after.transcript, True)


TEXTS = {
    "English": "the order of Ann, who lives at 12 High Street, costs 1,234,567.50 dollars; ",
    "Russian": "заказ Анны стоит 1,234,567.50 рублей, и она довольна; ",
    "Chinese": "安娜的订单，价格是1,234,567.50元。她很满意。",
    "mixed": "one два 三、 1,000,000 ",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_message_of_a_hundred_kilobytes_is_cut_between_words(language: str) -> None:
    text = TEXTS[language] * (100_000 // len(TEXTS[language].encode()))
    session = given(say(text[:50_000])).session
    (told,) = session.transcript
    assert MAX_ENTRY * 0.7 < told.size <= MAX_ENTRY
    head, tail = re.split(rf"\n{CUT} \(event 1 has all of it\) {CUT}\n", told.text)
    assert text.startswith(head)
    assert text[:50_000].endswith(tail)
    words = set(re.split(r"[\s;。、，；]+|,(?!\d)", text))
    assert {*re.split(r"[\s;。、，；]+|,(?!\d)", f"{head} {tail}")} <= words | {text[:50_000].split()[-1], ""}


def test_a_run_of_a_hundred_kilobytes_is_cut_and_its_end_is_kept() -> None:
    printed = "".join(f"line {number}\n" for number in range(9_000))
    ran = finish_action(action_id="1.1", ok=True, result={"exit_code": 0, "stdout": printed, "stderr": ""})
    session = given(*TO_DONE, *RUN_CODE[:2], ran).session
    told = session.transcript[-1]
    assert told.size <= MAX_ENTRY
    assert told.text.startswith('1.1 run_code {"stdin": "", "args": []}\nexit code 0\nline 0\nline 1\n')
    assert told.text.endswith("line 8999")


def test_a_long_reply_is_cut_and_stays_the_json_that_it_was() -> None:
    many = tuple(act(f"1.{number}", arguments={"text": f"{number} " + "слово " * 900}) for number in range(1, 41))
    many = (many[0].model_copy(update={"arguments": {"n": 7, "text": "слово"}}), *many[1:])
    long = turn(*many, say="words " * 8_000)
    told = given(request("agentflow"), long).session.transcript[-1]
    assert told.size <= MAX_ENTRY
    reply = json.loads(told.text)["reply"]
    assert (reply["kind"], len(reply["actions"])) == ("turn", 40)
    assert reply["actions"][0]["call"] == {"tool": "orders", "n": 7, "text": "слово"}
    assert reply["say"].startswith("words words")


@pytest.mark.parametrize("limit", [600, 4_000, 24_000])
def test_a_reader_with_less_room_sees_the_same_beginning_until_it_leaves_something_out(limit: int) -> None:
    entries = tuple(entry(f"{number} " + "word " * (number % 90), number) for number in range(200))
    seen = [within(entries[:last], limit) for last in range(1, len(entries) + 1)]
    moments = 0
    for before, after in pairwise(seen):
        assert sum(entry.size for entry in after) <= limit
        moments += after[: len(before)] != before
    assert moments <= sum(entry.size for entry in entries) // (limit // 2) + 1


def test_one_entry_takes_half_of_a_readers_room_at_most() -> None:
    (told,) = within((entry("word " * 4_000),), 2_000)
    assert 500 < told.size <= 1_000
    reply = json.dumps({"reply": {"kind": "answer", "text": "word " * 4_000}})
    (said,) = within((TranscriptEntry(1, "planner", "answer", reply),), 2_000)
    assert said.size <= 1_000
    assert json.loads(said.text)["reply"]["kind"] == "answer"


def test_a_cut_finds_the_end_of_a_word_where_there_is_one() -> None:
    assert cut("short", 10) == "short"
    assert cut("one two three four five six", 12) == f"one two\n{CUT} (17 characters) {CUT}\nsix"
    assert cut("1,234,567,890,123", 9).split("\n")[0] == "1,234,"  # nowhere else to cut
    assert cut("x" * 1_000, 300).startswith("x" * BOUNDARY + "\n")
    assert fitting(entry("short"), 100) == entry("short")


# --- forks and old logs


def test_a_fork_goes_on_with_its_parents_transcript() -> None:
    parent = story()
    parent.apply(say("a calculator"), draft("add"), say("why?"))
    child = parent.fork("s2").session
    told = [(entry.by, entry.kind, entry.text) for entry in parent.session.transcript]
    assert [(entry.by, entry.kind, entry.text) for entry in child.transcript] == told
    assert {entry.version for entry in child.transcript} == {1}
    assert said_since_request(child) == ("why?",)
    on = given(say("floats"), draft("floats"), begin=child).session
    assert [entry.kind for entry in on.transcript[len(told) :]] == ["message", "draft"]


def test_events_without_the_fields_that_a_publisher_may_leave_out_are_told_like_others() -> None:
    def short(event: SessionEvent) -> SessionEvent:
        body = json.loads(dump_event(event))
        for name in ("say", "kind", "number", "asked_version"):
            if name != "kind" or event.type == "question.answered":
                body.pop(name, None)
        return parse_event(json.dumps(body))

    talk = story()
    talk.apply(say("x"), c.Ask(text="?"), say("yes"), draft("a"), approve, program(), checked(), approve)
    session = fold(Session("s1"), map(short, talk.events))
    assert [entry.kind for entry in session.transcript] == [entry.kind for entry in talk.session.transcript]


def test_checks_that_say_nothing_are_told() -> None:
    result = c.VerifyCode(checks=(Check(name="lints", ok=False), Check(name="parses", ok=True, detail="x")))
    assert added(*CHECKING, result) == ("tool", "verdict", "lints: failed\nparses: ok")
