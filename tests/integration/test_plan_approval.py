"""Approval of execution plans over REST and the SDK, with the real services and the real store."""

import json
from typing import Any

import pytest

from cli.talk.plan_rendering import describe, describe_changes
from parley.client import Parley
from parley.client.errors import RequestRefused
from services.gateway.rest import plan_tasks
from shared.bus import Bus
from shared.settings import Settings
from tests.integration.test_execution_plan import BY_REFERENCE, CANCEL, LOOK, ORDER, WHO, order_status, plan
from tests.integration.test_execution_plans_rest import STEPS, serving_plans
from tests.support.timeouts import WAIT_TIMEOUT

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
    async with serving_plans(settings, plan(WHO, LOOK, CANCEL)) as rest, Parley(rest.url) as parley:
        started = await rest.post(request="Cancel my order", settings={"require_plan_approval": False})
        assert (rest.status, started["status"], started["user_approved"]) == (201, "executing", False)
        assert (steps_of(started), started["working"]) == ({"s1": "finished", "s2": "finished", "s3": "planned"}, False)
        assert await order_status(settings) == "pending"
        await rest.post(f"/{started['task_id']}/approve", version=started["version"])
        assert rest.status == 409
        session = parley.session(started["session_id"])
        (waiting,) = await _waiting(session)
        assert waiting["arguments"]["order_id"] == ORDER["order_id"]
        await session.send(type="approval", approved=True, action_id=waiting["action_id"], hash=waiting["hash"])
        done = await rest.get(f"/{started['task_id']}", params={"timeout": WAIT_TIMEOUT})
        assert (done["status"], done["user_approved"]) == ("completed", False)
        assert await order_status(settings) == "cancelled"
        data = json.loads(await session.export("json"))
        assert [(decision["about"], decision["decision"]) for decision in data["decisions"]] == [("action", "approved")]
        assert [bool(call["approved_by"]) for call in data["calls"]] == [False, False, True]
        assert "the session's settings ask for no approval of it" in await session.export()


async def _waiting(session: Any) -> list[dict[str, Any]]:
    snapshot = await session.snapshot()
    return [action.model_dump() for action in snapshot.approval_request.actions]


async def test_a_preapproved_step_runs_with_any_values(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK, BY_REFERENCE)) as rest:
        drafted = await rest.post(request="Cancel my order")
        assert [step["preapprovable"] for step in drafted["steps"]] == [False, False, True]
        task, version = f"/{drafted['task_id']}", drafted["version"]
        refused = await rest.post(f"{task}/approve", version=version, preapprove=["s2", "s9"])
        assert rest.status == 422
        assert "“s9” is not a step of this plan. Step 2 (s2) changes nothing" in refused["message"]
        await rest.post(f"{task}/approve", version=version, preapprove="s3")
        assert rest.status == 422
        assert (await rest.get(task))["status"] == "pending_approval"
        done = await rest.post(f"{task}/approve", version=version, hash=drafted["hash"], preapprove=["s3"])
        assert (done["status"], done["user_approved"]) == ("completed", True)
        assert [step["preapproved"] for step in done["steps"]] == [False, False, True]
        assert "Allowed with whatever values it gets." in done["text"]
        assert await order_status(settings) == "cancelled"


async def test_a_plan_is_approved_now_and_started_by_execute(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK, CANCEL)) as rest, Parley(rest.url) as parley:
        plans = parley.execution_plans
        drafted = await plans.generate("Cancel my order")
        with pytest.raises(RequestRefused, match="not approved"):
            await plans.execute(drafted)
        approved = await plans.approve(drafted, start=False)
        assert (approved.status, approved.user_approved, approved.working) == ("approved", True, False)
        assert "parley plan execute" in describe(approved, 80)
        again = await plans.get(approved.task_id, wait=1)
        assert (again.status, await order_status(settings)) == ("approved", "pending")
        with pytest.raises(RequestRefused, match="It has not been started: start it"):
            await plans.approve(drafted)
        (line,) = (await parley.inbox()).sessions
        assert (line.id, line.state, line.unfinished) == (drafted.session_id, "approved", True)
        done = await plans.execute(approved)
        assert (done.status, await order_status(settings)) == ("completed", "cancelled")


async def test_a_plans_previews_show_what_its_writes_would_change_now(
    settings: Settings, bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving_plans(settings) as rest, Parley(rest.url) as parley:
        impossible = CALL | {"id": "s3", "arguments": {"order_id": "#W0000000", "reason": "no longer needed"}}
        stored = await parley.execution_plans.store("Cancel it", [STEPS[0], CALL, impossible])
        previews = await parley.execution_plans.previews(stored)
        assert (previews.version, previews.left_out, set(previews.steps)) == (stored.version, 0, {"s2", "s3"})
        changes = {change.path: (change.before, change.after) for change in previews.steps["s2"].changes}
        assert changes[f"orders/{ORDER['order_id']}/status"] == ("pending", "cancelled")
        assert "order not found" in previews.steps["s3"].error
        text = describe_changes(stored, previews)
        assert f'orders/{ORDER["order_id"]}/status: "pending" → "cancelled"' in text
        assert "As of now, this would fail:" in text
        assert await order_status(settings) == "pending"

        monkeypatch.setattr(plan_tasks, "MAX_PREVIEWS", 1)
        fewer = await parley.execution_plans.previews(stored)
        assert (set(fewer.steps), fewer.left_out) == ({"s2"}, 1)
        assert "Not looked up: what 1 more of the changes would do." in describe_changes(stored, fewer)

        await parley.execution_plans.execute(await parley.execution_plans.approve(stored))
        after = await parley.execution_plans.previews(stored)
        assert (after.version, after.steps.keys() & {"s2"}) == (stored.version, set())
        await rest.get(f"/{stored.session_id}.t999/previews")
        assert rest.status == 404
