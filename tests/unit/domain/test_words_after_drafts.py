"""Messages that are answered in words after a draft that nobody saw, or after a decline."""

import pytest

from shared.domain.kernel import commands as c
from tests.unit.domain.spec import (
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    StoryLine,
    approve,
    checked,
    draft,
    feedback,
    given,
    new_request,
    program,
    reject,
    say,
    unread,
)

ANSWERED = c.AnswerRemark(text="Because it is short.")


@pytest.mark.parametrize("before", [(say(),), (*TO_PLAN, feedback("floats")), (*TO_PLAN, reject, say("floats"))])
def test_words_that_come_after_a_draft_leave_the_draft_in_review(before: tuple[StoryLine, ...]) -> None:
    drafted = given(*before, say("why?"), draft("b"))
    assert (drafted.session.phase, unread(drafted.session)) == ("planning", ("why?",))
    answered = drafted.when(ANSWERED).then("remark.answered").leaves("awaiting_approval", "user", unread=())
    plan = answered.session.plan
    assert plan is not None
    assert (plan.steps[0].text, plan.status) == ("b", "pending_approval")
    answered.given.when(c.Approve(version=plan.version)).then("plan.approved").leaves("coding", "generator")


def test_words_that_come_after_a_program_leave_it_to_be_checked() -> None:
    drafted = given(*TO_CODE, feedback("floats"), say("why?"), program("x = 2"))
    answered = drafted.when(ANSWERED).then("remark.answered").leaves("verifying", "verifier", unread=())
    answered.given.when(checked()).then("code.verified").leaves("awaiting_approval", "user")


@pytest.mark.parametrize("before", [(*TO_PLAN, approve, program("x = 1")), (say(), say("why?"), draft("b"))])
def test_what_an_earlier_request_left_unseen_stays_so(before: tuple[StoryLine, ...]) -> None:
    stopped = (*before, c.Stop(), new_request("something else"))
    given(*stopped).when(ANSWERED).then("remark.answered").leaves("resting", "nobody", rest_reason="answered")


@pytest.mark.parametrize("target", [TO_PLAN, TO_CODE])
def test_what_was_declined_for_another_one_stays_declined(target: tuple[StoryLine, ...]) -> None:
    answered = given(*target, c.Reject(replan=True)).when(ANSWERED).then("remark.answered")
    answered.leaves("resting", "nobody", rest_reason="answered")


@pytest.mark.parametrize("before", [TO_PLAN, TO_CODE, (*TO_DONE, say("undo, too"), draft("b"))])
def test_what_was_declined_stays_declined_when_the_next_message_is_answered(before: tuple[StoryLine, ...]) -> None:
    said = given(*before, reject).when(say("keep what is there")).then("message.received", intent="feedback")
    answered = said.given.when(ANSWERED).then("remark.answered").leaves("resting", "nobody", rest_reason="answered")
    item = answered.session.code if before == TO_CODE else answered.session.plan
    assert item is not None
    assert item.status == "rejected"
    said.given.when(program("x = 3") if before == TO_CODE else draft("c")).then_event()
