"""Remarks on a plan, code or actions in review, and on a session at rest. A service answers them or drafts anew."""

from datetime import UTC, datetime

import pytest

from parley.events import facts
from shared.domain import commands as c
from shared.domain.decide import AnyCommand, due
from shared.domain.errors import AlreadyDone, OutOfTurn, Stale
from shared.domain.evolve import evolve
from shared.domain.fast_replace import replace
from shared.domain.forks import carry_over
from shared.domain.session import SERVICE_OF, Session, before_remark, defer_remark, with_words
from tests.unit.domain.spec import (
    ASKED,
    CODING,
    ESCALATED,
    NOTES,
    TO_ALLOW,
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    Given,
    StoryLine,
    act,
    allow,
    answer,
    approve,
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
    turn,
    verdict,
)

REMARK_ANSWER = c.AnswerRemark(text="Because it is short.")
DONE_TURN = (request("agentflow"), turn(), c.Start(), done(), verdict(), answer())
AT_REST = [TO_DONE, DONE_TURN, (say(), c.Stop()), (*TO_DONE, c.Complete())]
IN_REVIEW = [TO_PLAN, TO_CODE, TO_ALLOW]


def service(before: tuple[StoryLine, ...]) -> str:
    return "generator" if before == TO_CODE else "planner"


def same(session: Session, before: Session) -> bool:
    """Whether both sessions are equal, apart from version, command ids, decisions and the last reply."""
    before = replace(with_words(before, reply=session.words.reply), decisions=session.decisions)
    return session == replace(before, version=session.version, recent_commands=session.recent_commands)


@pytest.mark.parametrize("before", [*IN_REVIEW, *AT_REST])
def test_a_remark_makes_a_service_due_and_its_answer_changes_nothing_else(
    before: tuple[StoryLine, ...],
) -> None:
    start = given(*before).session
    result = given(*before).when(say("why so short?")).then("message.received", intent="remark", workflow=None)
    result.leaves("coding" if before == TO_CODE else "planning", service(before), plan=start.plan, code=start.code)
    result.leaves(
        result.session.phase,
        service(before),
        turn=start.turn,
        text=start.answer.text,
        since_version=start.since_version,
    )
    after = result.given.when(REMARK_ANSWER).then("remark.answered", text=REMARK_ANSWER.text)
    assert same(after.session, start)
    assert after.session.words.reply == REMARK_ANSWER.text
    assert due(after.session) == ("user" if start.is_awaiting_user else "nobody")


@pytest.mark.parametrize("before", IN_REVIEW)
def test_a_draft_after_a_remark_equals_a_draft_after_feedback(before: tuple[StoryLine, ...]) -> None:
    new_draft = draft("floats") if before == TO_PLAN else program("x = 2.0") if before == TO_CODE else turn(act("2.1"))
    result = given(*before, say("use floats")).when(new_draft).then_event()
    assert isinstance(result, facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned)
    assert not result.begins_round
    after_remark = given(*before, say("use floats"), new_draft).session
    after_feedback = given(*before, feedback("use floats"), new_draft).session
    assert after_remark == replace(after_feedback, decisions=after_remark.decisions)


@pytest.mark.parametrize("before", AT_REST)
def test_a_draft_after_a_remark_at_rest_begins_a_round(before: tuple[StoryLine, ...]) -> None:
    start = given(*before).session
    number = f"{start.counts.turns + 1}.1"
    new_draft = (
        draft("b", goal="other") if start.workflow == "conversation" else turn(act(number, arguments={"id": "1.1"}))
    )
    event = given(*before, say("another")).when(new_draft).then_event()
    assert isinstance(event, facts.PlanDrafted | facts.TurnPlanned)
    assert event.begins_round
    after_remark = given(*before, say("another"), new_draft).session
    after_request = given(*before, new_request("another"), new_draft).session
    assert vars(after_remark) == vars(after_request) | {
        "settings": after_remark.settings,
        "decisions": after_remark.decisions,
    }


def test_actions_of_the_last_request_may_be_repeated_for_a_new_one() -> None:
    refund = act("1.1", effect="write", arguments={"order": 1})
    first = (request("agentflow", approval="never"), turn(refund), c.Start(), done(), verdict(), answer())
    again = refund.model_copy(update={"id": "2.1"})
    result = given(*first, say("once more")).when(turn(again)).then("turn.planned", begins_round=True)
    assert result.leaves("executing", "executor").session.turn is not None
    assert result.session.turn is not None
    assert result.session.turn.actions[0].spec.decision == "proceed"


@pytest.mark.parametrize(
    ("before", "words", "intent"),
    [
        (TO_DONE, new_request("floats"), "request"),
        (TO_DONE, say("orders", workflow="flow"), "request"),
        (TO_DONE, say("floats", workflow="conversation"), "remark"),
        ((*TO_DONE, c.Continue()), say("floats"), "request"),
        ((say(), c.Fail(reason="no")), say("floats"), "request"),
        (TO_PLAN, feedback("floats"), "feedback"),
        (TO_DONE, feedback("floats"), "remark"),
        ((*TO_PLAN, reject), say("floats"), "feedback"),
        (ESCALATED, say("floats"), "feedback"),
        (CODING, say("floats"), "guidance"),
        (ASKED, say("floats", knowledge=(NOTES,)), "feedback"),
    ],
)
def test_which_messages_are_remarks(before: tuple[StoryLine, ...], words: StoryLine, intent: str) -> None:
    given(*before).when(words).then("message.received", intent=intent)  # type: ignore[arg-type]


def test_a_second_remark_is_answered_with_the_first() -> None:
    result = given(*TO_PLAN, say("why?")).when(say("and floats")).then("message.received", intent="remark")
    result.leaves("planning", "planner")
    late = result.given.when(REMARK_ANSWER, work=c.Work(service="planner", version=3))
    late.refused(OutOfTurn, "no longer yours")
    result.given.when(draft("b")).then("plan.drafted").leaves("awaiting_approval", "user", remark=None, feedback=())
    started = given(*TO_DONE, say("a list"), say("of friends"), draft("b")).session
    assert started.words.request == "a list\nof friends"


def test_knowledge_of_a_remark_is_kept() -> None:
    assert given(*TO_PLAN, say("see there", knowledge=(NOTES,)), REMARK_ANSWER).session.words.knowledge == (NOTES,)


# --- decisions while a remark waits for its answer


@pytest.mark.parametrize(
    ("before", "decision", "kind", "phase"),
    [
        (TO_PLAN, approve, "plan.approved", "coding"),
        (TO_PLAN, reject, "plan.rejected", "awaiting_input"),
        (TO_PLAN, c.Reject(replan=True), "plan.rejected", "planning"),
        (TO_PLAN, edit("mine"), "plan.edited", "awaiting_approval"),
        (TO_PLAN, c.CancelPlan(), "plan.cancelled", "resting"),
        (TO_PLAN, c.DeletePlan(), "plan.deleted", "resting"),
        (TO_PLAN, c.Expire(requested_version=2), "approval.expired", "resting"),
        (TO_PLAN, feedback("longer"), "message.received", "planning"),
        (TO_CODE, approve, "code.approved", "resting"),
        (TO_CODE, edit_code("x = 2"), "code.edited", "verifying"),
        (TO_ALLOW, allow("1.1"), "approval.given", "executing"),
        (TO_ALLOW, c.Reject(action_id="1.1"), "approval.denied", "verifying"),
        (TO_ALLOW, c.Skip(action_id="1.1"), "action.skipped", "verifying"),
        (TO_DONE, c.Run(), "turn.requested", "executing"),
    ],
)
@pytest.mark.parametrize("trouble", [(), (c.Fail(reason="model down"),), (c.Ask(text="which?"),)])
def test_a_decision_applies_during_a_remark_and_the_next_draft_gets_the_remark(
    before: tuple[StoryLine, ...], decision: StoryLine, kind: str, phase: str, trouble: tuple[StoryLine, ...]
) -> None:
    if trouble and isinstance(decision, c.Say):
        return  # after a question, a message is its answer and no decision
    result = given(*before, say("why?"), *trouble).when(decision).then(kind)  # type: ignore[arg-type]
    assert (result.session.phase, result.session.words.remark) == (phase, None)
    assert "why?" in (*result.session.words.unread, *result.session.words.feedback)


def test_a_remark_does_not_revive_a_stale_approval() -> None:
    given(*TO_PLAN, say("why?")).when(c.Approve(version=1)).refused(Stale, "version 2 is")
    given(*TO_DONE, say("why?")).when(c.Approve(version=2)).refused(AlreadyDone, "Version 2 is approved already")


def test_the_answer_can_be_judged_while_a_remark_on_it_is_answered() -> None:
    result = given(*DONE_TURN, say("why?")).when(c.Judge(accepted=True)).then("answer.judged")
    result.leaves("planning", "nobody", accepted=True)
    assert result.session.words.remark is not None
    result.given.when(REMARK_ANSWER).then("remark.answered").leaves("resting", "nobody", accepted=True)


def test_a_late_answer_to_a_remark_changes_nothing() -> None:
    asked = given(*TO_PLAN, say("why?"))
    decided = given(approve, begin=asked.session)
    decided.when(REMARK_ANSWER, "planner", work=asked.session.work).refused(OutOfTurn, "no longer yours")
    given(say()).when(REMARK_ANSWER).refused(OutOfTurn, "No remark")


# --- stops, failures, questions and pauses during a remark


@pytest.mark.parametrize("before", [*IN_REVIEW, *AT_REST])
@pytest.mark.parametrize("trouble", [(), (c.Ask(text="which?"),), (c.Ask(text="more?", about="budget"),)])
def test_a_stop_withdraws_the_remark(before: tuple[StoryLine, ...], trouble: tuple[StoryLine, ...]) -> None:
    result = given(*before, say("why?"), *trouble).when(c.Stop()).then("session.stopped")
    assert same(result.session, given(*before).session)


@pytest.mark.parametrize("before", [*IN_REVIEW, *AT_REST])
def test_a_failed_remark_can_be_retried_or_sent_again(before: tuple[StoryLine, ...]) -> None:
    failed = given(*before, say("why?")).when(c.Fail(reason="model down")).then("session.failed")
    again = failed.leaves("failed", "nobody").given.when(c.Retry()).then("session.retried")
    assert same(again.given.when(REMARK_ANSWER).then("remark.answered").session, given(*before).session)
    asked = (
        failed.given.when(say("well?"))
        .then("message.received", intent="remark")
        .leaves(again.session.phase, service(before))
    )
    assert asked.session.words.remark is not None
    assert asked.session.words.remark.texts == ("why?", "well?")


@pytest.mark.parametrize("before", [*IN_REVIEW, *AT_REST])
def test_a_question_during_a_remark_is_part_of_it(before: tuple[StoryLine, ...]) -> None:
    asked = given(*before, say("it is wrong"), c.Ask(text="what?"))
    asked.when(say("the sum")).then("question.answered").leaves(
        "coding" if before == TO_CODE else "planning", service(before), dialogue=(), feedback=()
    )
    answered = given(say("the sum"), REMARK_ANSWER, begin=asked.session).session
    assert same(answered, given(*before).session)


def test_the_next_draft_gets_an_answer_that_was_given_during_a_remark() -> None:
    asked = (*DONE_TURN, say("cancel it"), c.Ask(text="which order?"), say("#W1"))
    session = given(*asked, turn(act("2.1"))).session
    assert (session.words.request, session.words.feedback) == ("cancel it", ("#W1",))
    assert [(exchange.question, exchange.answer) for exchange in session.words.dialogue] == [("which order?", "#W1")]
    noted = given(*TO_PLAN, say("no"), c.Ask(text="why?"), say("see", knowledge=(NOTES,)), draft("b")).session
    assert (noted.words.feedback, noted.words.remark) == ((), None)


def test_raising_the_budget_resumes_work_on_the_remark() -> None:
    story = (*TO_PLAN, say("why?"), c.Ask(text="more?", about="budget"))
    raised = given(*story).when(c.RaiseBudget(tokens=5)).then("budget.raised").leaves("planning", "planner")
    raised.given.when(REMARK_ANSWER).then("remark.answered").leaves("awaiting_approval", "user", remark=None)


def test_a_paused_session_answers_the_remark_after_it_is_resumed() -> None:
    result = given(*TO_PLAN, c.Pause(), say("why?")).when(c.Resume()).then("session.resumed")
    result.leaves("planning", "planner").given.when(REMARK_ANSWER).then("remark.answered").leaves(
        "awaiting_approval", "user"
    )
    waiting = given(*TO_PLAN, say("why?"), c.Pause(), REMARK_ANSWER).session
    assert (waiting.phase, waiting.paused) == ("awaiting_approval", True)
    assert given(*TO_DONE, say("why?"), c.Pause(), REMARK_ANSWER).session.paused is False


def test_a_remark_does_not_restart_the_approvals_time_limit() -> None:
    story: tuple[StoryLine, ...] = (*TO_PLAN, say("why?"), c.Ask(text="why what?"), say("all"), REMARK_ANSWER)
    for ended in range(len(TO_PLAN), len(story) + 1):
        assert given(*story[:ended]).session.since_version == 2


def test_a_fork_keeps_the_remark_as_an_unread_message() -> None:
    parent = given(*TO_PLAN, say("floats")).session
    fork = c.Fork(parent_id="s1", parent_version=parent.version, carried=carry_over(parent))
    child = evolve(Session("s2"), Given(Session("s2")).when(fork).then_event())
    assert (child.phase, child.words.remark, child.words.unread) == ("awaiting_approval", None, ("floats",))


def test_earlier_messages_are_not_mixed_with_a_remark() -> None:
    batches = turn(act("1.1"), act("1.2", "1.1", ask="a write"))
    story = (request("agentflow"), batches, c.Start(), say("hurry"), done(), say("why?"))
    session = given(*story).session
    assert (session.words.unread, session.words.feedback) == (("hurry",), ())
    assert given(*story, REMARK_ANSWER).session.words.unread == ("hurry",)
    assert given(*story, turn(act("2.1"))).session.words.feedback == ("why?", "hurry")


def test_answers_to_questions_about_a_remark_are_kept() -> None:
    answered = (say("floats"), c.Ask(text="how many digits?"), c.Answer(text="two"))
    assert given(*TO_PLAN, *answered, approve).session.words.feedback == ("floats", "two")
    assert given(*TO_DONE, *answered, new_request("another")).session.words.feedback == ("floats", "two")


def test_a_draft_without_a_remark_begins_no_round() -> None:
    event = given(*TO_PLAN, feedback("b")).when(draft("b")).then_event()
    assert isinstance(event, facts.PlanDrafted)
    forged = event.model_copy(update={"begins_round": True})
    assert evolve(given(*TO_PLAN, feedback("b")).session, forged).words.earlier == ()


EVENT_FIELDS = {
    "id": "x",
    "session_id": "s1",
    "version": 9,
    "at": datetime(2030, 1, 1, tzinfo=UTC),
    "actor": "user:ann",
}


@pytest.mark.parametrize(
    ("before", "phase"), [(CODING, "coding"), (ESCALATED, "planning"), ((say(), c.Fail(reason="x")), "planning")]
)
def test_a_published_remark_is_folded_in_every_phase(before: tuple[StoryLine, ...], phase: str) -> None:
    session = evolve(given(*before).session, facts.MessageReceived(**EVENT_FIELDS, text="and floats", intent="remark"))
    assert (session.phase, session.words.remark) == (phase, None)
    assert "and floats" in (*session.words.unread, *session.words.feedback)


def test_a_published_answer_without_a_remark_changes_nothing() -> None:
    session = given(*TO_PLAN).session
    assert same(evolve(session, facts.RemarkAnswered(**EVENT_FIELDS, text="x")), session)
    assert before_remark(session) is session
    assert defer_remark(session) is session
    assert session.phase not in SERVICE_OF


def test_the_usage_of_a_remark_is_recorded() -> None:
    usage: AnyCommand = spend()
    given(*TO_PLAN, say("why?")).when(usage).then("usage.recorded").leaves("planning", "nobody")
