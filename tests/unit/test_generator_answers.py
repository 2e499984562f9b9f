"""Answers and test tasks: the generator's prompts, and what it makes of the replies."""

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
    build_answer_prompt,
    end_reason,
    render_partial_answer,
    render_partial_task,
)
from services.generator.handlers import write
from shared.domain import commands as c
from shared.domain.session import Session
from shared.llm import ScriptedModel
from shared.log import SessionAtPosition
from shared.settings import Settings
from shared.story import finish_action
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps
from tests.unit.domain.spec import LEAVE, StoryLine, act, allow, done, given, new_request, request, say, turn, verdict

FREE = (request("agentflow", approval="never", max_turns=2),)
LOOKED = (*FREE, turn(act("1.1")), c.Start(), done("1.1"))
BRIEF = Knowledge(name="brief", text='{"user": {"user_id": "mia_li_1"}}')


async def write_answer_for(session: Session, reply: AnswerDraft | TaskDraft) -> tuple[c.GiveAnswer, ScriptedModel]:
    log, model = InMemoryLog(), ScriptedModel(reply)
    kit = WorkerDeps("generator", InMemoryStore(log), log, model, Drafts(None), Settings())
    result = await write(WorkContext(kit, SessionAtPosition(session, 0), cause="s1:c"))
    assert isinstance(result, c.GiveAnswer)
    return result, model


def section(session: Session, name: str) -> str:
    """What the answer's prompt has under this name; "" where it has none."""
    body = build_answer_prompt(session)[1]["content"]
    return body.split(f"<{name}>\n")[1].split(f"\n</{name}>")[0] if f"<{name}>\n" in body else ""


# --- evidence


async def test_evidence_points_to_what_was_done() -> None:
    """Unknown ids and those of other requests are left out; duplicates are listed once."""
    earlier = (*LOOKED, verdict("complete"), c.GiveAnswer(text="Seen.", confidence=1, evidence=("1.1",)))
    session = given(*earlier, say("more"), turn(act("2.1"), act("2.2")), c.Start(), done("2.1"), done("2.2"), verdict())
    reply = AnswerDraft(text="Here.", confidence=0.75, evidence=["2.2", "1.1", "2.2", "9.9", "", "2.1"])
    result, _ = await write_answer_for(session.session, reply)
    assert result == c.GiveAnswer(text="Here.", confidence=0.75, evidence=("2.2", "2.1"))
    session.when(result).then("answer.given").leaves("resting", "nobody", confidence=0.75, evidence=("2.2", "2.1"))


async def test_an_action_without_an_outcome_is_no_evidence() -> None:
    """Denied, skipped and uncertain actions have no outcome; failed ones do."""
    pair = (act("1.1", ask="a write", effect="write"), act("1.2"), act("1.3", "1.1"), act("1.4", effect="write"))
    doubt = c.ReportUncertain(action_id="1.4", reason="it was ended while it ran")
    story = (*FREE, turn(*pair), c.Reject(action_id="1.1"), c.Start(), done("1.2", ok=False), doubt, say(LEAVE))
    reply = AnswerDraft(text="It failed.", confidence=0.5, evidence=["1.1", "1.2", "1.3", "1.4"])
    answer, _ = await write_answer_for(given(*story, verdict()).session, reply)
    assert answer.evidence == ("1.2",)


async def test_an_answer_is_stripped_and_cut_to_what_an_event_holds() -> None:
    session = given(*LOOKED, verdict())
    question, _ = await write_answer_for(session.session, AnswerDraft(text="  " + "x" * 60_000, confidence=1))
    assert (len(question.text), question.text[0]) == (50_000, "x")
    session.when(question).then("answer.given")


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
    assert "earlier" not in build_answer_prompt(given(*LOOKED, verdict()).session)[1]["content"]


def test_an_uncertain_outcome_is_reported_as_uncertain() -> None:
    doubt = c.ReportUncertain(action_id="1.1", reason="the executor was ended while it ran")
    write = act("1.1", effect="write")
    session = given(
        *FREE, turn(write), c.Start(), doubt, say(LEAVE), verdict("continue", "partial"), turn(nothing=True)
    )
    line = json.loads(section(session.session, "executed"))
    assert (line["status"], line["result"]) == ("uncertain", "the executor was ended while it ran")
    assert "whether what is uncertain was done nobody knows" in " ".join(
        build_answer_prompt(session.session)[0]["content"].split()
    )


def test_a_write_interrupted_by_a_stop_is_reported_by_its_late_outcome() -> None:
    """It ran to its end: the answer after the retry knows what happened, not what was meant."""
    questions = (request("agentflow"), turn(act("1.1", ask="a write", effect="write")), allow("1.1"), c.Start())
    work = given(*questions).session.work
    stopped = given(*questions, c.Stop())
    late = stopped.when(finish_action(action_id="1.1", ok=True, result="cancelled"), "executor", work=work)
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
def test_the_prompt_has_the_reason_if_the_work_ended_incomplete(story: tuple[StoryLine, ...], why: str) -> None:
    session = given(*LOOKED, *story).session
    assert (session.phase, end_reason(session), section(session, "ended")) == ("answering", why, why)


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
    assert end_reason(given(*alone, verdict("continue", status)).session) == why


def test_the_answer_s_prompt_has_the_planner_s_reason_why_nothing_was_left_to_do() -> None:
    session = given(*FREE, turn(nothing=True)).session
    assert section(session, "reasoning") == "Nothing is left to do."
    assert section(session, "executed") == ""


def test_questions_and_feedback_of_this_request_are_separate_sections() -> None:
    first = (*FREE, c.Ask(text="Which?"), say("#W1"), turn(act("1.1")), c.Start(), done("1.1"), verdict())
    question = given(*first).session
    assert (section(question, "dialogue"), section(question, "feedback")) == ("Q: Which?\nA: #W1", "")
    story = (*first, c.GiveAnswer(text="Done.", confidence=1), new_request("And mine?"), say("quick"), turn(act("2.1")))
    later = given(*story, turn(act("3.1")), c.Start(), done("3.1"), verdict()).session
    assert (section(later, "dialogue"), section(later, "feedback")) == ("", "quick")
    assert section(later, "previous") == "- cancel my order (answered: Done.)"


# --- tasks


async def test_a_task_is_the_answer_as_json_and_nothing_else() -> None:
    session = given(say("Draft", workflow="agentflow", settings=SessionSettings(task=True), knowledge=(BRIEF,)))
    session = given(turn(nothing=True), begin=session.session)
    calls: Any = [{"name": "cancel_pending_order", "arguments": "{'order_id': '#W1'}", "extra": 1}]
    reply = TaskDraft(q="You are Mia.", agt=calls, ogt=["12.50"], reasoning="because", confidence=0.4)
    question, model = await write_answer_for(session.session, reply)
    agt = [{"name": "cancel_pending_order", "arguments": "{'order_id': '#W1'}"}]
    assert json.loads(question.text) == {"q": "You are Mia.", "agt": agt, "ogt": ["12.50"]}
    assert (question.confidence, question.evidence) == (0.4, ())
    prompt = model.prompts[0].text
    assert prompt.startswith("Role: generator\nTask: task\n")
    assert BRIEF.text in prompt


@pytest.mark.parametrize("bad", [{"q": ""}, {"q": "x", "agt": [{"arguments": {}}]}, {"q": "x", "other": 1}])
def test_a_reply_that_is_no_task_goes_back_to_the_model(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TaskReply.model_validate({"reply": bad})


def test_what_is_written_so_far_is_shown() -> None:
    assert (render_partial_answer({"text": "It is"}), render_partial_answer({})) == ("It is", "")
    assert (render_partial_task({"q": "You are"}), render_partial_task({"agt": []})) == ("You are", "")
