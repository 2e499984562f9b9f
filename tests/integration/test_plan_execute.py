"""`execute` starts an approved plan once and waits for it; a paused plan is not waited for."""

import asyncio
from typing import Any

from parley.client import Parley
from shared.bus import Bus
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.integration.test_execution_plans_rest import STEPS, PlanRestClient, serving_plans
from tests.support.stack import working
from tests.support.timeouts import WAIT_TIMEOUT

FAILS = [{"id": "s1", "text": "Find nobody", "tool": "find_user_id_by_email", "arguments": {"email": "no@example.com"}}]


async def stored(rest: PlanRestClient, steps: list[dict[str, Any]] = FAILS) -> dict[str, Any]:
    body: dict[str, Any] = await rest.post("/store", description="Find a customer", steps=steps)
    return body


async def until_failed(rest: PlanRestClient, task: str) -> None:
    while (await rest.get(task))["status"] != "failed":
        pass  # each read awaits a request


async def test_execute_right_after_an_approval_attempts_a_failing_step_once(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings) as rest:
        for pause in (False, True, False, True):
            drafted = await stored(rest)
            task = f"/{drafted['task_id']}"
            await rest.post(f"{task}/approve", version=drafted["version"], timeout=0)
            if pause:
                await until_failed(rest, task)
            result = await rest.post(f"{task}/execute")
            assert (rest.status, result["status"], result["steps"][0]["attempt"]) == (200, "failed", 1)
            assert not result["working"]
            assert result["result"], "execute also waits for the report"


async def test_no_request_is_refused_before_a_failure_is_reported(settings: Settings, bus: Bus) -> None:
    """The status is `failed` once the verifier has judged; the session rests once the generator has reported."""
    async with serving_plans(settings, services=("planner", "executor", "verifier")) as rest:
        drafted = await stored(rest)
        task = f"/{drafted['task_id']}"
        await rest.post(f"{task}/approve", version=drafted["version"], timeout=0)
        await until_failed(rest, task)
        waiting = await rest.post(f"{task}/execute", timeout=0)
        assert (rest.status, waiting["status"], waiting["working"]) == (200, "failed", True)
        retried = asyncio.create_task(rest.post(f"{task}/execute", retry=True))
        async with working(settings, rest.model, "generator", store=PlanStoreClient):
            again = await retried
            assert (rest.status, again["status"], again["steps"][0]["attempt"]) == (200, "failed", 2)


async def test_two_programs_start_an_approved_plan_once(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings) as rest, Parley(rest.url) as parley:
        plans = parley.execution_plans
        approved = await plans.approve(await plans.store("Find a customer", FAILS), start=False)
        results = await asyncio.gather(*(plans.execute(approved) for _ in range(4)))
        assert {(result.status, result.steps[0].attempt) for result in results} == {("failed", 1)}


async def test_a_plan_that_is_paused_is_not_working(settings: Settings, bus: Bus) -> None:
    """No planner or verifier runs: whoever waited for their work would wait for ever."""
    async with serving_plans(settings, services=("executor",)) as rest, Parley(rest.url) as parley:
        plans = parley.execution_plans
        drafting = await plans.generate("Look my order up", wait=0)
        started = await plans.approve(await plans.store("Look it up", STEPS))
        for plan_ in (drafting, started):
            session = parley.session(plan_.session_id)
            assert plan_.working
            waiting = asyncio.create_task(plans.wait(plan_))
            await session.send(type="pause")
            assert not (await waiting).working
            assert not (await plans.get(plan_.task_id, wait=WAIT_TIMEOUT)).working
            await rest.get(f"/{plan_.task_id}", params={"timeout": WAIT_TIMEOUT})
            assert rest.status == 200
            await session.send(type="unpause")
            assert (await plans.get(plan_.task_id)).working
        await parley.session(started.session_id).send(type="pause")
        paused = await plans.execute(started)
        assert (paused.status, paused.working) == ("paused", False)
        assert (await plans.execute(paused, retry=True, wait=0)).working
        await parley.session(started.session_id).send(type="pause")
        assert (await plans.modify(paused, "Only find me", wait=0)).working, "a message is answered during a pause"
