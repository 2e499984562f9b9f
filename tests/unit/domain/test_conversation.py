"""The conversation workflow: request, plan, code, run, and feedback on each."""

from typing import Any

import pytest

from parley.events.hashing import canonical_hash
from parley.events.values import Knowledge, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid, OutOfTurn, Repeated, Stale
from shared.domain.kernel.session import MAX_REPAIRS, MAX_WORDS_BYTES, SESSION, Session, review_target
from shared.domain.transcript.entries import MAX_BYTES
from shared.domain.transcript.messages import CHAT_HISTORY, chat_history
from shared.domain.turn.batches import find_action
from tests.unit.domain.spec import (
    NOTES,
    RUN_CODE,
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    StoryLine,
    approve,
    checked,
    draft,
    edit,
    edit_code,
    feedback,
    given,
    new_request,
    program,
    reject,
    say,
    unread,
    verdict,
)


def test_a_request_makes_the_planner_due() -> None:
    result = given().when(say("write a calculator\nwith brackets", knowledge=(NOTES,))).then("message.received")
    result.leaves("planning", "planner", owner="ann", title="write a calculator", knowledge=(NOTES,), version=1)
    assert result.event.id == "s1:0:message.received"


@pytest.mark.parametrize("text", ["", " \n "])
def test_an_empty_message_is_refused(text: str) -> None:
    given().when(say(text)).refused(Invalid, "empty")


def test_a_drafted_plan_waits_for_the_users_approval() -> None:
    result = given(say()).when(draft("add", "divide")).then("plan.drafted", version=2, actor="planner")
    result.leaves("awaiting_approval", "user", work=None, plans=1)
    assert result.session.plan is not None
    assert result.session.plan.text == "Goal: a calculator\n\n1. add\n2. divide"
    assert result.event.id == "s1:1:plan.drafted"


def test_the_text_of_a_plan_shows_tools_and_notes() -> None:
    steps = (Step(text="find it", tool="orders", arguments={"id": 7}), Step(text="look", tool="see"))
    plan = given(say(), c.DraftPlan(goal="g", steps=steps, notes="be kind")).session.plan
    assert plan is not None
    assert plan.text == "Goal: g\n\n1. find it — `orders(id=7)`\n2. look — `see()`\n\nNotes: be kind"


def test_feedback_is_never_approval() -> None:
    result = given(*TO_PLAN).when(feedback("yes, and floats")).then("message.received", intent="feedback")
    result.leaves("planning", "planner", unread=("yes, and floats",))
    assert result.session.plan is not None
    assert result.session.plan.status == "rejected"
    result.given.when(draft("floats")).then("plan.drafted").leaves("awaiting_approval", "user", unread=(), plans=2)


def test_an_edit_is_a_new_version_that_waits_for_its_own_approval() -> None:
    result = given(*TO_PLAN).when(edit("add", "divide")).then("plan.edited", base_version=2, version=3)
    result.leaves("awaiting_approval", "user", plans=2)
    result.given.when(c.Approve(version=2)).refused(Stale, "version 3")
    result.given.when(approve).then("plan.approved", plan_version=3).leaves("coding", "generator")


def test_approval_is_bound_to_the_version_and_its_hash() -> None:
    at_review = given(*TO_PLAN)
    at_review.when(c.Approve(version=2, hash=canonical_hash("something else"))).refused(Stale, "differs")
    at_review.when(c.Approve(version=1)).refused(Stale, "version 2 is")
    assert at_review.session.plan is not None
    at_review.when(approve).then("plan.approved", plan_version=2, hash=at_review.session.plan.hash)


def test_rejecting_the_plan_asks_for_feedback() -> None:
    result = given(*TO_PLAN).when(reject).then("plan.rejected", plan_version=2, replan=False)
    result.leaves("awaiting_input", "user", question=None)
    result.given.when(approve).refused(OutOfTurn, "no plan or code in review")
    result.given.when(say("shorter")).then("message.received", intent="feedback").leaves("planning", "planner")


@pytest.mark.parametrize(
    ("before", "phase", "target", "kind", "due"),
    [
        (TO_PLAN, "planning", None, "plan.rejected", "planner"),
        ((*TO_PLAN, reject), "planning", None, "plan.rejected", "planner"),
        (TO_CODE, "coding", None, "code.rejected", "generator"),
        (TO_CODE, "planning", "text", "plan.rejected", "planner"),
        (TO_DONE, "coding", "code", "code.rejected", "generator"),
        (TO_DONE, "planning", None, "plan.rejected", "planner"),
        ((*TO_DONE, c.Continue()), "coding", "code", "code.rejected", "generator"),
        ((*TO_DONE, *RUN_CODE, verdict()), "coding", "code", "code.rejected", "generator"),
    ],
)
def test_replan_asks_for_another_version(
    before: tuple[StoryLine, ...], phase: str, target: str | None, kind: str, due: str
) -> None:
    result = given(*before).when(c.Reject(replan=True, target=target)).then(kind, replan=True)
    result.leaves(phase, due, another=True, question=None, turn=None)


@pytest.mark.parametrize(
    ("before", "command", "why", "text"),
    [
        ((say(),), c.Reject(replan=True), OutOfTurn, "stop it first"),
        ((say(), c.Stop()), c.Reject(replan=True), OutOfTurn, "no plan to replace"),
        (TO_PLAN, c.Reject(replan=True, target="code"), OutOfTurn, "no code to replace"),
        (TO_PLAN, c.Reject(replan=True, version=1), Stale, "version 2 is"),
        ((*TO_CODE, edit("other")), c.Reject(replan=True, target="code"), OutOfTurn, "approve the plan first"),
        (TO_CODE, c.Reject(target="text"), OutOfTurn, "The code is in review"),
        (TO_CODE, c.Reject(version=2), Stale, "version 4 is"),
        (TO_DONE, c.Reject(), OutOfTurn, "the session is resting"),
    ],
)
def test_rejecting_what_is_not_in_review_is_refused(
    before: tuple[StoryLine, ...], command: c.Reject, why: type[Stale], text: str
) -> None:
    given(*before).when(command).refused(why, text)


@pytest.mark.parametrize(
    ("before", "base", "steps", "why", "text"),
    [
        ((say(),), 1, ("x",), OutOfTurn, "in review or the session rests"),
        (TO_PLAN, 1, ("x",), Stale, "version 2 is the newest"),
        (TO_PLAN, 2, (), Invalid, "at least one step"),
        (TO_PLAN, 2, ("add",), Invalid, "changes nothing"),
    ],
)
def test_edits_of_the_plan_that_are_refused(
    before: tuple[StoryLine, ...], base: int, steps: tuple[str, ...], why: type[Stale], text: str
) -> None:
    command = c.EditPlan(base=base, steps=tuple(Step(text=text) for text in steps))
    given(*before).when(command).refused(why, text)


def test_an_edit_may_change_goal_and_notes_only() -> None:
    command = c.EditPlan(base=2, steps=(Step(text="add"),), goal=" two calculators ", notes="small")
    given(*TO_PLAN).when(command).then("plan.edited", goal="two calculators", notes="small")


def test_editing_the_plan_supersedes_its_code_in_review() -> None:
    result = given(*TO_CODE).when(edit("subtract")).then("plan.edited").leaves("awaiting_approval", "user")
    assert result.session.code is not None
    assert result.session.code.status == "superseded"
    assert review_target(result.session) == "text"
    result.given.when(edit_code("x = 1")).refused(OutOfTurn)
    result.given.when(approve).then("plan.approved", plan_version=6).leaves("coding", "generator")


def test_code_cannot_be_edited_before_the_changed_plan_is_approved() -> None:
    given(*TO_DONE, new_request("another"), draft("b")).when(edit_code("x = 1")).refused(
        OutOfTurn, "approve the plan first"
    )


@pytest.mark.parametrize(
    ("before", "base", "code", "why"),
    [
        (TO_PLAN, 2, "x", OutOfTurn),
        ((*TO_PLAN, approve, program()), 4, "x", OutOfTurn),
        (TO_CODE, 2, "x", Stale),
        (TO_CODE, 4, "  \n", Invalid),
        (TO_CODE, 4, "print(1)", Invalid),
    ],
)
def test_edits_of_the_code_that_are_refused(
    before: tuple[StoryLine, ...], base: int, code: str, why: type[Stale]
) -> None:
    given(*before).when(c.EditCode(base=base, code=code)).refused(why)


def test_code_is_checked_before_it_is_reviewed() -> None:
    result = given(*TO_PLAN, approve).when(program()).then("code.drafted", plan_version=2)
    result.leaves("verifying", "verifier")
    result.given.when(checked()).then("code.verified", code_version=4).leaves("awaiting_approval", "user")


def test_while_code_is_verified_there_is_no_turn_to_verify() -> None:
    given(*TO_PLAN, approve, program()).when(verdict()).refused(OutOfTurn, "no turn")


def test_while_a_run_is_verified_there_is_no_code_to_verify() -> None:
    given(*TO_DONE, *RUN_CODE).when(checked()).refused(OutOfTurn, "no code to verify")


def test_failing_code_is_repaired_a_few_times_and_then_reviewed() -> None:
    story: list[StoryLine] = [*TO_PLAN, approve]
    for number in range(MAX_REPAIRS):
        result = given(*story, program(f"x = {number}")).when(checked(ok=False)).then("code.verified")
        result.leaves("coding", "generator", problems=("tests: 1 failed",))
        story += [program(f"x = {number}"), checked(ok=False)]
    result = given(*story, program("x = 9")).when(checked(ok=False)).then("code.verified")
    result.leaves("awaiting_approval", "user")
    result.given.when(approve).then("code.approved")


def test_code_that_the_user_edited_is_checked_but_not_repaired() -> None:
    result = given(*TO_CODE, edit_code("x = 1/0")).when(checked(ok=False)).then("code.verified")
    result.leaves("awaiting_approval", "user", problems=())


def test_feedback_on_code_resets_the_repairs() -> None:
    broken = (
        *TO_PLAN,
        approve,
        program(),
        checked(ok=False),
        program(),
        checked(ok=False),
        program(),
        checked(ok=False),
    )
    result = given(*broken).when(feedback("use floats")).then("message.received", intent="feedback")
    result.leaves("coding", "generator", unread=("use floats",), problems=())
    result.given.when(program("y")).then("code.drafted").leaves("verifying", "verifier", unread=())
    again = given(*broken, feedback("use floats"), program("y")).when(checked(ok=False)).then("code.verified")
    again.leaves("coding", "generator")


def test_rejecting_the_code_asks_for_feedback() -> None:
    refused = given(*TO_CODE).when(reject).then("code.rejected", code_version=4, replan=False)
    refused.leaves("awaiting_input", "user")
    refused.given.when(say("use floats")).then("message.received").leaves("coding", "generator")
    refused.given.when(edit_code("x = 2.0")).then("code.edited").leaves("verifying", "verifier")


def test_the_session_rests_after_code_is_approved() -> None:
    result = given(*TO_CODE).when(approve).then("code.approved", code_version=4, hash=canonical_hash("print(1)"))
    result.leaves("resting", "nobody", rest_reason="answered")
    assert result.session.plan is not None
    assert result.session.plan.status == "completed"


def test_approved_code_runs_when_the_user_asks() -> None:
    result = given(*TO_DONE).when(c.Run(stdin="1", args=("-v",))).then("turn.requested")
    result.leaves("executing", "executor")
    action = find_action(result.session, "1.1")
    assert action is not None
    arguments = {"code_version": 4, "hash": canonical_hash("print(1)"), "stdin": "1", "args": ["-v"]}
    assert action.spec.arguments == arguments


@pytest.mark.parametrize("before", [TO_PLAN, TO_CODE, (*TO_DONE, new_request("more"))])
def test_only_approved_code_runs_and_only_at_rest(before: tuple[StoryLine, ...]) -> None:
    given(*before).when(c.Run()).refused(OutOfTurn, "Only approved code")


@pytest.mark.parametrize(
    ("next_action", "phase", "due", "problems"),
    [
        ("complete", "resting", "nobody", ()),
        ("continue", "resting", "nobody", ()),
        ("escalate", "resting", "nobody", ()),
        ("retry", "coding", "generator", ("seen",)),
    ],
)
def test_the_verdict_on_a_run(next_action: str, phase: str, due: str, problems: tuple[str, ...]) -> None:
    result = given(*TO_DONE, *RUN_CODE).when(verdict(next_action)).then("turn.verified", turn=1)
    result.leaves(phase, due, problems=problems)


def test_continue_asks_and_the_answer_is_the_next_request() -> None:
    asked = given(*TO_DONE).when(c.Continue()).then("question.asked", kind="continue")
    asked.leaves("awaiting_input", "user")
    asked.given.when(say("add floats", knowledge=(NOTES,))).then("message.received", intent="request").leaves(
        "planning", "planner", knowledge=(NOTES,), request="add floats", question=None
    )
    asked.given.when(c.Answer(text="add floats")).then("question.answered").leaves(
        "planning", "planner", request="add floats", question=None
    )


def test_continue_is_refused_while_a_service_works() -> None:
    given(say()).when(c.Continue()).refused(OutOfTurn, "come to rest")


@pytest.mark.parametrize("before", [TO_DONE, (*TO_DONE, c.Continue()), (say(), c.Stop()), (say(), c.Fail(reason="no"))])
def test_a_completed_session_takes_a_new_request_and_keeps_its_plan(before: tuple[StoryLine, ...]) -> None:
    result = given(*before).when(c.Complete()).then("session.completed")
    result.leaves("resting", "nobody", rest_reason="completed", question=None, resume_phase=None)
    result.given.when(c.Complete()).refused(OutOfTurn, "when it rests")
    plan = result.session.plan
    result.given.when(new_request("more")).then("message.received", intent="request").leaves(
        "planning", "planner", plan=plan
    )


@pytest.mark.parametrize("before", [(say(),), TO_PLAN])
def test_complete_is_refused_during_work_and_reviews(before: tuple[StoryLine, ...]) -> None:
    given(*before).when(c.Complete()).refused(OutOfTurn)


def test_a_repeated_command_changes_nothing() -> None:
    result = given(*TO_PLAN).when(approve, id="c7").then("plan.approved")
    assert result.event.id == "s1:c7"
    result.given.when(c.Stop(), id="c7").refused(Repeated, "nothing was done twice")
    result.given.when(c.Stop(), id="c8").then("session.stopped")


@pytest.mark.parametrize(("id_", "fine"), [("7:plan.drafted", False), ("a:7", True), ("7", True)])
def test_a_users_command_id_cannot_look_like_a_workers(id_: str, fine: bool) -> None:
    when = given().when(say(), id=id_)
    if fine:
        when.then("message.received")
    else:
        when.refused(Invalid, "must not begin")


@pytest.mark.parametrize(
    ("before", "command", "text"),
    [
        ((), say("x" * 50_001), "text"),
        ((say(),), c.DraftPlan(goal="", steps=(Step(text="a"),)), "goal"),
        ((say(),), c.DraftPlan(goal="g", steps=()), "steps"),
        ((say(),), c.Rename(title=""), "title"),
        ((*TO_PLAN, approve), c.DraftCode(code=""), "code"),
    ],
)
def test_values_that_an_event_may_not_hold_are_refused(before: tuple[StoryLine, ...], command: Any, text: str) -> None:
    given(*before).when(command).refused(Invalid, text)


@pytest.mark.parametrize(
    "command", [c.Stop(), c.Approve(version=1), c.Rename(title="x"), c.Expire(requested_version=1)]
)
def test_a_session_begins_with_a_message(command: c.Stop) -> None:
    given().when(command).refused(OutOfTurn, "no such session")


def test_the_session_keeps_the_earlier_messages_of_a_chat() -> None:
    chat = Knowledge(name=CHAT_HISTORY, text="user: How many?\n\nassistant: 416")
    assert chat_history(given(say(knowledge=(NOTES, chat)), c.Stop(), say("next")).session) == chat.text
    assert chat_history(given(say(knowledge=(NOTES,))).session) == ""


def test_any_message_may_attach_knowledge() -> None:
    assert given(say(), say("and", knowledge=(NOTES,))).session.words.knowledge == (NOTES,)
    assert given(*TO_PLAN, say("and", knowledge=(NOTES,))).session.words.knowledge == (NOTES,)


def test_knowledge_of_fifty_messages_stays_within_the_limit() -> None:
    big = "x" * 50_000
    files = tuple(Knowledge(name=f"file {number}", text=big) for number in range(5))
    attached = given(*(line for _ in range(10) for line in (say("next", knowledge=files), c.Stop()))).session
    assert attached.words.knowledge == files
    steered = given(say(), *(say(f"{number:02}{big[2:]}") for number in range(50))).session
    assert [text[:2] for text in unread(steered)] == ["45", "46", "47", "48", "49"]
    criticised = given(*TO_CODE, *(line for _ in range(50) for line in (say(big), program("y = 2"), checked()))).session
    for session in (attached, steered, criticised):
        assert len(SESSION.dump_json(session)) < MAX_WORDS_BYTES + MAX_BYTES + 60_000


def test_a_session_with_a_blank_first_message_is_untitled() -> None:
    blank = given().when(say("x")).then("message.received").event.model_copy(update={"text": " "})
    assert given(blank, begin=Session("s1")).session.title == "Untitled"
