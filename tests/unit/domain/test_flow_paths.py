"""Paths through flows: run node by node, changed by conditions and by users, known to the next request."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from parley.events.values import ActionAttempt, ActionSpec, ModelCall, PathPlan, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import AlreadyDone, Invalid, OutOfTurn, Stale
from shared.domain.kernel.session import Session
from shared.domain.transcript.messages import programmed_plan
from shared.domain.transcript.queries import said_since_request
from shared.domain.turn.batches import next_batch
from shared.domain.turn.flow_paths import MAX_NODES, carry_over, outputs
from shared.story import finish_action
from tests.unit.domain.spec import (
    TO_CODE,
    TO_DONE,
    StoryLine,
    allow,
    answer,
    done,
    feedback,
    given,
    new_request,
    request,
    say,
    status,
    story,
    verdict,
)

NODES = ("sql.look", "sql.write", "sql.run", "sql.tell")
ASKED = (request("flow", "how many orders"),)


def node(tool: str, number: int = 0, **fields: Any) -> ActionSpec:
    needs = {"depends_on": (f"1.{number - 1}",)} if number > 1 else {}
    return ActionSpec(id=f"1.{number}", tool=tool, **needs, **fields)


def path(*tools: str, **fields: Any) -> c.PlanTurn:
    tools = tools or NODES
    actions = tuple(node(tool, number) for number, tool in enumerate(tools, 1))
    return c.PlanTurn(sub_goal="walk", actions=actions, final=True, path=PathPlan(nodes=tools, **fields))


def walk(number: int, **outputs: Any) -> tuple[c.Start, c.Finish]:
    return c.Start(), finish_action(action_id=f"1.{number}", ok=True, result=outputs or {"made": number})


def edit(*tools: str, after: str, **values: Any) -> c.EditPath:
    return c.EditPath(actions=tuple(node(tool) for tool in tools), after=after, given=values)


def rest(session: Session) -> list[str]:
    assert session.turn is not None
    return [a.spec.tool for a in session.turn.actions if a.status == "planned"]


PLANNED = (*ASKED, path())


def test_a_path_runs_node_by_node_to_its_answer() -> None:
    result = given(*ASKED).when(path(attempts=2)).then("turn.planned").leaves("executing", "executor")
    for number in range(1, 4):
        result = given(*walk(number)[:1], begin=result.session).when(walk(number)[1]).then("actions.finished")
        result.leaves("executing", "executor")
    last = given(*walk(4, answer="12")[:1], begin=result.session).when(walk(4, answer="12")[1]).then("actions.finished")
    last.leaves("verifying", "verifier")
    answered = given(verdict("complete"), begin=last.session).when(answer("12")).then("answer.given")
    assert answered.session.turn is not None
    assert outputs(answered.session.turn) == {"sql": {"made": 3, "answer": "12"}}


def test_the_executor_changes_the_path_between_two_nodes() -> None:
    story = (*PLANNED, *walk(1))
    stopped = given(*story).when(c.ChangeTurn(actions=(node("sql.tell"),), reason="look: nothing there"))
    result = stopped.then("turn.changed", turn=1, reason="look: nothing there").leaves("executing", "executor")
    assert rest(result.session) == ["sql.tell"]
    assert [a.spec.id for a in next_batch(result.session.turn)] == ["1.5"], "ids are never reused"
    ended = (
        given(c.Start(), begin=result.session)
        .when(finish_action(action_id="1.5", ok=True, result={}))
        .then("actions.finished")
    )
    ended.leaves("verifying", "verifier")


def test_a_path_cannot_be_changed_while_a_node_runs_or_without_a_path() -> None:
    change = c.ChangeTurn(actions=(node("sql.tell"),))
    given(*PLANNED, c.Start()).when(change).refused(OutOfTurn, "when it has ended")
    without = c.PlanTurn(sub_goal="x", actions=(node("sql.look", 1),))
    given(*ASKED, without).when(change).refused(Invalid, "not a step that has yet to start")
    given(*ASKED).when(change).refused(OutOfTurn, "not allowed while the session is planning")


def test_a_node_is_approved_when_it_is_next_and_its_arguments_are_known() -> None:
    resolved = node("sql.run", arguments={"sql": "select 1"}, approval_reason="look at it first")
    story = (*PLANNED, *walk(1), *walk(2))
    asks = given(*story).when(c.ChangeTurn(actions=(resolved, node("sql.tell")))).then("turn.changed")
    asks.leaves("awaiting_approval", "user")
    granted = asks.given.when(allow("1.5")).then("approval.given").leaves("executing", "executor")
    assert status(granted.session, "1.5") == "approved"
    denied = asks.given.when(c.Reject(action_id="1.5")).then("approval.denied").leaves("verifying", "verifier")
    assert status(denied.session, "1.6") == "skipped"


def test_the_words_of_a_denial_go_back_to_the_planner() -> None:
    resolved = node("sql.run", arguments={"sql": "select 1"}, approval_reason="look at it first")
    asks = given(*PLANNED, *walk(1), *walk(2), c.ChangeTurn(actions=(resolved, node("sql.tell"))))
    denied = asks.when(c.Reject(action_id="1.5", reason="only this year")).then("approval.denied")
    denied.leaves("planning", "planner", unread=("only this year",), turn=None)
    assert [(ended.id, ended.reason) for ended in denied.event.ended] == [("1.6", "superseded")]
    denied.given.when(path()).then("turn.planned").leaves("executing", "executor", unread=())


def test_only_the_next_node_waits_for_approval() -> None:
    """Two writes are approved one after the other, because the second one's arguments are not yet known."""
    first, second = (node(f"sql.w{n}", effect="write", arguments={"n": n}) for n in (1, 2))
    asks = given(*PLANNED, *walk(1)).when(c.ChangeTurn(actions=(first, second))).then("turn.changed")
    granted = asks.given.when(allow("1.5")).then("approval.given").leaves("executing", "executor")
    again = given(c.Start(), begin=granted.session).when(done("1.5")).then("actions.finished")
    again.leaves("awaiting_approval", "user")


def test_a_node_runs_after_the_answer_to_its_question() -> None:
    question = c.Ask(about="action", action_id="1.2", text="These?", form={"kind": "tables"})
    asked = given(*PLANNED, *walk(1)).when(question).then("question.asked", form={"kind": "tables"})
    asked.leaves("awaiting_input", "user")
    assert asked.session.question is not None
    assert asked.session.question.form == {"kind": "tables"}
    result = asked.given.when(c.Answer(text="yes")).then("question.answered").leaves("executing", "executor")
    assert result.session.turn is not None
    action = result.session.turn.actions[1]
    assert (action.status, action.result) == ("approved", "yes")
    ran = given(c.Start(), begin=result.session).when(done("1.2")).then("actions.finished")
    ran.leaves("executing", "executor")


def test_outside_of_paths_the_answer_is_the_actions_result() -> None:
    turn = c.PlanTurn(sub_goal="x", actions=(node("look", 1),))
    question = c.Ask(about="action", action_id="1.1", text="Which?")
    result = given(request("agentflow"), turn, question).when(c.Answer(text="this one")).then("question.answered")
    assert status(result.session, "1.1") == "finished"


def test_a_user_changes_the_rest_of_the_path_while_a_node_runs() -> None:
    story = (*PLANNED, c.Start())
    result = given(*story).when(edit("sql.tell", after="1.1")).then("turn.changed").leaves("executing", "nobody")
    assert rest(result.session) == ["sql.tell"]
    assert next_batch(result.session.turn) == ()
    given(begin=result.session).when(done("1.1")).then("actions.finished").leaves("executing", "executor")


def test_values_that_the_user_sets_appear_as_a_finished_node() -> None:
    story = (*PLANNED, *walk(1), *walk(2, sql="select 1"))
    result = given(*story).when(edit("sql.run", "sql.tell", after="1.2", sql="select 2"))
    changed = result.then("turn.changed", overrides={"sql": "select 2"}).leaves("executing", "executor")
    turn = changed.session.turn
    assert turn is not None
    assert outputs(turn)["sql"]["sql"] == "select 2"
    assert [(a.spec.tool, a.status) for a in turn.actions[2:]] == [
        ("sql.person", "finished"),
        ("sql.run", "planned"),
        ("sql.tell", "planned"),
    ]
    assert turn.actions[3].spec.depends_on == (turn.actions[2].spec.id,)


def test_a_user_may_end_a_path_but_not_start_an_empty_one() -> None:
    given(*PLANNED, *walk(1)).when(edit(after="1.1")).then("turn.changed").leaves("verifying", "verifier")
    given(*PLANNED).when(edit(after="")).refused(Invalid, "at least one node")
    set_first = given(*PLANNED).when(edit("sql.tell", after="", sql="x")).then("turn.changed")
    assert set_first.session.turn is not None
    assert set_first.session.turn.actions[0].spec.tool == "sql.person"


def test_a_user_may_end_the_path_with_their_own_value() -> None:
    result = given(*PLANNED, *walk(1)).when(edit(after="1.1", answer="42")).then("turn.changed")
    result.leaves("verifying", "verifier")
    assert outputs(result.session.turn)["sql"]["answer"] == "42"


def test_an_edit_of_nodes_that_have_run_since_is_stale() -> None:
    given(*PLANNED, *walk(1)).when(edit("sql.tell", after="")).refused(Stale, "gone on")
    given(*PLANNED, c.Start()).when(edit("sql.tell", after="")).refused(Stale, "gone on")


def test_a_path_can_be_changed_while_it_runs_or_asks_but_not_before_or_after() -> None:
    question = c.Ask(about="action", action_id="1.2", text="These?")
    asks = (*PLANNED, *walk(1), question)
    result = given(*asks).when(edit("sql.tell", after="1.1")).then("turn.changed").leaves("executing", "executor")
    assert result.session.question is None
    given(*asks, c.Stop()).when(edit("sql.tell", after="1.1")).refused(OutOfTurn, "No path is being walked")
    given(*ASKED).when(edit("sql.tell", after="")).refused(OutOfTurn, "No path is being walked")
    uncertain = (*PLANNED, c.Start(), c.ReportUncertain(action_id="1.1", reason="?"))
    given(*uncertain).when(edit("sql.tell", after="1.1")).refused(OutOfTurn, "No path is being walked")


def test_users_name_nodes_and_the_executor_sets_their_effects() -> None:
    edit_with_write = c.EditPath(actions=(node("sql.tell", effect="write", arguments={"x": 1}),), after="1.1")
    result = given(*PLANNED, *walk(1)).when(edit_with_write).then("turn.changed").leaves("executing", "executor")
    assert result.session.turn is not None
    spec = result.session.turn.actions[-1].spec
    assert (spec.effect, spec.arguments) == ("read", {})


def test_the_length_of_a_path_is_limited() -> None:
    """Nodes that were replaced before they started do not count."""
    longest = c.ChangeTurn(actions=tuple(node("sql.look") for _ in range(MAX_NODES - 1)))
    result = given(*PLANNED, *walk(1), longest, longest).when(longest).then("turn.changed")
    assert len(rest(result.session)) == MAX_NODES - 1
    started = next_batch(result.session.turn)[0].spec.id
    further = given(c.Start(), finish_action(action_id=started, ok=True, result={}), begin=result.session)
    further.when(longest).refused(Invalid, "round in circles")


def test_a_node_that_a_stop_interrupted_runs_again_on_retry() -> None:
    interrupted = finish_action("1.2", ok=False, error="Stopped.", cause="stopped")
    result = given(*PLANNED, *walk(1), c.Start(), c.Stop(), interrupted).when(c.Retry()).then("session.retried")
    result.leaves("executing", "executor")
    assert [a.spec.id for a in next_batch(result.session.turn)] == ["1.2"]
    assert rest(result.session) == ["sql.write", "sql.run", "sql.tell"]
    result.given.when(c.Start()).then("actions.started", actions=(ActionAttempt(action_id="1.2", attempt=2),))


def test_decisions_about_replaced_or_unknown_nodes_change_nothing() -> None:
    session = given(*PLANNED).session
    event = given(*PLANNED, *walk(1)).when(edit("sql.tell", after="1.1")).then_event()
    assert given(event.model_copy(update={"version": 2}), begin=replace(session, turn=None)).session.turn is None


# --- paths in review


def drafted(*tools: str) -> c.DraftPlan:
    tools = tools or NODES
    steps = tuple(Step(text=tool, tool=tool) for tool in tools)
    return c.DraftPlan(
        goal="count", steps=steps, kind="path", path=PathPlan(nodes=tools, fallback=True, fallback_reason="bad")
    )


def approve(session: Session) -> c.Approve:
    assert session.plan is not None
    return c.Approve(version=session.plan.version, hash=session.plan.hash)


def with_steps(*tools: str) -> Callable[[Session], c.EditPlan]:
    def command(session: Session) -> c.EditPlan:
        assert session.plan is not None
        return c.EditPlan(base=session.plan.version, steps=tuple(Step(text=tool, tool=tool or None) for tool in tools))

    return command


def test_a_path_in_review_is_edited_approved_and_run() -> None:
    in_review = given(*ASKED).when(drafted()).then("plan.drafted").leaves("awaiting_approval", "user")
    edited = in_review.given.when(with_steps("sql.run", "sql.tell")).then("plan.edited")
    assert edited.session.plan is not None
    assert edited.session.plan.path == PathPlan(nodes=("sql.run", "sql.tell"))
    started = edited.given.when(approve).then("plan.approved").leaves("executing", "executor")
    turn = started.session.turn
    assert turn is not None
    assert turn.path == edited.session.plan.path
    assert [(a.spec.tool, a.spec.effect) for a in turn.actions] == [("sql.run", "read"), ("sql.tell", "read")]
    assert (turn.made, turn.final) == (2, True)


def test_an_edited_path_without_nodes_keeps_the_planned_nodes() -> None:
    words = c.EditPlan(base=2, steps=(Step(text="just words"),))
    result = given(*ASKED, drafted()).when(words).then("plan.edited")
    assert result.session.plan is not None
    assert result.session.plan.path == drafted().path


def test_feedback_on_a_path_reaches_its_nodes_but_not_the_next_request() -> None:
    walking = given(*ASKED, drafted(), feedback("only in Texas"), drafted(), approve)
    assert said_since_request(walking.session) == ("only in Texas",)
    asked = given(c.Stop(), new_request("how many users"), begin=walking.session).session
    assert (asked.words.request, said_since_request(asked)) == ("how many users", ())


# --- results for later requests


def test_a_fork_keeps_the_results_of_earlier_paths() -> None:
    before = (*PLANNED, *walk(1, sql="select 1"), *walk(2), *walk(3), *walk(4, answer="7"))
    parent = given(*before, verdict("complete"), answer("7")).session
    assert story(parent).fork("s2").session.flow_results["sql"][-1]["sql"] == "select 1"


def test_the_next_request_gets_the_small_results_of_the_path() -> None:
    story = (*PLANNED, *walk(1, sql="select 1"), *walk(2, rows="x" * 5_000), *walk(3), *walk(4, answer="7"))
    answered = given(*story, verdict("complete"), answer("7"))
    after = given(new_request("only in Texas"), begin=answered.session).session
    assert after.flow_results == {"sql": ({"request": "how many orders", "sql": "select 1", "made": 3, "answer": "7"},)}
    other = replace(answered.session.turn, actions=()) if answered.session.turn else None
    assert other is not None
    assert carry_over(other, "x", after.flow_results) == after.flow_results


def test_the_results_of_the_last_three_runs_of_a_flow_are_kept() -> None:
    turn = given(*PLANNED, *walk(1, sql="select 1")).session.turn
    assert turn is not None
    known: dict[str, Any] = {"other": ({"request": "else"},)}
    for number in range(5):
        known = carry_over(turn, f"question {number}", known)
    assert [run["request"] for run in known["sql"]] == ["question 2", "question 3", "question 4"]
    assert known["other"] == ({"request": "else"},)


def test_only_node_results_are_in_the_flow_state() -> None:
    session = given(*PLANNED, c.Start(), finish_action(action_id="1.1", ok=True, result="words")).session
    assert outputs(session.turn) == {}
    assert outputs(None) == {}


def test_tokens_are_counted_for_the_node_that_used_them() -> None:
    cost: dict[str, Any] = {"cached_tokens": 0, "cost": 0, "latency": 1, "attempt": 1, "model": "m", "role": "executor"}
    call = ModelCall(prompt_tokens=10, completion_tokens=4, action_id="1.1", **cost)
    result = given(*PLANNED, c.Start(), c.RecordUsage(calls=(call, call))).session
    assert result.turn is not None
    assert [a.tokens for a in result.turn.actions] == [28, 0, 0, 0]
    other = c.RecordUsage(calls=(call.model_copy(update={"action_id": "9.9"}),))
    without_node = given(*PLANNED, c.Start(), other).session
    assert without_node.spent.tokens == 14


# --- judgements of the answer

ANSWERED = (*PLANNED, *walk(1), *walk(2), *walk(3), *walk(4, answer="7"), verdict("complete"), answer("7"))


def test_an_answer_can_be_accepted_saved_and_rejected_again() -> None:
    after_yes = given(*ANSWERED).when(c.Judge(accepted=True)).then("answer.judged", accepted=True, saved=False)
    after_yes.leaves("resting", "nobody", accepted=True, saved=False)
    after_yes.given.when(c.Judge(accepted=True)).refused(AlreadyDone)
    saved = after_yes.given.when(c.Judge(accepted=True, saved=True)).then("answer.judged", saved=True)
    back = saved.given.when(c.Judge(accepted=False)).then("answer.judged").leaves("resting", "nobody", accepted=False)
    given(new_request("more"), begin=saved.session).when(c.Judge(accepted=False)).refused(OutOfTurn, "no answer")
    assert back.session.answer.saved is False


@pytest.mark.parametrize(
    ("story", "command", "why"),
    [
        (ASKED, c.Judge(accepted=True), "no answer to judge"),
        (ANSWERED, c.Judge(accepted=False, saved=True), "Only an accepted answer"),
        ((*TO_DONE, c.Complete()), c.Judge(accepted=True), "no answer to judge"),
    ],
)
def test_only_an_answer_can_be_judged(story: tuple[StoryLine, ...], command: c.Judge, why: str) -> None:
    kind = Invalid if "accepted" in why else OutOfTurn
    given(*story).when(command).refused(kind, why)


TURNS_ANSWERED = (request("agentflow"), c.PlanTurn(sub_goal="x", actions=(), reasoning="nothing left"), answer("done"))
STEPS_ANSWERED = (
    request("execution_plan"),
    c.DraftPlan(goal="G", steps=(Step(text="Look", tool="look", id="s1", effect="read"),), kind="execution"),
    *(approve, c.Start(), done(action_id="t2.s1"), verdict("complete"), answer("done")),
)


@pytest.mark.parametrize("story", [TURNS_ANSWERED, STEPS_ANSWERED, TO_DONE], ids=["turns", "steps", "program"])
def test_answers_of_every_workflow_can_be_accepted_and_saved(story: tuple[StoryLine, ...]) -> None:
    saved = given(*story).when(c.Judge(accepted=True, saved=True)).then("answer.judged", accepted=True, saved=True)
    saved.leaves("resting", "nobody", accepted=True, saved=True)
    assert (programmed_plan(saved.session) is None) == (story is not TO_DONE)


def test_code_can_be_judged_while_its_request_is_the_newest() -> None:
    given(*TO_CODE).when(c.Judge(accepted=True)).refused(OutOfTurn, "no answer")
    another = c.DraftPlan(goal="Another", steps=(Step(text="One"),))
    still = given(*TO_DONE, say("another"), c.Stop())
    still.when(c.Judge(accepted=True)).then("answer.judged")
    given(*TO_DONE, say("another"), another, c.Stop()).when(c.Judge(accepted=True)).refused(OutOfTurn, "no answer")


def test_a_new_request_cannot_be_judged_before_its_answer() -> None:
    after = given(*ANSWERED, c.Judge(accepted=True), new_request("next")).session
    assert (after.answer.accepted, after.answer.saved) == (False, False)
