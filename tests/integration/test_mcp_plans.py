"""An assistant works with execution plans over MCP, with the MCP SDK's client and the real services."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client

from cli.gateway import GatewayAddress
from cli.mcp import server as mcp_server
from shared.bus import Bus
from shared.settings import Settings
from tests.integration.test_execution_plan import CANCEL, LOOK, WHO, order_status, plan
from tests.integration.test_execution_plans_rest import STEPS, serving_plans
from tests.integration.test_mcp_parley import refused, says


@asynccontextmanager
async def assistant(settings: Settings, *replies: Any) -> AsyncIterator[Client]:
    async with (
        serving_plans(settings, *replies) as rest,
        Client(mcp_server.build_server(lambda: GatewayAddress(f"{rest.url}/ws", ""))) as client,
    ):
        yield client


async def test_a_plan_is_generated_modified_approved_and_executed(settings: Settings, bus: Bus) -> None:
    async with assistant(settings, plan(WHO, LOOK), plan(WHO, LOOK, CANCEL)) as client:
        started = await says(client, "generate_execution_plan", request="Cancel my order", seconds=0)
        first = await says(client, "get_plan_by_task_id", task_id=started["task_id"], seconds=60)
        task = first["task_id"]
        assert (first["status"], len(first["steps"])) == ("pending_approval", 2)
        second = await says(client, "modify_execution_plan", task_id=task, feedback="Cancel it, too")
        assert [step["tool"] for step in second["steps"]] == [WHO.tool, LOOK.tool, CANCEL.tool]
        approval = {"task_id": task, "version": first["version"], "hash": first["hash"]}
        assert "not the one in review" in await refused(client, "approve_execution_plan", **approval)
        assert "not approved" in await refused(client, "execute_plan", task_id=task)
        assert await order_status(settings) == "pending"
        approval |= {"version": second["version"], "hash": second["hash"]}
        done = await says(client, "approve_execution_plan", **approval, seconds=60)
        assert (done["status"], done["user_approved"], await order_status(settings)) == ("completed", True, "cancelled")
        assert (await says(client, "execute_plan", task_id=task))["result"] == done["result"]
        status = await says(client, "get_plan_status", task_id=task)
        assert status["steps"] == {"s1": "finished", "s2": "finished", "s3": "finished"}
        assert "3. [finished] Cancel it" in (await says(client, "format_execution_plan", task_id=task))["result"]


async def test_an_assistants_plan_is_stored_modified_cancelled_and_deleted(settings: Settings, bus: Bus) -> None:
    async with assistant(settings) as client:
        stored = await says(client, "store_plan", description="Look the order up", steps=STEPS)
        task = stored["task_id"]
        assert [step["id"] for step in stored["steps"]] == ["s1", "s2"]
        steps = [{**STEPS[0], "text": "Who is it"}]
        assert "Name the version" in await refused(client, "modify_execution_plan", task_id=task, steps=steps)
        changed = await says(client, "modify_execution_plan", task_id=task, version=stored["version"], steps=steps)
        assert [step["description"] for step in changed["steps"]] == ["Who is it"]
        stale = await refused(client, "modify_execution_plan", task_id=task, version=stored["version"], steps=steps)
        assert stale.endswith("[stale_version]")
        assert (await says(client, "cancel_plan", task_id=task))["status"] == "cancelled"
        assert [plan["status"] for plan in (await says(client, "list_plans"))["plans"]] == ["cancelled"]
        assert (await says(client, "delete_plan", task_id=task))["status"] == "cancelled"
        assert (await says(client, "list_plans"))["total"] == 0
