"""Replies of a model that are no draft: questions to the user, and answers to remarks."""

import pytest

from parley.reply import MAX_OPTION, QuestionDraft, Reply, WordsDraft
from services.generator.conversation_prompt import CodeReply
from services.planner.agentflow_prompt import TurnReply
from services.planner.conversation import draft_plan
from services.planner.conversation_prompt import PlanDraft, PlanReply
from services.planner.flow_prompt import PathReply
from shared.domain import commands as c
from shared.domain.session import Remark, Session, Words
from shared.domain.state import AnsweredQuestion
from shared.llm import ScriptedModel
from shared.llm.dialogue import MAX_QUESTIONS, refuse_repeated, reply_for, to_command
from shared.log import SessionAtPosition
from shared.settings import Settings
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps

REPLIES = (PlanReply, TurnReply, PathReply, CodeReply)
REMARKED = Session("s", words=Words(remark=Remark(("why?",), "resting")))
ASKED = Session(
    "s",
    words=Words(
        request="a game", dialogue=(AnsweredQuestion("Which colours?", "red"), AnsweredQuestion("How large?", "8 by 8"))
    ),
)


def kinds(reply: type[Reply]) -> set[str]:
    return {kind.model_fields["kind"].default for kind in reply.kinds()}


@pytest.mark.parametrize("reply", REPLIES)
def test_the_number_of_questions_is_limited_and_only_a_remark_allows_an_answer(reply: type[Reply]) -> None:
    asked = Session("s", words=Words(dialogue=tuple(AnsweredQuestion(f"{n}?", "yes") for n in range(MAX_QUESTIONS))))
    drafts = kinds(reply) - {"question", "answer"}
    assert kinds(reply_for(reply, ASKED)) == {*drafts, "question"}
    assert kinds(reply_for(reply, asked)) == drafts
    assert kinds(reply_for(reply, REMARKED)) == {*drafts, "question", "answer"}
    assert reply_for(reply, ASKED) is reply_for(reply, ASKED), "the type is created only once"


@pytest.mark.parametrize("text", ["Which colours?", "which  colours", "WHICH – COLOURS!"])
def test_a_repeated_question_is_refused(text: str) -> None:
    refuse = refuse_repeated(ASKED)
    assert "asked that already" in refuse(PlanReply(reply=QuestionDraft(text=text)))
    assert refuse(PlanReply(reply=QuestionDraft(text="Which size?"))) == ""
    assert refuse(PlanReply(reply=PlanDraft(goal="Which colours?", steps=["Ask"]))) == ""


async def test_the_model_gets_another_try_after_a_repeated_question() -> None:
    log, model = (
        InMemoryLog(),
        ScriptedModel(QuestionDraft(text="How large?"), PlanDraft(goal="A game", steps=["Draw it"])),
    )
    deps = WorkerDeps("planner", InMemoryStore(log), log, model, Drafts(None), Settings())
    drafted = await draft_plan(WorkContext(deps, SessionAtPosition(ASKED, 0), cause="s:cause"))
    assert isinstance(drafted, c.DraftPlan)
    assert "Q: How large?\nA: 8 by 8" in model.prompts[0].data


def test_replies_become_commands() -> None:
    asked = to_command(QuestionDraft(text=" Which one? ", options=[" the first ", " ", "x" * 900]), Session("s"))
    assert isinstance(asked, c.Ask)
    assert (asked.text, asked.about) == ("Which one?", "request")
    assert asked.options == ("the first", "x" * MAX_OPTION)
    assert to_command(WordsDraft(text=" It is short. "), REMARKED) == c.AnswerRemark(text="It is short.")
