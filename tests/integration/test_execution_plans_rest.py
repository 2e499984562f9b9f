"""Execution plans over REST, with the real services and the real store."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from parley.client import Parley
from parley.client.errors import RequestRefused
from services.gateway.app import build
from services.gateway.deferred_log import DeferredLog
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.llm import ScriptedModel
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.integration.test_execution_plan import CANCEL, LOOK, ORDER, USER, WHO, WRONG, order_status, plan
from tests.support.gateway import gateway_settings, serving
from tests.support.stack import working

STEPS = [
    {"id": "s1", "text": "Find the customer", "tool": "find_user_id_by_email", "arguments": {"email": USER["email"]}},
    {
        "text": "Look the order up",
        "tool": "get_order_details",
        "arguments": {"order_id": ORDER["order_id"]},
        "after": ["s1"],
    },
]


class PlanRestClient:
    def __init__(self, http: httpx2.AsyncClient, address: str, model: ScriptedModel) -> None:
        self._http = http
        self.url = f"http://{address}"
        self.model = model

    async def get(self, path: str = "", **more: Any) -> Any:
        return self._body(await self._http.get(f"/api/execution-plans{path}", **more))

    async def post(self, path: str = "", **body: Any) -> Any:
        return self._body(await self._http.post(f"/api/execution-plans{path}", json=body))

    async def delete(self, path: str) -> Any:
        return self._body(await self._http.delete(f"/api/execution-plans{path}"))

    def _body(self, answer: httpx2.Response) -> Any:
        self.status = answer.status_code
        return answer.json() if "json" in answer.headers["content-type"] else answer.text


@asynccontextmanager
async def serving_plans(settings: Settings, *replies: Any) -> AsyncIterator[PlanRestClient]:
    other = gateway_settings(nats_url=settings.nats_url, parley_home=settings.parley_home)
    plan_store, own = PlanStore(settings), Bus(other, "gateway")
    await plan_store.start()
    app, model = build(other, own, PlanStoreClient(own), DeferredLog(own)), ScriptedModel(*replies)
    try:
        async with (
            working(settings, model, store=PlanStoreClient),
            serving(app) as address,
            httpx2.AsyncClient(base_url=f"http://{address}", timeout=60) as http,
        ):
            yield PlanRestClient(http, address, model)
    finally:
        await plan_store.stop()


async def test_a_plan_is_generated_read_approved_and_returns_its_result(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK, CANCEL)) as there:
        drafted = await there.post(request="Cancel my order")
        assert (there.status, drafted["status"], drafted["user_approved"]) == (201, "pending_approval", False)
        assert [step["tool"] for step in drafted["steps"]] == [WHO.tool, LOOK.tool, CANCEL.tool]
        assert drafted["created_at"] == drafted["updated_at"] is not None
        task = f"/{drafted['task_id']}"
        text = await there.get(f"{task}/format")
        assert "Status: pending approval" in text
        assert f"3. [planned] Cancel it (after 2)\n   `cancel_pending_order(order_id='{ORDER['order_id']}'" in text
        await there.post(f"{task}/execute")
        assert there.status == 409
        outcome = await there.post(f"{task}/approve", version=drafted["version"], hash=drafted["hash"])
        assert (there.status, outcome["status"], outcome["user_approved"]) == (200, "completed", True)
        assert outcome["result"].startswith("All 3 steps were carried out.")
        assert {step["status"] for step in outcome["steps"]} == {"finished"}
        assert await order_status(settings) == "cancelled"
        assert await there.get(task) == outcome
        assert (await there.post(f"{task}/execute")) == outcome
        listed = await there.get()
        assert [(item["task_id"], item["status"]) for item in listed["plans"]] == [(outcome["session_id"], "completed")]
        assert (await there.get(f"/{outcome['session_id']}"))["task_id"] == outcome["task_id"]
        async with Parley(there.url) as parley:
            session = parley.session(outcome["session_id"])
            text, data = await session.export(), json.loads(await session.export("json"))
            with pytest.raises(RequestRefused, match="This session has no code"):
                await session.export("py")
        assert f"3. [finished] Cancel it (after 2)\n   `cancel_pending_order(order_id='{ORDER['order_id']}'" in text
        assert [(item["decision"], item["about"], item["hash"]) for item in data["decisions"]] == [
            ("approved", "plan", drafted["hash"])
        ]
        assert [(item["tool"], item["status"], item["approved_by"]) for item in data["calls"]] == [
            (step["tool"], "finished", data["decisions"][0]["by"]) for step in outcome["steps"]
        ]
        assert data["calls"][2]["result"]["status"] == "cancelled"
        assert data["execution_plan"] == json.loads(json.dumps(outcome | {"created_at": None, "updated_at": None}))


async def test_a_users_own_plan_is_stored_changed_cancelled_and_deleted(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings) as there:
        stored = await there.post("/store", description="Look it up", steps=STEPS, id="once")
        assert (there.status, stored["status"], stored["number"]) == (201, "pending_approval", 1)
        assert [(step["id"], step["effect"]) for step in stored["steps"]] == [("s1", "read"), ("s2", "read")]
        again = await there.post("/store", description="Look it up", steps=STEPS, id="once")
        assert (again["task_id"], again["number"]) == (stored["task_id"], 1)
        task = f"/{stored['task_id']}"
        changed = await there.post(f"{task}/modify", version=stored["version"], steps=STEPS[:1])
        assert (changed["number"], len(changed["steps"])) == (2, 1)
        await there.post(f"{task}/approve", version=stored["version"])
        assert there.status == 409  # it is not the newest
        given_up = await there.post(f"{task}/cancel")
        assert (there.status, given_up["status"], given_up["user_approved"]) == (200, "cancelled", False)
        await there.delete(task)
        assert there.status == 200
        assert (await there.get())["total"] == 0


async def test_a_failure_is_reported_and_execute_resumes_the_plan(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, WRONG, CANCEL)) as there:
        drafted = await there.post(request="Cancel my order")
        task = f"/{drafted['task_id']}"
        failed = await there.post(f"{task}/approve", version=drafted["version"])
        assert failed["status"] == "failed"
        assert await there.get(f"{task}/status") == {
            "task_id": drafted["task_id"],
            "status": "failed",
            "steps": {"s1": "finished", "s2": "failed", "s3": "skipped"},
        }
        assert "order not found" in await there.get(f"{task}/format")
        again = await there.post(f"{task}/execute")
        assert (again["status"], again["steps"][1]["attempt"]) == ("failed", 2)


async def test_an_earlier_task_of_a_session_is_read_only(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, WRONG), plan(WHO, LOOK)) as there, Parley(there.url) as parley:
        first = await there.post(request="Look my order up")
        session, old = first["session_id"], f"/{first['task_id']}"
        await there.post(f"{old}/modify", version=first["version"], description="Find me", steps=STEPS[:1])
        before = await there.post(f"{old}/approve", version=first["version"] + 1)
        assert (before["status"], before["current"]) == ("completed", True)
        report = await there.get(f"{old}/format")
        second = await there.post(f"{old}/modify", feedback="Now look another order up")
        assert (there.status, second["status"], second["current"]) == (200, "pending_approval", True)
        assert second["task_id"] not in (first["task_id"], session)

        assert await there.get(old) == {**before, "current": False}
        assert await there.get(f"{old}/format") == report
        assert (await there.get(f"{old}/status"))["steps"] == {"s1": "finished"}
        assert (await there.get(f"/{session}"))["task_id"] == second["task_id"]
        history = (await there.get(f"{old}/versions"))["plans"]
        assert [item["version"] for item in history] == [first["version"], first["version"] + 1]
        assert [item["version"] for item in (await there.get(f"/{session}/versions"))["plans"]] == [second["version"]]
        diff = await there.get(f"{old}/diff", params={"from": first["version"], "to": first["version"] + 1})
        assert [change["kind"] for change in diff["steps"]].count("removed") == 1
        refused = await there.get(f"{old}/diff", params={"from": first["version"], "to": second["version"]})
        assert (there.status, f"Version {second['version']} does not belong to this task." in refused["message"]) == (
            404,
            True,
        )

        listed = await there.get("", params={"session": session})
        assert [(item["task_id"], item["status"], item["steps"]) for item in listed["plans"]] == [
            (second["task_id"], "pending_approval", 2),
            (first["task_id"], "completed", 1),
        ]
        page = await there.get("", params={"session": session, "limit": 1, "offset": 1})
        assert ([item["description"] for item in page["plans"]], page["total"]) == (["Find me"], 2)
        assert (await there.get())["total"] == 1
        assert len((await parley.execution_plans.list(session_id=session)).plans) == 2
        for name, body in (
            ("modify", {"feedback": "x"}),
            ("approve", {"version": first["version"] + 1}),
            ("execute", {}),
            ("cancel", {}),
        ):
            refused = await there.post(f"{old}/{name}", **body)
            assert (there.status, "can only be read" in refused["message"]) == (409, True), name
        assert session in refused["hint"]
        await there.delete(old)
        assert there.status == 409
        unknown = await there.get(f"/{session}.t999")
        assert (there.status, first["task_id"] in unknown["hint"]) == (404, True)
        await there.get("", params={"session": "nobody"})
        assert there.status == 404
        await there.get("", params={"session": "a b"})
        assert there.status == 422
        assert (await there.get(f"/{session}"))["status"] == "pending_approval"  # nothing of that did anything

        await there.post(f"/{session}/cancel")
        await there.delete(f"/{session}")
        await there.get(old)
        assert (there.status, (await there.get("", params={"session": session}))["total"]) == (404, 0)


async def test_impossible_requests_are_refused_with_a_hint(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO)) as there:
        loop = [{**STEPS[0], "after": ["s2"]}, {**STEPS[1], "id": "s2"}]
        refused = await there.post("/store", description="x", steps=loop)
        assert there.status == 422
        assert "wait for each other" in refused["message"]
        unknown = [{"text": "Fly", "tool": "fly", "arguments": {}}]
        refused = await there.post("/store", description="x", steps=unknown)
        assert "there is no tool “fly” here" in refused["message"]
        assert (await there.get())["total"] == 0
        await there.get("/nobody.t2")
        assert there.status == 404
        await there.get("/a.b.c")
        assert there.status == 422
        drafted = await there.post(request="Find me")
        task = f"/{drafted['task_id']}"
        for wrong in ({}, {"feedback": "x", "steps": STEPS}, {"steps": STEPS}):
            await there.post(f"{task}/modify", **wrong)
            assert there.status == 422
        await there.get(f"/{drafted['session_id']}.t999")
        assert there.status == 404


async def test_the_same_requests_through_the_sdk(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, WRONG), plan(WHO, LOOK)) as there, Parley(there.url) as parley:
        plans = parley.execution_plans
        first = await plans.generate("Look my order up")
        second = await plans.modify(first, "It is another one")
        assert (first.number, second.number, second.task_id) == (1, 2, first.task_id)
        with pytest.raises(RequestRefused, match="not the one in review"):
            await plans.approve(first)
        started = await plans.approve(second)
        outcome = await plans.execute(started)
        assert (outcome.status, (await plans.status(outcome)).steps) == (
            "completed",
            {"s1": "finished", "s2": "finished"},
        )
        assert "1. [finished] Find the customer" in await plans.format(outcome)
        assert [line.task_id for line in (await plans.list()).plans] == [outcome.session_id]
        own = await plans.store("Find the customer", STEPS[:1])
        assert (await plans.cancel(own)).status == "cancelled"
        await plans.delete(own)
        assert (await plans.get(outcome.task_id)).result == outcome.result


async def test_an_accepted_plan_is_an_example_for_the_next_similar_request(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK), plan(WHO)) as there, Parley(there.url) as parley:
        drafted = await there.post(request="Look my order up")
        outcome = await there.post(f"/{drafted['task_id']}/approve", version=drafted["version"])
        session = parley.session(outcome["session_id"])
        assert {"judge", "save_to_library"} <= set((await session.snapshot()).can)
        await session.send(type="save_to_library")
        (entry,) = (await parley.library()).items
        assert (entry.request, entry.workflow, entry.saved) == ("Look my order up", "execution_plan", True)
        assert [step.tool for step in entry.steps] == [WHO.tool, LOOK.tool]
        await there.post(request="Look my other order up")
        first, second = (prompt.data for prompt in there.model.prompts)
        assert "<examples>\n" not in first
        result = json.loads(second.partition("<examples>\n")[2].partition("\n</examples>")[0])
        assert (result["request"], [step["tool"] for step in result["steps"]]) == (entry.request, [WHO.tool, LOOK.tool])


async def test_a_plan_is_generated_with_given_tools_model_and_instructions(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK)) as there, Parley(there.url) as parley:
        created = await parley.execution_plans.generate(
            "Look my order up", tools=[WHO.tool, LOOK.tool], model="big", instructions="Be quick."
        )
        assert {check.name: check.ok for check in created.checks}["references"] is True
        assert there.model.prompts[0].model == "big"
        assert "<instructions>\nBe quick.\n</instructions>" in there.model.prompts[0].data
        refused = await there.post(request="x", tools=["get_order_detail"])
        assert (there.status, "Do you mean get_order_details" in refused["message"]) == (422, True)
        await there.post(request="x", tools=[])
        assert there.status == 422
        step = {"text": "get_order_details", "tool": LOOK.tool, "arguments": {"order_id": ORDER["order_id"]}}
        own = await there.post("/store", description="Look", steps=[step, {**step, "tool": "think"}])
        assert (there.status, "thought" in own["message"]) == (422, True)
        stored = await there.post("/store", description="Look", steps=[step])
        assert "Worth a look:\n- Step 1 (s1): no words say what it is for." in stored["text"]
        assert [check["name"] for check in stored["checks"] if check["ok"] is None] == ["descriptions"]
