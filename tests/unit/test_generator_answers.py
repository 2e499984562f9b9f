"""Answers and test tasks: what the generator is told, and what it makes of the model's reply."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from parley.events.values import Knowledge, SessionSettings, Status
from services.generator.agentflow_prompt import (
    AnswerDraft,
    AnswerReply,
    TaskDraft,
    TaskReply,
    answer_brief,
    answer_shown,
    ended,
    task_shown,
)
from services.generator.handlers import write
from shared.domain import commands as c
from shared.domain.session import Session
from shared.llm import ScriptedModel
from shared.log import SessionAtPosition
from shared.settings import Settings
from shared.story import finish
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps
from tests.unit.domain.spec import LEAVE, StoryLine, act, allow, anew, done, given, request, say, turn, verdict

FREE = (request("agentflow", approval="never", max_turns=2),)
LOOKED = (*FREE, turn(act("1.1")), c.Start(), done("1.1"))
BRIEF = Knowledge(name="brief", text='{"user": {"user_id": "mia_li_1"}}')


async def answered(session: Session, reply: AnswerDraft | TaskDraft) -> tuple[c.GiveAnswer, ScriptedModel]:
    log, model = InMemoryLog(), ScriptedModel(reply)
    kit = WorkerDeps("generator", InMemoryStore(log), log, model, Drafts(None), Settings())
    told = await write(WorkContext(kit, SessionAtPosition(session, 0), cause="s1:c"))
    assert isinstance(told, c.GiveAnswer)
    return told, model


def section(session: Session, name: str) -> str:
    """What the answer's prompt has under this name; "" where it has none."""
    body = answer_brief(session)[1]["content"]
    return body.split(f"<{name}>\n")[1].split(f"\n</{name}>")[0] if f"<{name}>\n" in body else ""


# --- evidence


async def test_evidence_points_to_what_was_done() -> None:
    """Ids that name nothing, or another request's call, are left out; the same one is told once."""
    earlier = (*LOOKED, verdict("complete"), c.GiveAnswer(text="Seen.", confidence=1, evidence=("1.1",)))
    session = given(*earlier, say("more"), turn(act("2.1"), act("2.2")), c.Start(), done("2.1"), done("2.2"), verdict())
    reply = AnswerDraft(text="Here.", confidence=0.75, evidence=["2.2", "1.1", "2.2", "9.9", "", "2.1"])
    told, _ = await answered(session.session, reply)
    assert told == c.GiveAnswer(text="Here.", confidence=0.75, evidence=("2.2", "2.1"))
    session.when(told).then("answer.given").leaves("resting", "nobody", confidence=0.75, evidence=("2.2", "2.1"))


async def test_an_action_without_an_outcome_is_no_evidence() -> None:
    """It was denied, skipped, or nobody knows whether it ran; a failure is an outcome."""
    pair = (act("1.1", ask="a write", effect="write"), act("1.2"), act("1.3", "1.1"), act("1.4", effect="write"))
    doubt = c.Uncertain(action_id="1.4", reason="it was ended while it ran")
    story = (*FREE, turn(*pair), c.Reject(action_id="1.1"), c.Start(), done("1.2", ok=False), doubt, say(LEAVE))
    reply = AnswerDraft(text="It failed.", confidence=0.5, evidence=["1.1", "1.2", "1.3", "1.4"])
    told, _ = await answered(given(*story, verdict()).session, reply)
    assert told.evidence == ("1.2",)


async def test_an_answer_is_stripped_and_cut_to_what_an_event_holds() -> None:
    session = given(*LOOKED, verdict())
    told, _ = await answered(session.session, AnswerDraft(text="  " + "x" * 60_000, confidence=1))
    assert (len(told.text), told.text[0]) == (50_000, "x")
    session.when(told).then("answer.given")


@pytest.mark.parametrize(
    "bad",
    [
        {"text": "", "confidence": 1},
        {"text": " \n ", "confidence": 1},
        {"text": "x", "confidence": 1.1},
        {"text": "x", "confidence": -0.1},
        {"text": "x"},
        {"text": "x", "confidence": 1, "mood": "good"},
    ],
)
def test_a_reply_that_is_no_answer_goes_back_to_the_model(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AnswerReply.model_validate({"reply": bad})


# --- what the answer is made from


def test_the_answer_sees_what_was_done_and_what_was_not_and_why() -> None:
    pair = (act("1.1", ask="a write", effect="write"), act("1.2"), act("1.3", "1.1"))
    story = (*FREE, turn(*pair), c.Reject(action_id="1.1", reason="the other one"), c.Start(), done("1.2"))
    lines = [json.loads(line) for line in section(given(*story, verdict()).session, "executed").split("\n")]
    assert [(line["id"], line["status"]) for line in lines] == [
        ("1.1", "denied"),
        ("1.2", "finished"),
        ("1.3", "skipped"),
    ]
    assert lines[0]["result"] == "the other one"


def test_the_answer_knows_what_earlier_requests_found() -> None:
    """A customer is found once in a session: the next request is about them too, and the answer has to know that."""
    first = (*LOOKED, verdict("complete"), c.GiveAnswer(text="Seen.", confidence=1, evidence=("1.1",)))
    session = given(*first, say("and now?"), turn(act("2.1")), c.Start(), done("2.1"), verdict())
    assert json.loads(section(session.session, "earlier"))["arguments"] == {"id": "1.1"}
    assert json.loads(section(session.session, "executed"))["id"] == "2.1"
    assert "earlier" not in answer_brief(given(*LOOKED, verdict()).session)[1]["content"]


def test_a_doubt_is_told_as_a_doubt() -> None:
    doubt = c.Uncertain(action_id="1.1", reason="the executor was ended while it ran")
    write = act("1.1", effect="write")
    session = given(
        *FREE, turn(write), c.Start(), doubt, say(LEAVE), verdict("continue", "partial"), turn(nothing=True)
    )
    line = json.loads(section(session.session, "executed"))
    assert (line["status"], line["result"]) == ("uncertain", "the executor was ended while it ran")
    assert "whether what is uncertain was done nobody knows" in " ".join(
        answer_brief(session.session)[0]["content"].split()
    )


def test_a_write_that_a_stop_interrupted_is_told_by_its_late_outcome() -> None:
    """It ran to its end: the answer after the retry knows what happened, not what was meant."""
    asks = (request("agentflow"), turn(act("1.1", ask="a write", effect="write")), allow("1.1"), c.Start())
    work = given(*asks).session.work
    stopped = given(*asks, c.Stop())
    late = stopped.when(finish(action_id="1.1", ok=True, result="cancelled"), "executor", work=work)
    back = late.then("actions.finished").leaves("resting", "nobody").given.when(c.Retry()).then("session.retried")
    back.leaves("verifying", "verifier")
    line = json.loads(section(given(verdict("complete"), begin=back.session).session, "executed"))
    assert (line["status"], line["result"]) == ("finished", "cancelled")


@pytest.mark.parametrize(
    ("story", "why"),
    [
        ((verdict("complete"),), ""),
        ((verdict("continue"), turn(act("2.1")), c.Start(), done("2.1"), verdict("complete")), ""),
        ((verdict("continue"), turn(nothing=True)), ""),
        (
            (verdict("continue"), turn(act("2.1")), c.Start(), done("2.1"), verdict("continue", "partial")),
            "All 2 turns are used up; the last one was done in part.",
        ),
        (
            (
                verdict("retry", "failure"),
                turn(act("2.1")),
                c.Start(),
                done("2.1", ok=False),
                verdict("retry", "failure"),
            ),
            "All 2 turns are used up; the last one failed.",
        ),
    ],
    ids=["complete", "complete with the last turn", "nothing left", "used up", "used up with a failure"],
)
def test_why_it_ended_is_told_where_it_was_not_done(story: tuple[StoryLine, ...], why: str) -> None:
    session = given(*LOOKED, *story).session
    assert (session.phase, ended(session), section(session, "ended")) == ("answering", why, why)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("success", "The only turn is used up, and something may be left to do."),
        ("partial", "The only turn is used up; it was done in part."),
        ("failure", "The only turn is used up; it failed."),
    ],
)
def test_why_it_ended_after_its_only_turn(status: Status, why: str) -> None:
    alone = (request("agentflow", approval="never", max_turns=1), turn(act("1.1")), c.Start(), done("1.1"))
    assert ended(given(*alone, verdict("continue", status)).session) == why


def test_that_nothing_was_left_to_do_is_told_with_the_planner_s_reason() -> None:
    session = given(*FREE, turn(nothing=True)).session
    assert section(session, "reasoning") == "Nothing is left to do."
    assert section(session, "executed") == ""


def test_questions_and_other_words_are_told_apart_and_not_those_of_the_request_before() -> None:
    first = (*FREE, c.Ask(text="Which?"), say("#W1"), turn(act("1.1")), c.Start(), done("1.1"), verdict())
    asked = given(*first).session
    assert (section(asked, "dialogue"), section(asked, "feedback")) == ("Q: Which?\nA: #W1", "")
    story = (*first, c.GiveAnswer(text="Done.", confidence=1), anew("And mine?"), say("quick"), turn(act("2.1")))
    later = given(*story, turn(act("3.1")), c.Start(), done("3.1"), verdict()).session
    assert (section(later, "dialogue"), section(later, "feedback")) == ("", "quick")
    assert section(later, "previous") == "- cancel my order (answered: Done.)"


# --- tasks


async def test_a_task_is_the_answer_as_json_and_nothing_else() -> None:
    session = given(say("Draft", workflow="agentflow", settings=SessionSettings(task=True), knowledge=(BRIEF,)))
    session = given(turn(nothing=True), begin=session.session)
    calls: Any = [{"name": "cancel_pending_order", "arguments": "{'order_id': '#W1'}", "extra": 1}]
    reply = TaskDraft(q="You are Mia.", agt=calls, ogt=["12.50"], reasoning="because", confidence=0.4)
    told, model = await answered(session.session, reply)
    agt = [{"name": "cancel_pending_order", "arguments": "{'order_id': '#W1'}"}]
    assert json.loads(told.text) == {"q": "You are Mia.", "agt": agt, "ogt": ["12.50"]}
    assert (told.confidence, told.evidence) == (0.4, ())
    prompt = model.prompts[0].text
    assert prompt.startswith("Role: generator\nTask: task\n")
    assert BRIEF.text in prompt


@pytest.mark.parametrize("bad", [{"q": ""}, {"q": "x", "agt": [{"arguments": {}}]}, {"q": "x", "other": 1}])
def test_a_reply_that_is_no_task_goes_back_to_the_model(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TaskReply.model_validate({"reply": bad})


def test_what_is_written_so_far_is_shown() -> None:
    assert (answer_shown({"text": "It is"}), answer_shown({})) == ("It is", "")
    assert (task_shown({"q": "You are"}), task_shown({"agt": []})) == ("You are", "")
