"""Messages are answered beside what waits, runs or rests. None withdraws it; a reply may draft what is to come."""

from datetime import UTC, datetime

import pytest

from parley.events import facts
from parley.events.values import FurtherQuestion, Option, PathPlan
from shared.domain.kernel import commands as c
from shared.domain.kernel.actors import KEEPER
from shared.domain.kernel.errors import AlreadyDone, OutOfTurn, Stale
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session, with_words
from shared.domain.rules.admissible import admit
from shared.domain.rules.decide import AnyCommand, due
from shared.domain.transcript.queries import questions
from tests.unit.domain.spec import (
    ASKED,
    CODING,
    ESCALATED,
    GIVE_UP,
    NOTES,
    TO_ALLOW,
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
    turn,
    unread,
    verdict,
)
from tests.unit.domain.test_waiting_steps import WAIT, approved_plan, wait

ANSWERED = c.AnswerRemark(text="Because it is short.")
DONE_TURN = (request("agentflow"), turn(), c.Start(), done(), verdict(), answer())
AT_REST = [TO_DONE, DONE_TURN, (say(), c.Stop()), (*TO_DONE, c.Complete())]
IN_REVIEW = [TO_PLAN, TO_CODE, TO_ALLOW]
RUNS = (*TO_DONE, c.Run(), c.Start())
FLOW_RUNS = (request("flow"), turn(act("1.1"), act("1.2", "1.1"), path=PathPlan(nodes=("a", "b"))), c.Start())


def service(before: tuple[StoryLine, ...]) -> str:
    return "generator" if before == TO_CODE else "planner"


def same(session: Session, before: Session) -> bool:
    """Whether both are equal, apart from version, command ids, decisions, the transcript, the reply and the counts."""
    told = {
        name: getattr(session, name) for name in ("version", "recent_commands", "decisions", "transcript", "counts")
    }
    return session == replace(with_words(before, reply=session.words.reply), **told)


# --- answers in words


@pytest.mark.parametrize("before", [*IN_REVIEW, *AT_REST])
def test_a_message_makes_a_service_due_and_its_answer_changes_nothing_else(before: tuple[StoryLine, ...]) -> None:
    start = given(*before).session
    asked = given(*before).when(say("why so short?")).then("message.received", intent="remark", workflow=None)
    asked.leaves(start.phase, service(before), unread=("why so short?",), since_version=start.since_version)
    assert asked.session.reply == c.Work(service=service(before), version=start.version + 1)
    assert same(replace(asked.session, reply=None, words=start.words, at_work_since=None), start)
    answered = asked.given.when(ANSWERED).then("remark.answered", text=ANSWERED.text)
    assert same(answered.session, start)
    assert answered.session.words.reply == ANSWERED.text
    assert due(answered.session) == ("user" if start.is_awaiting_user else "nobody")


@pytest.mark.parametrize("before", [RUNS, FLOW_RUNS])
def test_a_message_to_what_runs_is_answered_beside_it(before: tuple[StoryLine, ...]) -> None:
    asked = given(*before).when(say("how long?")).then("message.received", intent="guidance")
    asked.leaves("executing", "planner", work=given(*before).session.work, unread=("how long?",))
    given(done(), begin=asked.session).when(ANSWERED).then("remark.answered").leaves(
        given(*before, done()).session.phase, "nobody", unread=()
    )


def test_a_question_can_be_answered_in_words_before_anything_is_planned() -> None:
    answered = given(say("How do I learn Rust?")).when(c.AnswerRemark(text="Read the book.")).then("remark.answered")
    answered.leaves("resting", "nobody", rest_reason="answered", text="Read the book.", plan=None)
    hurried = given(say("How?"), say("quickly")).when(ANSWERED).then("remark.answered")
    hurried.leaves("planning", "planner", unread=("quickly",))


@pytest.mark.parametrize("before", [TO_PLAN, TO_CODE])
def test_words_instead_of_a_new_version_put_the_old_one_back_in_review(before: tuple[StoryLine, ...]) -> None:
    start = given(*before).session
    answered = given(*before, feedback("is it short?")).when(ANSWERED).then("remark.answered")
    answered.leaves("awaiting_approval", "user", plan=start.plan, code=start.code, unread=())


def test_which_service_answers_follows_what_is_in_review() -> None:
    asked = (*TO_CODE, say("why?"))
    for gone in (edit("mine"), c.DeletePlan()):
        result = given(*asked, gone).session
        assert (result.reply and result.reply.service, due(result), unread(result)) == ("planner", "planner", ("why?",))
    late = given(*asked).session.reply
    given(*asked, edit("mine")).when(program("x = 2.0"), work=late).refused(OutOfTurn, "no longer yours")


# --- drafts


@pytest.mark.parametrize("before", [TO_PLAN, TO_CODE])
def test_a_draft_in_reply_to_a_message_equals_a_draft_after_feedback(before: tuple[StoryLine, ...]) -> None:
    new_draft = draft("floats") if before == TO_PLAN else program("x = 2.0")
    event = given(*before, say("use floats")).when(new_draft).then_event()
    assert isinstance(event, facts.PlanDrafted | facts.CodeDrafted)
    assert not event.begins_round
    after_message = given(*before, say("use floats"), new_draft).session
    after_feedback = given(*before, feedback("use floats"), new_draft).session
    assert after_message == replace(after_feedback, decisions=after_message.decisions)


@pytest.mark.parametrize("before", AT_REST)
def test_a_draft_in_reply_to_a_message_at_rest_begins_a_round(before: tuple[StoryLine, ...]) -> None:
    start = given(*before).session
    number = f"{start.counts.turns + 1}.1"
    new_draft = (
        draft("b", goal="other") if start.workflow == "conversation" else turn(act(number, arguments={"id": "1.1"}))
    )
    event = given(*before, say("another")).when(new_draft).then_event()
    assert isinstance(event, facts.PlanDrafted | facts.TurnPlanned)
    assert event.begins_round
    after_message = given(*before, say("another"), new_draft).session
    after_request = given(*before, new_request("another"), new_draft).session
    own = ("settings", "decisions", "transcript")
    assert vars(after_message) == vars(after_request) | {name: getattr(after_message, name) for name in own}


def test_actions_of_the_last_request_may_be_repeated_for_a_new_one() -> None:
    refund = act("1.1", effect="write", arguments={"order": 1})
    first = (request("agentflow", approval="never"), turn(refund), c.Start(), done(), verdict(), answer())
    again = refund.model_copy(update={"id": "2.1"})
    for asked in ((say("once more"),), (say("once more"), c.Ask(text="the same?"), say("yes"))):
        result = given(*first, *asked).when(turn(again)).then("turn.planned").leaves("executing", "executor")
        assert result.session.turn is not None
        assert result.session.turn.actions[0].spec.decision == "proceed"
        assert (result.session.words.request, result.session.counts.turns_before) == ("once more", 1)


def test_two_messages_are_answered_together_and_one_request_comes_of_both() -> None:
    result = given(*TO_PLAN, say("why?")).when(say("and floats")).then("message.received", intent="remark")
    result.leaves("awaiting_approval", "planner")
    late = result.given.when(ANSWERED, work=c.Work(service="planner", version=3))
    late.refused(OutOfTurn, "no longer yours")
    result.given.when(draft("b")).then("plan.drafted").leaves("awaiting_approval", "user", reply=None, unread=())
    started = given(*TO_DONE, say("a list"), say("of friends"), draft("b")).session
    assert (started.words.request, started.words.request_version) == ("a list\nof friends", 8)


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
        (TO_ALLOW, feedback("floats"), "remark"),
        ((*TO_PLAN, reject), say("floats"), "feedback"),
        (ESCALATED, say("floats"), "feedback"),
        (CODING, say("floats"), "guidance"),
        (ASKED, say("floats", knowledge=(NOTES,)), "feedback"),
    ],
)
def test_how_messages_count(before: tuple[StoryLine, ...], words: StoryLine, intent: str) -> None:
    given(*before).when(words).then("message.received", intent=intent)  # type: ignore[arg-type]


# --- decisions while a message waits for its answer


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
@pytest.mark.parametrize("fails", [False, True])
def test_a_decision_applies_while_a_message_is_answered_and_the_message_is_answered_or_taken_in(
    before: tuple[StoryLine, ...], decision: StoryLine, kind: str, phase: str, fails: bool
) -> None:
    failure = (c.Fail(reason="model down"), say("well?")) if fails else ()
    result = given(*before, say("why?"), *failure).when(decision).then(kind)  # type: ignore[arg-type]
    assert result.session.phase == phase
    assert unread(result.session)[0] == ("well?" if fails else "why?")
    assert (result.session.reply is None) == (phase in ("planning", "coding"))


def test_a_message_does_not_revive_a_stale_approval() -> None:
    given(*TO_PLAN, say("why?")).when(c.Approve(version=1)).refused(Stale, "version 2 is")
    given(*TO_DONE, say("why?")).when(c.Approve(version=2)).refused(AlreadyDone, "Version 2 is approved already")


def test_the_answer_can_be_judged_while_a_message_about_it_is_answered() -> None:
    result = given(*DONE_TURN, say("why?")).when(c.Judge(accepted=True)).then("answer.judged")
    result.leaves("resting", "nobody", accepted=True)
    result.given.when(ANSWERED).then("remark.answered").leaves("resting", "nobody", accepted=True)


def test_a_late_reply_changes_nothing() -> None:
    asked = given(*TO_PLAN, say("why?"))
    decided = given(approve, begin=asked.session)
    decided.when(ANSWERED, "planner", work=asked.session.reply).refused(OutOfTurn, "no longer yours")
    given(*CODING, program()).when(ANSWERED).refused(OutOfTurn, "No message waits for words")


def test_a_reply_is_recorded_once_however_often_it_is_delivered() -> None:
    asked = given(*TO_PLAN, say("why?")).session
    event = given(begin=asked).when(ANSWERED).then_event()
    answered = evolve(asked, event)
    given(begin=answered).when(ANSWERED, work=asked.reply).refused(OutOfTurn, "no longer yours")
    assert "no service is due" in admit(answered, event.model_copy(update={"version": answered.version + 1}))[1]


# --- stops, failures, questions and pauses


@pytest.mark.parametrize("before", [*IN_REVIEW, *AT_REST])
def test_a_stop_withdraws_the_message_and_changes_nothing_else(before: tuple[StoryLine, ...]) -> None:
    result = given(*before, say("why?"), say("and how?")).when(c.Stop()).then("session.stopped", ended=())
    assert same(result.session, given(*before).session)
    assert [entry.text for entry in result.session.transcript if entry.kind == "message"] == ["why?", "and how?"]


def test_a_message_after_the_stop_of_another_is_answered_alone() -> None:
    asked = given(*TO_DONE, say("a list"), c.Stop(), say("a tree"))
    assert unread(asked.session) == ("a tree",)
    assert given(draft("b"), begin=asked.session).session.words.request == "a tree"


@pytest.mark.parametrize("before", [*IN_REVIEW, *AT_REST])
def test_a_message_that_cannot_be_answered_is_told_so_and_can_be_sent_again(before: tuple[StoryLine, ...]) -> None:
    start = given(*before).session
    for actor in ("", KEEPER):
        told = given(*before, say("why?")).when(c.Fail(reason="model down"), actor).then("remark.answered")
        assert same(told.session, start)
        assert "could not be answered: model down." in told.session.words.reply
    told.given.when(say("why?")).then("message.received", intent="remark").leaves(start.phase, service(before))


@pytest.mark.parametrize("before", [TO_PLAN, TO_CODE, *AT_REST])
def test_a_service_may_ask_before_it_drafts_in_reply_to_a_message(before: tuple[StoryLine, ...]) -> None:
    start, reviewed = given(*before).session, before in (TO_PLAN, TO_CODE)
    asked = given(*before, say("it is wrong")).when(c.Ask(text="what?")).then("question.asked")
    asked.leaves("awaiting_input", "user", reply=None, unread=("it is wrong",), answer=start.answer)
    for words in (say("the sum"), say("the sum", knowledge=(NOTES,))):
        phase = "coding" if before == TO_CODE else "planning"
        answered = given(words, begin=asked.session).session
        assert (answered.phase, due(answered)) == (phase, service(before))
        assert unread(answered) == (("it is wrong", "the sum") if reviewed else ("the sum",))
        assert answered.words.request == (start.words.request if reviewed else "it is wrong")
        replied = given(ANSWERED, begin=answered).session
        assert (replied.phase, unread(replied)) == ("awaiting_approval" if reviewed else "resting", ())
        assert not reviewed or (replied.plan, replied.code) == (start.plan, start.code)


@pytest.mark.parametrize("before", [TO_PLAN, TO_CODE, *AT_REST])
def test_a_stop_withdraws_the_message_that_a_service_has_asked_about(before: tuple[StoryLine, ...]) -> None:
    result = given(*before, say("it is wrong"), c.Ask(text="what?")).when(c.Stop()).then("session.stopped")
    assert same(result.session, replace(given(*before).session, since_version=result.session.since_version))


def test_several_questions_in_reply_to_a_message_at_rest_are_about_one_new_request() -> None:
    size = FurtherQuestion(text="Which size?")
    asked = (*TO_DONE, say("a shirt"), c.Ask(text="Which colour?", further=(size,)))
    first = given(*asked, c.Answer(text="red")).session
    assert (first.phase, first.words.request) == ("awaiting_input", "write a calculator")
    assert unread(first) == ("a shirt", "red")
    for answers in ((c.Answer(text="red"), say("S")), (c.Answer(text="red", more=("S",)),)):
        session = given(*asked, *answers).session
        assert (session.phase, session.words.request) == ("planning", "a shirt")
        assert "\n".join(unread(session)) == "red\nS"
        assert questions(session) == (("Which colour?", "Which size?"),)


def test_a_question_in_reply_to_a_message_about_actions_is_said_in_words() -> None:
    size = FurtherQuestion(text="Size?", options=(Option(key="1", label="S"),))
    ask = c.Ask(text="what?", options=("this", "that"), further=(size,))
    told = "what?\n- this\n- that\n\nSize?\n- S"
    asked = given(*TO_ALLOW, say("it is wrong")).when(ask).then("remark.answered", text=told)
    assert same(asked.session, given(*TO_ALLOW).session)


@pytest.mark.parametrize("before", [*IN_REVIEW, *AT_REST, (*approved_plan(WAIT), wait("s2"))])
def test_a_message_is_answered_once_the_budget_for_it_is_raised(before: tuple[StoryLine, ...]) -> None:
    budget = (*before, say("why?"), c.Ask(text="more?", about="budget"))
    given(*budget).when(c.Ask(text="more?", about="budget"), work=given(*before, say("why?")).session.reply).refused(
        OutOfTurn, "no longer yours"
    )
    raised = given(*budget).when(c.RaiseBudget(tokens=5)).then("budget.raised")
    raised.leaves(given(*before).session.phase, service(before), unread=("why?",))
    answered = raised.given.when(ANSWERED).then("remark.answered").session
    again = replace(given(*before).session, since_version=answered.since_version)  # its time limit begins again
    assert same(answered, again)
    for given_up in (c.Stop(), c.Answer(text=GIVE_UP)):
        assert same(given(*budget).when(given_up).then("session.stopped").session, again)


def test_the_budget_of_what_runs_is_asked_for_beside_the_message() -> None:
    asked = (*RUNS[:-1], say("why?"), lambda _: c.Ask(text="more?", about="budget"))
    session = given(*asked).session
    assert (session.question is not None, session.reply is not None) == (True, True)
    raised = given(*asked).when(c.RaiseBudget(tokens=5)).then("budget.raised").leaves("executing", "executor")
    assert raised.session.reply == session.reply
    given(*asked).when(c.Stop()).then("session.stopped").leaves("resting", "nobody", reply=None, unread=())


def test_a_message_does_not_restart_the_approvals_time_limit() -> None:
    story: tuple[StoryLine, ...] = (*TO_PLAN, say("why?"), say("all"), ANSWERED)
    for ended in range(len(TO_PLAN), len(story) + 1):
        assert given(*story[:ended]).session.since_version == 2


def test_a_message_that_no_work_reads_next_is_answered_after_the_reply() -> None:
    """It came while code was checked, after a message to which the generator replies."""
    story = (*TO_CODE, say("why?"), edit_code("x = 2"), say("and floats?"), checked())
    assert due(given(*story[:-1]).session) == "nobody"  # the check, and then the reply, come first
    result = given(*story).when(ANSWERED).then("remark.answered")
    result.leaves("awaiting_approval", "generator", unread=("and floats?",))
    drafted = given(*story).when(program("y = 2.0")).then("code.drafted")
    drafted.leaves("coding", "generator", unread=("and floats?",))


def test_a_draft_without_a_message_begins_no_round() -> None:
    event = given(*TO_PLAN, feedback("b")).when(draft("b")).then_event()
    assert isinstance(event, facts.PlanDrafted)
    assert not event.begins_round


# --- events that other programs publish

EVENT_FIELDS = {
    "id": "x",
    "session_id": "s1",
    "version": 9,
    "at": datetime(2030, 1, 1, tzinfo=UTC),
    "actor": "user:ann",
}


@pytest.mark.parametrize(
    ("before", "phase", "service"),
    [
        (CODING, "coding", "nobody"),
        (ESCALATED, "escalated", "planner"),
        ((say(), c.Fail(reason="x")), "failed", "planner"),
    ],
)
def test_a_published_message_is_folded_in_every_phase(before: tuple[StoryLine, ...], phase: str, service: str) -> None:
    session = evolve(given(*before).session, facts.MessageReceived(**EVENT_FIELDS, text="and floats", intent="remark"))
    assert (session.phase, due(session), unread(session)[-1:]) == (phase, service, ("and floats",))


def test_a_published_answer_without_a_message_changes_no_review() -> None:
    session = given(*TO_PLAN).session
    assert same(evolve(session, facts.RemarkAnswered(**EVENT_FIELDS, text="x")), session)


def test_the_usage_of_a_reply_is_recorded() -> None:
    usage: AnyCommand = spend()
    given(*TO_PLAN, say("why?")).when(usage).then("usage.recorded").leaves("awaiting_approval", "user")
