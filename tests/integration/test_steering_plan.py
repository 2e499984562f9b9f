"""The user steers a running plan: over the real services and the real store, also by REST and the client."""

from pathlib import Path
from typing import Any

import pytest

from parley.client import Parley
from parley.events import facts
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.turn.batches import running_actions
from shared.settings import Settings
from tests.integration.test_execution_plan import (
    BY_REFERENCE,
    CANCEL,
    LOOK,
    ORDER,
    WHO,
    WRONG,
    order_status,
    plan,
)
from tests.integration.test_execution_plans_rest import serving_plans
from tests.integration.test_plan_plugins import executors, open_session
from tests.support.plan_plugins import install_plugins
from tests.support.stack import Person


@pytest.fixture(autouse=True)
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the executor `held`: steps that look an order up wait until `release`."""
    install_plugins(tmp_path, monkeypatch)


def release() -> None:
    """Let the waiting steps end."""
    from outside_executors import Held  # type: ignore[import-not-found]  # noqa: PLC0415  installed by the fixture

    Held.go.set()


async def when_looking_up(ann: Person) -> Session:
    """Wait until the step that looks the order up runs, and return the session."""
    return await ann.sees(lambda session: [a.spec.tool for a in running_actions(session)] == [LOOK.tool])


async def test_an_edit_during_a_step_keeps_its_outcome_and_is_approved_only_after_it(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    async with open_session(settings, bus, session_id, plan(WHO, LOOK, CANCEL), **executors("held")) as (ann, _):
        await ann.approves()
        running = await when_looking_up(ann)
        assert running.plan
        steps = tuple(step for step in running.plan.steps if step.tool != CANCEL.tool)
        last = running.plan.steps[0].model_copy(
            update={"id": "s9", "text": "Find the customer again", "after": ("s2",)}
        )
        await ann.does(c.EditPlan(base=running.plan.version, steps=(*steps, last)))
        review = await ann.phase("awaiting_approval")
        assert review.plan
        assert [action.spec.tool for action in review.left_running] == [LOOK.tool]
        approval = c.Approve(version=review.plan.version, hash=review.plan.hash)
        with pytest.raises(OutOfTurn, match="still running"):
            await ann.does(approval)
        release()
        await ann.sees(lambda session: not session.left_running)
        await ann.does(approval)
        ended = await ann.phase("resting", "failed")
        assert (ended.plan and ended.plan.status, await order_status(settings)) == ("completed", "pending")
        finished = [event for event in await ann.events() if isinstance(event, facts.ActionsFinished)]
        assert [outcome.action_id.partition(".")[2] for event in finished for outcome in event.outcomes] == [
            "s1",
            "s2",
            "s9",
        ]


async def test_a_failed_step_is_skipped_with_an_output_that_the_user_gives(settings: Settings, bus: Bus) -> None:
    """A skipped step does not count for the pack's rule to read an order before cancelling it, so s4 reads it."""
    output: dict[str, Any] = {"order_id": ORDER["order_id"]}
    read = LOOK.model_copy(update={"id": "s4"})
    last = BY_REFERENCE.model_copy(update={"after": ["s4"]})
    async with serving_plans(settings, plan(WHO, WRONG, read, last)) as rest, Parley(rest.url) as parley:
        drafted = await rest.post(request="Cancel my order")
        task = f"/{drafted['task_id']}"
        failed = await rest.post(f"{task}/approve", version=drafted["version"])
        assert failed["status"] == "failed"
        refused = await rest.post(f"{task}/steps/s2/skip")
        assert (rest.status, "“Cancel it” (s3)" in refused["message"]) == (422, True)
        assert "with_dependents" in refused["message"]
        await rest.post(f"{task}/steps/s7/skip")
        assert rest.status == 404
        await rest.post(f"{task}/steps/s2/skip", output=output, with_dependents=True)
        assert rest.status == 422
        questions = await rest.post(f"{task}/steps/s2/skip", output=output)
        step = questions["steps"][1]
        assert (step["status"], step["given"], step["output"]) == ("skipped", True, output)
        assert f'Given output: {{"order_id": "{ORDER["order_id"]}"}}' in questions["text"]
        session = parley.session(drafted["session_id"])
        (action,) = (await session.snapshot()).approval_request.actions  # type: ignore[union-attr]
        assert action.arguments["order_id"] == ORDER["order_id"]  # the approval shows the value
        await session.send(type="approval", approved=True, action_id=action.action_id, hash=action.hash)
        outcome = await parley.execution_plans.wait(await parley.execution_plans.get(drafted["task_id"]))
        assert (outcome.status, await order_status(settings)) == ("completed", "cancelled")
        assert "You gave the output of “Look the order up” instead." in outcome.result
        assert "Look the order up: **not done**, you gave its output" in outcome.result
        text, data = await session.export(), await session.export("json")
        assert "output given instead" in text
        assert '"given": true' in data
