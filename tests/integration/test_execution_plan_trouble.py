"""Failure cases of execution plans: too many steps, cyclic references, concurrent tabs, hanging steps."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from parley.client import Parley
from parley.events import facts
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.steps.plan_steps import task_status
from shared.domain.turn.batches import running_actions
from shared.settings import Settings
from tests.integration.test_execution_plan import CANCEL, LOOK, WHO, open_session, order_status, plan
from tests.integration.test_execution_plans_rest import serving_plans
from tests.support.http_client import http_client
from tests.support.plan_plugins import install_plugins
from tests.support.timeouts import WAIT_TIMEOUT

ROOT = Path(__file__).parents[2]


def adds(number: int, expression: str = "1 + 1", **more: Any) -> dict[str, Any]:
    call = {"id": f"s{number}", "text": f"Work {number} out", "tool": "calculate"}
    return {**call, "arguments": {"expression": expression}, **more}


async def test_the_steps_in_the_documentation_are_a_valid_plan(settings: Settings, bus: Bus) -> None:
    (steps,) = re.findall(
        r"```json\n(\[.*?\])\n```", (ROOT / "docs" / "execution-plans.md").read_text("utf-8"), re.DOTALL
    )
    async with serving_plans(settings) as there:
        stored = await there.post("/store", description="Count orders", steps=json.loads(steps))
        assert (there.status, len(stored["steps"])) == (201, 5), stored


async def test_only_an_approval_approves_a_plan(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings) as there:
        for name in ("user_approved", "status", "approved"):
            refused = await there.post("/store", description="Add", steps=[adds(1)], **{name: True})
            assert (there.status, f"`{name}` is not known here" in refused["message"]) == (422, True)
        own = await there.post("/store", description="Add", steps=[adds(1, status="finished")])
        assert (there.status, "Step 1: `status` is not known here" in own["message"]) == (422, True)
        assert (await there.get())["total"] == 0


async def test_when_tabs_approve_and_edit_at_once_the_plan_runs_at_most_once(settings: Settings, bus: Bus) -> None:
    """A request for an outdated version is refused with a message."""
    async with (
        serving_plans(settings) as there,
        Parley(there.url) as parley,
        http_client(base_url=there.url) as http,
    ):
        for tab in range(4):
            stored = await there.post("/store", description="Work it out", steps=[adds(1)])
            task, observed = f"/api/execution-plans/{stored['task_id']}", stored["version"]
            edit = {"version": observed, "steps": [adds(1, "2 + 2")]}
            approvals, edits = [{"version": observed, "hash": stored["hash"]}] * 2, [edit] * (1 + tab % 2)
            answers = await asyncio.gather(
                *(http.post(f"{task}/approve", json=body) for body in approvals),
                *(http.post(f"{task}/modify", json=body) for body in edits),
            )
            taken = [answer.status_code == 200 for answer in answers]
            assert any(taken)
            for answer in answers:
                assert answer.status_code in (200, 409, 422), answer.text
                assert answer.status_code == 200 or answer.json()["message"]
            events = await parley.session(stored["session_id"]).journal()
            started = [event for event in events if isinstance(event, facts.ActionsStarted)]
            approved = [event for event in events if isinstance(event, facts.PlanApproved)]
            edited = [event for event in events if isinstance(event, facts.PlanEdited)]
            assert (len(approved), len(edited) - 1) == (
                sum(taken[:2]),
                sum(taken[2:]),
            )
            assert [event.plan_version for event in approved] in ([observed], [])
            # An edit after the approval may prevent the start.
            overtaken = bool(approved) and edited[-1].version > approved[0].version
            assert len(started) in ((0, 1) if overtaken else (len(approved),))
            if approved and not any(taken[2:]):
                assert answers[taken.index(True)].json()["steps"][0]["output"] == "2.0"


async def test_a_step_that_never_ends_can_be_stopped_and_retried(
    settings: Settings, bus: Bus, session_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop cancels a running read at once. It waits for a running change until its deadline, to know its outcome."""
    install_plugins(tmp_path, monkeypatch)
    began: asyncio.Queue[str] = asyncio.Queue()

    async def stored(subject: str, _: bytes) -> None:
        await began.put(subject)

    await bus.subscribe("$O.ARTEFACTS.M.>", stored)
    hangs = settings.model_copy(update={"parley_step_executors": ("hangsreading",)})
    async with open_session(hangs, bus, session_id, plan(WHO, LOOK, CANCEL)) as (ann, _):
        await ann.approves()
        for attempt in (1, 2):
            async with asyncio.timeout(WAIT_TIMEOUT):
                await began.get()
            await ann.does(c.Stop())
            stopped = await ann.sees(lambda session: session.phase == "resting" and not running_actions(session))
            assert stopped.turn
            assert (stopped.rest_reason, task_status(stopped)) == ("stopped", "paused")
            assert [action.status for action in stopped.turn.actions] == ["finished", "failed", "skipped"]
            assert stopped.turn.actions[1].attempt == attempt
            await ann.does(c.Retry())
        started = [action for e in await ann.events() if isinstance(e, facts.ActionsStarted) for action in e.actions]
        assert [action.action_id for action in started][:2] == [f"{stopped.task}.s1", f"{stopped.task}.s2"]
        assert await order_status(settings) == "pending"
