"""Approval of execution plans over REST and the SDK, with the real services and the real store."""

import json
from typing import Any

import pytest

from cli.plan_rendering import describe, describe_changes
from parley.client import Parley
from parley.client.errors import RequestRefused
from parley.protocol.execution_plans import ExecutionPlan
from services.gateway import plan_previews
from shared.bus import Bus
from shared.settings import Settings
from tests.integration.test_execution_plan import BY_REFERENCE, CANCEL, LOOK, ORDER, WHO, order_status, plan
from tests.integration.test_execution_plans_rest import STEPS, serving_plans

CALL = {
    "id": "s2",
    "text": "Cancel it",
    "tool": "cancel_pending_order",
    "arguments": {"order_id": ORDER["order_id"], "reason": "no longer needed"},
    "after": ["s1"],
}


def steps_of(body: Any) -> dict[str, str]:
    return {step["id"]: step["status"] for step in body["steps"]}


async def test_without_plan_approval_the_plan_runs_and_each_write_asks(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK, CANCEL)) as there, Parley(there.url) as parley:
        started = await there.post(request="Cancel my order", settings={"require_plan_approval": False})
        assert (there.status, started["status"], started["user_approved"]) == (201, "executing", False)
        assert (steps_of(started), started["working"]) == ({"s1": "finished", "s2": "finished", "s3": "planned"}, False)
        assert await order_status(settings) == "pending"
        await there.post(f"/{started['task_id']}/approve", version=started["version"])
        assert there.status == 409
        session = parley.session(started["session_id"])
        (waiting,) = await _waiting(session)
        assert waiting["arguments"]["order_id"] == ORDER["order_id"]
        await session.send(type="approval", approved=True, action_id=waiting["action_id"], hash=waiting["hash"])
        done = await there.get(f"/{started['task_id']}", params={"timeout": 60})
        assert (done["status"], done["user_approved"]) == ("completed", False)
        assert await order_status(settings) == "cancelled"
        data = json.loads(await session.export("json"))
        assert [(decision["about"], decision["decision"]) for decision in data["decisions"]] == [("action", "approved")]
        assert [bool(call["approved_by"]) for call in data["calls"]] == [False, False, True]
        assert "the session's settings ask for no approval of it" in await session.export()


async def _waiting(session: Any) -> list[dict[str, Any]]:
    snapshot = await session.snapshot()
    return [action.model_dump() for action in snapshot.approval_request.actions]


async def test_starting_a_plan_by_settings_causes_no_model_call(settings: Settings, bus: Bus) -> None:
    """The draft has used up the budget; no model is called after it."""
    async with serving_plans(settings, plan(WHO, LOOK)) as there:
        plan_settings = {"require_plan_approval": False, "token_budget": 1}
        done = await there.post(request="Look my order up", settings=plan_settings)
        assert (done["status"], done["question"]) == ("completed", "")


async def test_a_users_own_plan_and_its_next_version_run_without_approval_too(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings) as there, Parley(there.url) as parley:
        plans, no_approval = parley.execution_plans, {"require_plan_approval": False}
        first = await plans.store("Look it up", STEPS, settings=no_approval)
        assert (first.status, first.user_approved) == ("completed", False)
        second = await plans.modify(first, steps=[STEPS[0], STEPS[1] | {"id": "s2"}, CALL | {"id": "s3"}])
        assert (second.status, second.user_approved, second.number) == ("executing", False, 2)
        assert {step.id: step.status for step in second.steps} == {"s1": "finished", "s2": "finished", "s3": "planned"}
        assert await order_status(settings) == "pending"
        with pytest.raises(RequestRefused):
            await parley.execution_plans.store("Look it up", STEPS, settings={"require_plan_approval": "perhaps"})


async def test_a_preapproved_step_runs_with_any_values(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK, BY_REFERENCE)) as there:
        drafted = await there.post(request="Cancel my order")
        assert [step["preapprovable"] for step in drafted["steps"]] == [False, False, True]
        task, version = f"/{drafted['task_id']}", drafted["version"]
        refused = await there.post(f"{task}/approve", version=version, preapprove=["s2", "s9"])
        assert there.status == 422
        assert "“s9” is not a step of this plan. Step 2 (s2) changes nothing" in refused["message"]
        await there.post(f"{task}/approve", version=version, preapprove="s3")
        assert there.status == 422
        assert (await there.get(task))["status"] == "pending_approval"
        done = await there.post(f"{task}/approve", version=version, hash=drafted["hash"], preapprove=["s3"])
        assert (done["status"], done["user_approved"]) == ("completed", True)
        assert [step["preapproved"] for step in done["steps"]] == [False, False, True]
        assert "Allowed with whatever values it gets." in done["text"]
        assert await order_status(settings) == "cancelled"


async def test_a_plan_is_approved_now_and_started_by_execute(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK, CANCEL)) as there, Parley(there.url) as parley:
        plans = parley.execution_plans
        drafted = await plans.generate("Cancel my order")
        with pytest.raises(RequestRefused, match="not approved"):
            await plans.execute(drafted)
        waits = await plans.approve(drafted, start=False)
        assert (waits.status, waits.user_approved, waits.working) == ("approved", True, False)
        assert "parley plan execute" in describe(waits, 80)
        again = await plans.get(waits.task_id, wait=1)
        assert (again.status, await order_status(settings)) == ("approved", "pending")
        with pytest.raises(RequestRefused, match="It has not been started: start it"):
            await plans.approve(drafted)
        (line,) = (await parley.inbox()).sessions
        assert (line.id, line.state, line.unfinished) == (drafted.session_id, "approved", True)
        done = await plans.execute(waits)
        assert (done.status, await order_status(settings)) == ("completed", "cancelled")


async def test_previews_of_a_plan_are_computed_when_it_is_shown(
    settings: Settings, bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving_plans(settings) as there, Parley(there.url) as parley:
        twice = CALL | {"id": "s3", "arguments": {"order_id": "#W0000000", "reason": "no longer needed"}}
        mine = await parley.execution_plans.store("Cancel it", [STEPS[0], CALL, twice])
        previews = await parley.execution_plans.previews(mine)
        assert (previews.version, previews.left_out, set(previews.steps)) == (mine.version, 0, {"s2", "s3"})
        changes = {change.path: (change.before, change.after) for change in previews.steps["s2"].changes}
        assert changes[f"orders/{ORDER['order_id']}/status"] == ("pending", "cancelled")
        assert "order not found" in previews.steps["s3"].error
        text = describe_changes(mine, previews)
        assert f'orders/{ORDER["order_id"]}/status: "pending" → "cancelled"' in text
        assert "As of now, this would fail:" in text
        assert await order_status(settings) == "pending"

        monkeypatch.setattr(plan_previews, "MAX_PREVIEWS", 1)
        fewer = await parley.execution_plans.previews(mine)
        assert (set(fewer.steps), fewer.left_out) == ({"s2"}, 1)
        assert "Not looked up: what 1 more of the changes would do." in describe_changes(mine, fewer)

        await parley.execution_plans.execute(await parley.execution_plans.approve(mine))
        after = await parley.execution_plans.previews(mine)
        assert (after.version, after.steps.keys() & {"s2"}) == (mine.version, set())
        await there.get(f"/{mine.session_id}.t999/previews")
        assert there.status == 404


async def test_a_plan_is_shown_without_previews_if_they_are_unavailable(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK, BY_REFERENCE)) as there, Parley(there.url) as parley:
        drafted = await parley.execution_plans.generate("Cancel my order")
        previews = await parley.execution_plans.previews(drafted)
        assert (previews.steps, describe_changes(drafted, previews)) == ({}, "")
        text = describe(drafted, 80)
        assert f"--version {drafted.version} --preapprove s3" in text
        assert ExecutionPlan.model_validate_json(drafted.model_dump_json()) == drafted
