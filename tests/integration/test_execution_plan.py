"""Execution plans over a real bus and the retail store: drafted, approved, executed, reported."""

from contextlib import AbstractAsyncContextManager
from typing import Any

from parley.events import facts
from services.planner.execution_plan_prompt import StepDraft, StepsDraft
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import undecided_actions
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.support import stack
from tests.support.stack import Person
from tests.support.store import STORE, orders_now

ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
USER: Any = STORE["users"][ORDER["user_id"]]
WHO = StepDraft(id="s1", tool="find_user_id_by_email", arguments={"email": USER["email"]}, text="Find the customer")
LOOK = StepDraft(
    id="s2", tool="get_order_details", arguments={"order_id": ORDER["order_id"]}, text="Look the order up", after=["s1"]
)
CANCEL = StepDraft(
    id="s3",
    tool="cancel_pending_order",
    arguments={"order_id": ORDER["order_id"], "reason": "no longer needed"},
    text="Cancel it",
    after=["s2"],
)
BY_REFERENCE = CANCEL.model_copy(
    update={"arguments": {"order_id": "{{steps.s2.output.order_id}}", "reason": "no longer needed"}, "after": []}
)


def plan(*steps: StepDraft) -> StepsDraft:
    return StepsDraft(goal="Cancel the order", steps=list(steps))


def open_session(
    settings: Settings, bus: Bus, session_id: str, *replies: Any, **session_settings: Any
) -> AbstractAsyncContextManager[tuple[Person, ScriptedModel]]:
    request = {"text": "Cancel my order", "workflow": "execution_plan"}
    return stack.open_session(settings, bus, session_id, *replies, **request, **session_settings)


async def order_status(settings: Settings) -> str:
    return str((await orders_now(settings))[ORDER["order_id"]]["status"])


async def test_one_approval_of_the_plan_covers_its_writes(settings: Settings, bus: Bus, session_id: str) -> None:
    async with open_session(settings, bus, session_id, plan(WHO, LOOK, CANCEL)) as (ann, model):
        session = await ann.phase("awaiting_approval")
        assert session.plan
        assert [step.effect for step in session.plan.steps] == ["read", "read", "write"]
        assert await order_status(settings) == "pending"
        await ann.approves()
        ended = await ann.phase("resting", "failed")
        assert (ended.rest_reason, ended.plan and ended.plan.status) == ("answered", "completed")
        assert await order_status(settings) == "cancelled"
        kinds = [event.type for event in await ann.events()]
        assert kinds == [
            *("message.received", "plan.drafted", "plan.approved"),
            *("actions.started", "actions.finished") * 3,
            *("turn.verified", "answer.given"),
        ]
        assert ended.answer.text.startswith("All 3 steps were carried out.")
        assert "\n3. Cancel it" in ended.answer.text
        assert len(model.prompts) == 1  # verdict and report need no model


async def test_a_write_with_values_from_another_step_needs_its_own_approval(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    async with open_session(settings, bus, session_id, plan(WHO, LOOK, BY_REFERENCE)) as (ann, _):
        await ann.approves()
        waiting = await ann.awaits_decision()
        (action,) = undecided_actions(waiting.turn)
        assert action.spec.arguments["order_id"] == ORDER["order_id"]
        assert await order_status(settings) == "pending"
        await ann.allows()
        outcome = await ann.phase("resting", "failed")
        assert (outcome.rest_reason, await order_status(settings)) == ("answered", "cancelled")


async def test_a_plan_that_cannot_run_goes_back_to_the_model_with_all_problems(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    fly = StepDraft(id="s1", tool="fly", arguments={}, text="Fly", after=["s9"])
    short = StepDraft(id="s2", tool="get_order_details", arguments={}, text="Look", after=["step 1"])
    replies = (plan(fly, short), plan(WHO, LOOK))
    async with open_session(settings, bus, session_id, *replies) as (ann, model):
        session = await ann.phase("awaiting_approval", "failed")
        assert session.plan
        assert [step.id for step in session.plan.steps] == ["s1", "s2"]
        result = model.prompts[1].text
        assert 'You proposed: {"goal":' in result
        assert "depends on s9, which is not a step of the plan" in result
        assert "there is no tool “fly” here" in result
        assert "Step 2 comes after “step 1”, which is no id of a step" in result
        assert "order_id" in result


WRONG = LOOK.model_copy(update={"arguments": {"order_id": "#W0000000"}})


async def test_a_changed_plan_does_not_repeat_finished_steps(settings: Settings, bus: Bus, session_id: str) -> None:
    corrected = LOOK.model_copy(update={"id": "s4"})
    last = CANCEL.model_copy(update={"after": ["s4"]})
    async with open_session(settings, bus, session_id, plan(WHO, WRONG, CANCEL), plan(WHO, corrected, last)) as (
        ann,
        model,
    ):
        await ann.approves()
        failed = await ann.phase("resting", "failed")
        await ann.does(c.Say(text="You have the wrong order: it is another one"))
        approved = await ann.approves()
        assert approved.task == failed.task
        assert "- s1 find_user_id_by_email: finished" in model.prompts[1].text
        assert "- s2 get_order_details: failed" in model.prompts[1].text
        session = await ann.phase("resting", "failed")
        assert (session.plan and session.plan.status, await order_status(settings)) == ("completed", "cancelled")
        started = [
            action.action_id for e in await ann.events() if isinstance(e, facts.ActionsStarted) for action in e.actions
        ]
        assert started == ["t2.s1", "t2.s2", "t2.s4", "t2.s3"]


async def test_a_plan_does_not_run_if_a_tool_has_changed_or_is_gone(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    async with open_session(settings, bus, session_id, plan(WHO, LOOK, CANCEL)) as (ann, _):
        ended = await ann.phase("awaiting_approval")
        assert ended.plan
        *others, cancel = ended.plan.steps
        older = (*others, cancel.model_copy(update={"fingerprint": "0" * 64}))
        await ann.does(c.EditPlan(base=ended.plan.version, steps=older))
        await ann.approves()
        failed = await ann.phase("resting", "failed")
        assert (failed.plan and failed.plan.status, await order_status(settings)) == ("failed", "pending")
        assert "The tool cancel_pending_order has changed since this plan was made" in failed.answer.text
        await ann.does(c.Retry())
        again = await ann.sees(lambda session: session.phase == "resting" and session.version > failed.version + 1)
        assert (again.plan and again.plan.status, await order_status(settings)) == ("failed", "pending")
        assert again.plan
        unknown_tool = cancel.model_copy(update={"tool": "cancel_it_all", "id": "s4"})
        await ann.does(c.EditPlan(base=again.plan.version, steps=(*others, unknown_tool)))
        await ann.approves()
        lost = await ann.sees(lambda session: session.phase == "resting" and session.version > again.version + 2)
        assert "The tool cancel_it_all is gone: it was there when this plan was made." in lost.answer.text
        assert lost.plan
        await ann.does(c.EditPlan(base=lost.plan.version, steps=(*others, cancel.model_copy(update={"id": "s5"}))))
        await ann.approves()
        await ann.sees(lambda session: bool(session.plan) and session.plan.status == "completed")  # type: ignore[union-attr]
        assert await order_status(settings) == "cancelled"


async def test_only_allowed_tools_are_offered_and_every_version_gets_the_instructions(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    tools = (WHO.tool, LOOK.tool)
    expected = {"tools": tools, "instructions": "Look everything up twice.", "model": "big"}
    async with open_session(settings, bus, session_id, plan(WHO, CANCEL), plan(WHO, LOOK), plan(WHO), **expected) as (
        ann,
        model,
    ):
        await ann.phase("awaiting_approval", "failed")
        first, second = model.prompts
        assert '"name": "cancel_pending_order"' not in first.text
        refused = "cancel_pending_order is not among the tools that this plan may use: find_user_id_by_email"
        assert refused in second.text
        await ann.does(c.Say(text="Leave the order out", feedback=True))
        await ann.sees(lambda session: session.plan is not None and session.plan.number == 2)
        for prompt in model.prompts:
            assert prompt.model == "big"
            assert prompt.sections("instructions") == ["Look everything up twice."]
            assert prompt.text.count("Look everything up twice.") == 1
