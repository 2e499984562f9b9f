"""Messages while a call asks a person: its options answer, anything else is a message that is answered beside."""

import pytest

from shared.domain.kernel import commands as c
from tests.unit.domain.spec import StoryLine, act, given, request, say, turn

ANSWERED = c.AnswerRemark(text="Because it is short.")
FREE = request("agentflow", approval="never")
CALL_ASKS = (FREE, turn(act("1.1"), act("1.2", "1.1", effect="write")))
WHICH = c.Ask(about="action", action_id="1.1", text="Which colour?", options=("red", "blue"))
UNCLEAR = (FREE, turn(act("1.1", effect="write")), c.Start(), c.ReportUncertain(action_id="1.1", reason="?"))


@pytest.mark.parametrize("before", [(*CALL_ASKS, WHICH), UNCLEAR])
def test_a_message_that_is_none_of_the_options_is_answered_beside_the_question(before: tuple[StoryLine, ...]) -> None:
    asking = given(*before).session
    said = given(*before).when(say("wait, change nothing")).then("message.received", intent="remark")
    said.leaves("awaiting_input", "planner", question=asking.question, unread=("wait, change nothing",))
    answered = said.given.when(ANSWERED).then("remark.answered")
    answered.leaves("awaiting_input", "user", question=asking.question, turn=asking.turn)
    offered = said.given.when(turn(nothing=True)).then("offer.made").leaves("awaiting_input", "user")
    offered.given.when(c.TakeOffer()).then("turn.planned").leaves("answering", "generator", question=None)


@pytest.mark.parametrize("answer_to_it", [say("blue"), say(" Blue."), c.Answer(text="blue!")])
def test_an_option_answers_the_question_also_before_a_message_is_answered(answer_to_it: StoryLine) -> None:
    for between in ((), (say("which do you like?"),)):
        answered = given(*CALL_ASKS, WHICH, *between).when(answer_to_it).then("question.answered", text="blue", key="2")  # type: ignore[arg-type]
        answered.leaves("executing", "nobody" if between else "executor", question=None)


def test_other_words_in_an_answer_are_taken_as_they_are() -> None:
    how_many = c.Ask(about="action", action_id="1.1", text="How many?", options=("none", "two"))
    given(*CALL_ASKS, how_many).when(c.Answer(text="2")).then("question.answered", text="2", key=None)
