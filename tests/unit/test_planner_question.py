"""A question that the planner's model asks instead of planning, with its options."""

import pytest

from services.planner.agentflow_prompt import TurnReply
from services.planner.flow_prompt import PathReply
from services.planner.prompt import PlanReply
from services.planner.question import LONGEST_OPTION, Question
from shared.domain import commands as c
from shared.domain.session import Remark, Session, Words

REPLIES = (PlanReply, TurnReply, PathReply)


@pytest.mark.parametrize("reply", REPLIES)
def test_every_reply_may_be_a_question_with_options(reply: type[Question]) -> None:
    asked = reply(question=" Which one? ", options=[" the first ", " ", "x" * 900]).spoken(Session("s"), planned=())
    assert isinstance(asked, c.Ask)
    assert (asked.text, asked.about) == ("Which one?", "request")
    assert asked.options == ("the first", "x" * LONGEST_OPTION)


@pytest.mark.parametrize("reply", REPLIES)
def test_options_alone_are_no_question(reply: type[Question]) -> None:
    with pytest.raises(ValueError, match="question"):
        reply(options=["this", "that"])


@pytest.mark.parametrize("reply", REPLIES)
def test_every_reply_may_be_words(reply: type[Question]) -> None:
    words = reply(reply=" It is short. ")
    remarked = Session("s", words=Words(remark=Remark(("why?",), "resting")))
    assert words.spoken(remarked, planned=()) == c.AnswerRemark(text="It is short.")
    assert words.spoken(remarked, planned=("something",)) is None
    assert words.spoken(Session("s"), planned=()) == c.Ask(text="It is short.")
