"""What services, views and other programs read from a session: names of states and attempts, texts, facts."""

import pytest

from parley.events import facts
from parley.events.offers import OfferedCode, OfferedPlan, OfferedTurn
from parley.events.values import FileRef, NodeProposal, PathPlan, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.state_names import OFFER_STATE, REPLYING_STATE, options, rest_reason, shown_state, state_name
from shared.domain.plan.policy import asked_tool, strictest
from shared.domain.plan.text import draft_text
from shared.domain.steps.plan_steps import _is_same_call, about, is_held_up, step_of, task_status
from shared.domain.steps.references import is_whole
from shared.domain.turn.attempt_names import artefact_name, idempotency_key
from shared.domain.turn.batches import actions_to_start, find_action
from shared.domain.turn.files import object_name
from shared.domain.turn.turns import plan_retried
from shared.domain.workflows.flow import proposal
from tests.unit.domain.spec import (
    ANN,
    ANSWERING,
    ASKED,
    CHECKING,
    CODING,
    ESCALATED,
    EXECUTING,
    NOON,
    STARTED,
    TO_ALLOW,
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    VERIFYING,
    StoryLine,
    act,
    answer,
    approve,
    approve_later,
    done,
    given,
    reject,
    request,
    say,
    turn,
    verdict,
)
from tests.unit.domain.test_execution_plan import CANCEL, DRAFTED, LOOK, finish_step, plan


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ((say(),), "text_plan_generation"),
        (TO_PLAN, "text_plan_approval"),
        ((*TO_PLAN, reject), "text_plan_feedback"),
        (CODING, "code_generation"),
        (CHECKING, "code_generation"),
        (TO_CODE, "code_approval"),
        ((*TO_CODE, reject), "code_feedback"),
        (TO_DONE, "completed"),
        (ASKED, "question"),
        (EXECUTING, "executing"),
        (TO_ALLOW, "action_approval"),
        (VERIFYING, "verifying"),
        (ANSWERING, "answering"),
        (ESCALATED, "escalated"),
        ((say(), c.Stop()), "stopped"),
        ((say(), c.Fail(reason="x")), "failed"),
        ((*DRAFTED, plan(LOOK), approve_later), "approved"),
    ],
)
def test_the_name_of_a_state(lines: tuple[StoryLine, ...], name: str) -> None:
    session = given(*lines).session
    assert state_name(session) == name
    assert shown_state(session) == name


def test_an_open_offer_and_a_reply_at_rest_are_states_of_their_own() -> None:
    assert shown_state(given(*TO_DONE, say("why?")).session) == REPLYING_STATE
    assert shown_state(given(*TO_PLAN, say("why?")).session) == "text_plan_approval"
    assert shown_state(given(*TO_ALLOW, say("no"), turn(act("2.1"))).session) == OFFER_STATE


def test_what_a_session_at_rest_offers_and_why_it_rests() -> None:
    assert len(options(given(*TO_DONE).session)) == 3
    assert len(options(given(say(), c.Stop()).session)) == 2
    assert (rest_reason(given(*TO_DONE).session), rest_reason(given(*TO_PLAN).session)) == ("answered", "new")


def test_a_session_works_while_a_service_is_due_and_no_pause_holds_it() -> None:
    working = [given(*lines).session.is_working for lines in ((say(),), (say(), c.Pause()), (*TO_PLAN, say("why?")))]
    assert working == [True, False, True]
    idle = [given(*lines).session.is_working for lines in (TO_PLAN, TO_DONE, (*STARTED, c.Pause(), done()))]
    assert idle == [False, False, False]


def test_the_names_of_an_attempt() -> None:
    turns = given(*STARTED).session
    action = find_action(turns, "1.1")
    assert action is not None
    assert (idempotency_key(turns, action), artefact_name(turns, action)) == ("s1/1/1.1/1", "s1/1/1.1/1")
    steps = given(*DRAFTED, plan(LOOK), approve, c.Start()).session
    step = find_action(steps, "t2.s1")
    assert step is not None
    assert (idempotency_key(steps, step), artefact_name(steps, step)) == ("s1/t2.s1/1", "s1/1/t2.s1/1")
    assert artefact_name(replace(steps, turn=None), step) == "s1/0/t2.s1/1"
    assert object_name("s1", FileRef(sha256="ab" * 32, size=1)) == f"s1/files/{'ab' * 32}"


def test_the_text_of_what_is_offered() -> None:
    assert draft_text(OfferedPlan(goal="g", steps=(Step(text="one"),), notes="n")) == "Goal: g\n\n1. one\n\nNotes: n"
    assert draft_text(OfferedCode(code="x = 1", explanation="One.")) == "One.\n\nx = 1"
    look = act("1.1", arguments={"order": "#W1"})
    assert draft_text(OfferedTurn(sub_goal="look", actions=(look,))) == 'look\n- orders {"order": "#W1"}'


def test_small_questions_about_steps_and_calls() -> None:
    assert about("Step 1 (s1)", "argument x: is missing") == "Step 1 (s1), argument x: is missing"
    assert about("Step 1 (s1)", "is blank") == "Step 1 (s1): is blank"
    assert [is_whole(text) for text in ("{{steps.s1.output}}", "a {{steps.s1.output}}")] == [True, False]
    polls = act("1.1", arguments={"tool": "look"}, waits_for="condition")
    assert [asked_tool(spec) for spec in (polls, act("1.1"))] == ["look", "orders"]
    assert step_of(given(*STARTED).session, "1.1") is None
    assert (strictest("never", None, "deny"), strictest(None, "never")) == ("deny", None)
    quiet = (request("agentflow"), turn(act("1.1", quiet=True)))
    action = find_action(given(*quiet).session, "1.1")
    assert action is not None
    assert (action.status, action.shown_status) == ("running", "started")
    event = given(request("flow")).when(turn(act("1.1"), path=PathPlan(nodes=("a",)))).then_event()
    assert proposal(event) is None
    add = NodeProposal(flow="sql", name="a", description="b")
    path = PathPlan(nodes=("a",), proposal=add)
    assert proposal(given(request("flow")).when(turn(act("1.1"), path=path)).then_event()) == add


def test_a_plan_that_is_held_up_waits_for_the_person_unless_a_message_is_answered() -> None:
    failed = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Start(), finish_step("s1", ok=False))
    rests = (*failed, verdict("complete", "failure"), answer())
    assert [is_held_up(given(*lines).session) for lines in (rests, (*rests, say("why?")))] == [True, False]
    paused = (*DRAFTED, plan(LOOK, CANCEL), approve, c.Pause())
    assert (is_held_up(given(*paused).session), task_status(given(*paused).session)) == (True, "paused")
    drafting = given(*DRAFTED, plan(LOOK), approve, c.Start(), finish_step("s1"), say("again"), c.Stop()).session
    assert task_status(replace(drafting, phase="planning", turn=None)) == "draft"


def test_no_action_starts_before_earlier_ones_have_ended_or_while_one_waits_for_its_approval() -> None:
    later = replace(given(*STARTED).session, version=9, work=c.Work(service="executor", version=9))
    assert actions_to_start(later) == ()
    assert actions_to_start(replace(given(*TO_ALLOW).session, phase="executing")) == ()


def test_a_retry_of_what_is_gone_goes_on_without_it() -> None:
    plain = given(*DRAFTED, plan(LOOK), approve, c.Stop()).session
    retried = facts.SessionRetried(id="x", session_id="s1", version=9, at=NOON, actor=ANN)
    assert evolve(replace(plain, turn=None), retried).phase == "executing"
    assert plan_retried(replace(plain, turn=None), retried).turn is None
    judged = facts.TurnVerified.model_validate(
        vars(retried) | {"type": "turn.verified", "turn": 1, "status": "success", "next_action": "complete"}
    )
    assert evolve(replace(plain, turn=None), judged).turn is None
    assert _is_same_call(None, LOOK) is False
