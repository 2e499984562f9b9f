"""A session runs a workflow that only this test defines: a plan, an approval, one action, an answer.

The whole definition is here: the workflow, and one function for each service with work of its own.
"""

from typing import Any

import pytest

from parley.events.values import ActionSpec, Step
from services.generator import app as generating
from services.verifier import app as verifying
from shared.bus import Bus
from shared.domain import workflows
from shared.domain.kernel import commands as c
from shared.domain.kernel.state import Plan, Turn
from shared.domain.kernel.workflow import PLAN_REVIEW, Edge, Workflow
from shared.llm import ScriptedModel
from shared.settings import Settings
from shared.worker import WorkContext
from tests.support import stack
from tests.support.stack import Person, working

FIND = Step(text="Find the customer", tool="find_user_id_by_email", arguments={"email": "nobody@example.com"})


def only_step(plan: Plan, turn: int) -> tuple[ActionSpec, ...]:
    step = plan.steps[0]
    return (ActionSpec(id=f"{turn}.1", tool=step.tool or "", arguments=step.arguments or {}, description=step.text),)


ERRAND = Workflow(
    "errand",
    after={
        **PLAN_REVIEW,
        "plan.approved": (Edge("first_batch"),),
        "turn.verified": (Edge("answering"),),
        "answer.given": (Edge("resting", rests="answered"),),
    },
    plans="text",
    actions=only_step,
)


async def plan(_: WorkContext) -> c.DraftPlan:
    return c.DraftPlan(goal="Know who it is", steps=(FIND,))


async def judge(_: WorkContext, turn: Turn) -> c.VerifyTurn:
    return c.VerifyTurn(status="success", next_action="complete", reasoning=f"{len(turn.actions)} action ended.")


async def answer(context: WorkContext) -> c.GiveAnswer:
    turn = context.session.turn
    assert turn
    return c.GiveAnswer(text=turn.actions[0].explanation, confidence=1, evidence=(turn.actions[0].spec.id,))


@pytest.fixture
def errand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(workflows.WORKFLOWS, ERRAND.name, ERRAND)
    monkeypatch.setitem(stack.BUILD, "planner", stack.doing("planner", plan))
    monkeypatch.setitem(verifying.JUDGES, ERRAND.name, judge)
    monkeypatch.setitem(generating.ANSWERS, ERRAND.name, answer)


@pytest.mark.usefixtures("errand")
async def test_a_custom_workflow_is_planned_approved_executed_and_answered(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    async with working(settings, ScriptedModel()):
        ann = Person(bus, session_id)
        await ann.does(c.Say(text="Who is it?", workflow=ERRAND.name))
        await ann.approves()
        session = await ann.phase("resting", "failed")
        assert (session.rest_reason, session.plan and session.plan.status) == ("answered", "completed")
        assert session.answer.text == "Error: user not found"
        kinds: list[Any] = [event.type for event in await ann.events()]
        assert kinds == [
            *("message.received", "plan.drafted", "plan.approved", "actions.started"),
            *("actions.finished", "turn.verified", "answer.given"),
        ]


async def test_a_session_of_an_unknown_workflow_fails(settings: Settings, bus: Bus, session_id: str) -> None:
    async with working(settings, ScriptedModel()):
        ann = Person(bus, session_id)
        await ann.does(c.Say(text="Who is it?", workflow=ERRAND.name))
        failed = await ann.phase("failed")
        assert failed.failure
        assert "There is no workflow “errand”" in failed.failure.reason
