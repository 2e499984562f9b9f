"""Replies of a model that are no draft, and the conversation that it replies to."""

import json

import pytest

from parley.events.values import FurtherQuestion, Option
from parley.reply import MAX_OPTION, AcceptedOffer, AskedQuestion, QuestionDraft, Reply, WordsDraft
from services.generator.conversation import CodeReply
from services.generator.conversation import build_prompt as code_prompt
from services.planner.agentflow_prompt import TurnReply
from services.planner.conversation import PlanReply
from services.planner.execution_plan_prompt import StepsReply
from services.planner.flow_prompt import PathReply
from services.verifier.conversation import build_tests_prompt, build_verdict_prompt
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.llm.dialogue import (
    EXECUTING,
    MAX_QUESTIONS,
    refuse_repeated,
    reply_for,
    to_command,
    waiting_sections,
)
from shared.settings import Settings
from shared.story import StoryLine
from tests.support.prompt_sessions import CODED, PLAN_RUNS, RUN
from tests.unit.domain.spec import TO_ALLOW, TO_DONE, TO_PLAN, VERIFYING, act, given, request, say, turn, verdict

REPLIES: tuple[type[Reply], ...] = (PlanReply, TurnReply, PathReply, CodeReply, StepsReply)
ASKED: tuple[StoryLine, ...] = (
    say("a game"),
    c.Ask(text="Which colours?", further=(FurtherQuestion(text="Which sound?"),)),
    c.Answer(text="red", more=("none",)),
    c.Ask(text="How large?"),
    c.Answer(text="8 by 8"),
)


def session(*lines: StoryLine) -> Session:
    return given(*lines).session


def offered(*lines: StoryLine) -> Session:
    """The session in which a turn of the planner's stands beside what waits, and a message that came after that."""
    return session(*TO_ALLOW, say("rather the other one"), turn(), say("yes, that one"), *lines)


def kinds(reply: type[Reply]) -> set[str]:
    return {kind.model_fields["kind"].default for kind in reply.kinds()}


# --- which replies are open


@pytest.mark.parametrize("reply", REPLIES)
def test_the_first_message_can_be_answered_asked_about_or_followed(reply: type[Reply]) -> None:
    assert kinds(reply_for(reply, session(say()))) == kinds(reply) - {"take_offer"}


@pytest.mark.parametrize("reply", REPLIES)
def test_a_caller_who_asked_for_a_plan_gets_no_answer_in_words(reply: type[Reply]) -> None:
    wanted = session(request("conversation", plan_required=True))
    assert kinds(reply_for(reply, wanted)) == kinds(reply) - {"take_offer", "answer"}


def test_a_message_about_the_plan_can_be_answered_although_a_plan_was_asked_for() -> None:
    reviewed = session(request("conversation", plan_required=True), TO_PLAN[1], say("why?"))
    assert "answer" in kinds(reply_for(PlanReply, reviewed))


def test_a_turn_after_the_first_is_no_answer_unless_the_person_said_something() -> None:
    looked: tuple[StoryLine, ...] = (*VERIFYING, verdict("continue"))
    assert "answer" not in kinds(reply_for(TurnReply, session(*looked)))
    assert "answer" in kinds(reply_for(TurnReply, session(*looked, say("is it far?"))))


@pytest.mark.parametrize("reply", REPLIES)
def test_only_an_open_offer_can_be_taken_and_beside_what_waits_nothing_is_asked(reply: type[Reply]) -> None:
    assert kinds(reply_for(reply, offered())) == kinds(reply) - {"question"}
    kept = offered(c.AnswerRemark(text="Good."), c.KeepOffer(), say("and now?"))
    assert kinds(reply_for(reply, kept)) == kinds(reply) - {"question", "take_offer"}


@pytest.mark.parametrize("reply", REPLIES)
def test_the_number_of_questions_is_limited(reply: type[Reply]) -> None:
    assert "question" in kinds(reply_for(reply, session(*ASKED)))
    third = session(*ASKED, c.Ask(text="How fast?"), c.Answer(text="fast"))
    assert len(ASKED) // 2 + 1 == MAX_QUESTIONS
    assert "question" not in kinds(reply_for(reply, third))


def test_the_first_reply_has_a_title_and_a_type_is_created_only_once() -> None:
    assert "title" in reply_for(PlanReply, session(say())).model_fields
    assert "title" not in reply_for(PlanReply, session(*ASKED)).model_fields
    for lines in ((say(),), ASKED):
        assert reply_for(PlanReply, session(*lines)) is reply_for(PlanReply, session(*lines))


# --- questions


@pytest.mark.parametrize("text", ["Which colours?", "which  colours", "WHICH – COLOURS!", "which sound"])
def test_a_repeated_question_is_refused(text: str) -> None:
    refuse = refuse_repeated(session(*ASKED))
    assert "asked that already" in refuse(PlanReply(reply=QuestionDraft(text=text)))
    together = QuestionDraft(text="Where?", more=[AskedQuestion(text=text)])
    assert "asked that already" in refuse(PlanReply(reply=together))
    assert refuse(PlanReply(reply=QuestionDraft(text="Which size?"))) == ""
    assert refuse(PlanReply.model_validate({"reply": {"kind": "plan", "goal": text, "steps": ["Ask"]}})) == ""


def test_replies_become_commands() -> None:
    options = [" the first ", " ", "x" * 900, "the first"]
    question = QuestionDraft(text=" Which one? ", options=options, more=[AskedQuestion(text="Why?", options=["so"])])
    asked = to_command(question)
    assert isinstance(asked, c.Ask)
    assert (asked.text, asked.about) == ("Which one?", "request")
    assert asked.options == ("the first", "x" * MAX_OPTION)
    assert asked.further == (FurtherQuestion(text="Why?", options=(Option(key="1", label="so"),)),)
    assert to_command(WordsDraft(text=" It is short. ")) == c.AnswerRemark(text="It is short.")
    assert to_command(AcceptedOffer()) == c.AcceptOffer()


# --- what waits


def test_what_waits_is_told_only_beside_a_message_that_is_to_be_answered() -> None:
    assert waiting_sections(session(*TO_ALLOW)) == {}
    call, buttons = list(waiting_sections(session(*TO_ALLOW, say("why?")))["waiting"] or ())
    assert call.startswith('1.1 orders {"id": "1.1"}')
    assert buttons == "For each: “Approve” or “Decline”."
    assert waiting_sections(session(*PLAN_RUNS)) == {"waiting": EXECUTING, "offer": None}
    offer = json.loads(str(waiting_sections(offered())["offer"]))
    assert offer["sub_goal"] == "look at the order"
    at_rest = {"buttons": ["Program 1 is approved: “Run the code” runs it."], "offer": None}
    assert waiting_sections(session(*TO_DONE, say("thanks"))) == at_rest, "a draft counts at once: it waits for nothing"
    asked = (
        request("agentflow"),
        turn(act("1.1")),
        c.Ask(about="action", action_id="1.1", text="Which?", options=("red", "blue")),
    )
    assert waiting_sections(session(*asked, say("hm")))["waiting"] == ["A call asks: Which?", "- red", "- blue"]


# --- what the roles know


def test_who_judges_a_program_does_not_know_what_its_programmer_thought() -> None:
    asked = (*CODED[:-1], c.Ask(text="Cents, too?"), c.Answer(text="No"), CODED[-1])
    for prompt in (build_tests_prompt(session(*asked)), build_verdict_prompt(session(*RUN))):
        told = "".join(message["content"] for message in prompt)
        assert "It needs no internet." in told, "what the planner said"
        for thought in ("It rounds each share", "Run it with", "The first share takes the rest"):
            assert thought not in told
    assert "Cents, too?" in str(build_tests_prompt(session(*asked))), "an answer without its question says nothing"
    assert "It rounds each share" in str(code_prompt(session(*RUN), Settings()))
