"""Execution plans over REST, with all services and the retail store."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from parley.client import Parley
from parley.client.errors import RequestRefused
from parley.events.values import Service
from shared.bus import Bus
from shared.llm import ScriptedModel
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.integration.test_execution_plan import CANCEL, LOOK, ORDER, USER, WHO, WRONG, order_status, plan
from tests.support.http_client import http_client
from tests.support.stack import serving_gateway, working

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
async def serving_plans(
    settings: Settings, *replies: Any, services: tuple[Service, ...] = ()
) -> AsyncIterator[PlanRestClient]:
    """The REST API with these services (default: all four)."""
    model = ScriptedModel(*replies)
    async with (
        serving_gateway(settings) as address,
        working(settings, model, *services, store=PlanStoreClient),
        http_client(base_url=f"http://{address}") as http,
    ):
        yield PlanRestClient(http, address, model)


async def test_a_plan_is_generated_read_approved_and_returns_its_result(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK, CANCEL)) as rest:
        drafted = await rest.post(request="Cancel my order")
        assert (rest.status, drafted["status"], drafted["user_approved"]) == (201, "pending_approval", False)
        assert [step["tool"] for step in drafted["steps"]] == [WHO.tool, LOOK.tool, CANCEL.tool]
        assert drafted["created_at"] == drafted["updated_at"] is not None
        task = f"/{drafted['task_id']}"
        text = await rest.get(f"{task}/format")
        assert "Status: pending approval" in text
        assert f'3. [planned] Cancel it (after 2)\n   `cancel_pending_order(order_id="{ORDER["order_id"]}"' in text
        await rest.post(f"{task}/execute")
        assert rest.status == 409
        completed = await rest.post(f"{task}/approve", version=drafted["version"], hash=drafted["hash"])
        assert (rest.status, completed["status"], completed["user_approved"]) == (200, "completed", True)
        assert completed["result"].startswith("All 3 steps were carried out.")
        assert {step["status"] for step in completed["steps"]} == {"finished"}
        assert await order_status(settings) == "cancelled"
        assert await rest.get(task) == completed
        assert (await rest.post(f"{task}/execute")) == completed
        listed = await rest.get()
        assert [(item["task_id"], item["status"]) for item in listed["plans"]] == [
            (completed["session_id"], "completed")
        ]
        assert (await rest.get(f"/{completed['session_id']}"))["task_id"] == completed["task_id"]
        async with Parley(rest.url) as parley:
            session = parley.session(completed["session_id"])
            text, data = await session.export(), json.loads(await session.export("json"))
            with pytest.raises(RequestRefused, match="This session has no code"):
                await session.export("py")
        assert f'3. [finished] Cancel it (after 2)\n   `cancel_pending_order(order_id="{ORDER["order_id"]}"' in text
        assert [(item["decision"], item["about"], item["hash"]) for item in data["decisions"]] == [
            ("approved", "plan", drafted["hash"])
        ]
        assert [(item["tool"], item["status"], item["approved_by"]) for item in data["calls"]] == [
            (step["tool"], "finished", data["decisions"][0]["by"]) for step in completed["steps"]
        ]
        assert data["calls"][2]["result"]["status"] == "cancelled"
        assert data["execution_plan"] == json.loads(json.dumps(completed | {"created_at": None}))


async def test_a_users_own_plan_is_stored_changed_cancelled_and_deleted(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings) as rest:
        stored = await rest.post("/store", description="Look it up", steps=STEPS, id="once")
        assert (rest.status, stored["status"], stored["number"]) == (201, "pending_approval", 1)
        assert [(step["id"], step["effect"]) for step in stored["steps"]] == [("s1", "read"), ("s2", "read")]
        again = await rest.post("/store", description="Look it up", steps=STEPS, id="once")
        assert (again["task_id"], again["number"]) == (stored["task_id"], 1)
        task = f"/{stored['task_id']}"
        changed = await rest.post(f"{task}/modify", version=stored["version"], steps=STEPS[:1])
        assert (changed["number"], len(changed["steps"])) == (2, 1)
        await rest.post(f"{task}/approve", version=stored["version"])
        assert rest.status == 409  # only the newest version can be approved
        cancelled = await rest.post(f"{task}/cancel")
        assert (rest.status, cancelled["status"], cancelled["user_approved"]) == (200, "cancelled", False)
        await rest.delete(task)
        assert rest.status == 200
        assert (await rest.get())["total"] == 0
        assert (await rest.get("", params={"session": stored["session_id"]}))["total"] == 0
        session, versions = stored["session_id"], {"from": stored["version"], "to": changed["version"]}
        for name in (task, f"/{session}"):
            for part in ("", "/status", "/format", "/previews", "/versions", "/diff"):
                refused = await rest.get(f"{name}{part}", params=versions if part == "/diff" else None)
                assert (rest.status, "was deleted" in refused["message"]) == (404, True), f"{name}{part}"
            for verb, body in (
                ("execute", {}),
                ("cancel", {}),
                ("modify", {"feedback": "x"}),
                ("approve", {"version": 2}),
            ):
                await rest.post(f"{name}/{verb}", **body)
                assert rest.status == 404, verb
            await rest.delete(name)
            assert rest.status == 404


async def test_updated_at_moves_with_the_plan(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings) as rest, Parley(rest.url) as parley:
        plans = parley.execution_plans

        async def times() -> set[Any]:
            shown = await plans.get(stored.task_id)
            (line,) = (await plans.list()).plans
            (of_session,) = (await plans.list(session_id=stored.session_id)).plans
            return {shown.updated_at, line.updated_at, of_session.updated_at}

        stored = await plans.store("Look it up", STEPS)
        assert await times() == {stored.created_at}
        session = parley.session(stored.session_id)
        await session.send(type="rename", title="My order")
        assert await times() == {stored.created_at}, "a new title is no change of the plan"
        approved = await plans.approve(stored, start=False)
        assert approved.updated_at is not None
        assert stored.updated_at is not None
        assert approved.updated_at > stored.updated_at
        assert await times() == {approved.updated_at}
        done = await plans.execute(approved)
        assert done.updated_at is not None
        assert done.updated_at > approved.updated_at
        assert (await times(), done.created_at) == ({done.updated_at}, stored.created_at)


async def test_an_earlier_task_of_a_session_is_read_only(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, WRONG), plan(WHO, LOOK)) as rest, Parley(rest.url) as parley:
        first = await rest.post(request="Look my order up")
        session, old = first["session_id"], f"/{first['task_id']}"
        await rest.post(f"{old}/modify", version=first["version"], description="Find me", steps=STEPS[:1])
        before = await rest.post(f"{old}/approve", version=first["version"] + 1)
        assert (before["status"], before["current"]) == ("completed", True)
        report = await rest.get(f"{old}/format")
        second = await rest.post(f"{old}/modify", feedback="Now look another order up")
        assert (rest.status, second["status"], second["current"]) == (200, "pending_approval", True)
        assert second["task_id"] not in (first["task_id"], session)

        assert await rest.get(old) == {**before, "current": False}
        assert await rest.get(f"{old}/format") == report
        assert (await rest.get(f"{old}/status"))["steps"] == {"s1": "finished"}
        assert (await rest.get(f"/{session}"))["task_id"] == second["task_id"]
        history = (await rest.get(f"{old}/versions"))["plans"]
        assert [item["version"] for item in history] == [first["version"], first["version"] + 1]
        assert [item["version"] for item in (await rest.get(f"/{session}/versions"))["plans"]] == [second["version"]]
        diff = await rest.get(f"{old}/diff", params={"from": first["version"], "to": first["version"] + 1})
        assert [change["kind"] for change in diff["steps"]].count("removed") == 1
        refused = await rest.get(f"{old}/diff", params={"from": first["version"], "to": second["version"]})
        assert (rest.status, f"Version {second['version']} does not belong to this task." in refused["message"]) == (
            404,
            True,
        )

        listed = await rest.get("", params={"session": session})
        assert [(item["task_id"], item["status"], item["steps"]) for item in listed["plans"]] == [
            (second["task_id"], "pending_approval", 2),
            (first["task_id"], "completed", 1),
        ]
        page = await rest.get("", params={"session": session, "limit": 1, "offset": 1})
        assert ([item["description"] for item in page["plans"]], page["total"]) == (["Find me"], 2)
        assert (await rest.get())["total"] == 1
        assert len((await parley.execution_plans.list(session_id=session)).plans) == 2
        for name, body in (
            ("modify", {"feedback": "x"}),
            ("approve", {"version": first["version"] + 1}),
            ("execute", {}),
            ("cancel", {}),
        ):
            refused = await rest.post(f"{old}/{name}", **body)
            assert (rest.status, "can only be read" in refused["message"]) == (409, True), name
        assert session in refused["hint"]
        await rest.delete(old)
        assert rest.status == 409
        unknown = await rest.get(f"/{session}.t999")
        assert (rest.status, first["task_id"] in unknown["hint"]) == (404, True)
        await rest.get("", params={"session": "nobody"})
        assert rest.status == 404
        await rest.get("", params={"session": "a b"})
        assert rest.status == 422
        assert (await rest.get(f"/{session}"))["status"] == "pending_approval"  # the refused requests changed nothing

        await rest.post(f"/{session}/cancel")
        await rest.delete(f"/{session}")
        await rest.get(old)
        assert (rest.status, (await rest.get("", params={"session": session}))["total"]) == (404, 0)


async def test_invalid_plans_and_requests_are_refused(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO)) as rest:
        loop = [{**STEPS[0], "after": ["s2"]}, {**STEPS[1], "id": "s2"}]
        refused = await rest.post("/store", description="x", steps=loop)
        assert rest.status == 422
        assert "wait for each other" in refused["message"]
        unknown = [{"text": "Fly", "tool": "fly", "arguments": {}}]
        refused = await rest.post("/store", description="x", steps=unknown)
        assert "there is no tool “fly” here" in refused["message"]
        assert (await rest.get())["total"] == 0
        await rest.get("/nobody.t2")
        assert rest.status == 404
        await rest.get("/a.b.c")
        assert rest.status == 422
        drafted = await rest.post(request="Find me")
        task = f"/{drafted['task_id']}"
        for wrong in ({}, {"feedback": "x", "steps": STEPS}, {"steps": STEPS}):
            await rest.post(f"{task}/modify", **wrong)
            assert rest.status == 422
        await rest.get(f"/{drafted['session_id']}.t999")
        assert rest.status == 404


async def test_a_plan_is_generated_with_given_tools_model_and_instructions(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK)) as rest, Parley(rest.url) as parley:
        created = await parley.execution_plans.generate(
            "Look my order up", tools=[WHO.tool, LOOK.tool], model="big", instructions="Be quick."
        )
        assert {check.name: check.ok for check in created.checks}["references"] is True
        assert rest.model.prompts[0].model == "big"
        assert rest.model.prompts[0].sections("instructions") == ["Be quick."]
        refused = await rest.post(request="x", tools=["get_order_detail"])
        assert (rest.status, "Do you mean get_order_details" in refused["message"]) == (422, True)
        await rest.post(request="x", tools=[])
        assert rest.status == 422
        step = {"text": "get_order_details", "tool": LOOK.tool, "arguments": {"order_id": ORDER["order_id"]}}
        refused = await rest.post("/store", description="Look", steps=[step, {**step, "tool": "think"}])
        assert (rest.status, "thought" in refused["message"]) == (422, True)
        stored = await rest.post("/store", description="Look", steps=[step])
        assert "Worth a look:\n- Step 1 (s1): no words say what it is for." in stored["text"]
        assert [check["name"] for check in stored["checks"] if check["ok"] is None] == ["descriptions"]
