"""The user steers a running plan: over the real services and the real store, also by REST and the client."""

from pathlib import Path
from typing import Any

import pytest

from cli.talk.plan_rendering import change_lines, origin
from parley.client import Parley
from parley.client.errors import RequestRefused
from parley.events import facts
from parley.reply import WordsDraft
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.batches import find_action, running_actions
from shared.domain.errors import OutOfTurn
from shared.domain.session import Session
from shared.settings import Settings
from tests.integration.test_execution_plan import (
    BY_REFERENCE,
    CANCEL,
    LOOK,
    ORDER,
    WHO,
    WRONG,
    approve,
    order_status,
    plan,
)
from tests.integration.test_execution_plans_rest import serving_plans
from tests.integration.test_plan_plugins import executors, open_session
from tests.support.plan_plugins import install_plugins
from tests.support.stack import Person
from tests.support.timeouts import WAIT_TIMEOUT

WORDS = WordsDraft(text="It looks your order up before it cancels it.")


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


async def test_a_message_during_a_step_is_answered_beside_it_and_the_plan_continues(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (plan(WHO, LOOK, CANCEL), WORDS)
    async with open_session(settings, bus, session_id, *replies, **executors("held")) as (ann, model):
        await approve(ann)
        await when_looking_up(ann)
        await ann.does(c.Say(text="Why do you look it up?"))
        answered = await ann.sees(lambda session: session.words.reply == WORDS.text)
        assert running_actions(answered)
        release()
        session = await ann.phase("resting", "failed")
        assert (session.plan and session.plan.status, await order_status(settings)) == ("completed", "cancelled")
        assert model.prompts[1].sections("message") == ["Why do you look it up?"]
        assert "no further change begins before you reply" in model.prompts[1].sections("waiting")[0]
        assert f"- s2 {LOOK.tool}: started" in model.prompts[1].sections("executed")[0]


async def test_a_message_that_changes_the_plan_offers_a_new_version(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (plan(WHO, LOOK, CANCEL), plan(WHO, LOOK))
    async with open_session(settings, bus, session_id, *replies, **executors("held")) as (ann, _):
        await approve(ann)
        await when_looking_up(ann)
        await ann.does(c.Say(text="Do not cancel it"))
        await ann.sees(lambda session: session.offer is not None)
        release()
        await ann.sees(lambda session: session.work is None)
        await ann.does(c.TakeOffer())
        await approve(ann)
        ended = await ann.phase("resting", "failed")
        assert (ended.plan and ended.plan.status, await order_status(settings)) == ("completed", "pending")
        starts = [event for event in await ann.events() if isinstance(event, facts.ActionsStarted)]
        assert [action.action_id for event in starts for action in event.actions] == [
            f"{ended.task}.s1",
            f"{ended.task}.s2",
        ]


async def test_an_edit_during_a_step_keeps_its_outcome_and_is_approved_only_after_it(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    async with open_session(settings, bus, session_id, plan(WHO, LOOK, CANCEL), **executors("held")) as (ann, _):
        await approve(ann)
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


async def test_a_question_over_rest_is_answered_and_the_plan_continues(settings: Settings, bus: Bus) -> None:
    with_executor = settings.model_copy(update=executors("held"))
    async with serving_plans(with_executor, plan(WHO, LOOK, CANCEL), WORDS) as rest:
        drafted = await rest.post(request="Cancel my order")
        task = f"/{drafted['task_id']}"
        await rest.post(f"{task}/approve", version=drafted["version"], timeout=0)
        await when_looking_up(Person(bus, drafted["session_id"]))
        message = await rest.post(f"{task}/modify", feedback="Why do you look it up?", timeout=0)
        assert (message["status"], message["reply"]) == ("executing", "")
        release()
        outcome = await rest.get(task, params={"timeout": WAIT_TIMEOUT})
        assert (outcome["status"], outcome["reply"], outcome["number"]) == ("completed", WORDS.text, 1)


async def test_a_cancelled_plan_lists_done_running_and_undone_steps(settings: Settings, bus: Bus) -> None:
    with_executor = settings.model_copy(update=executors("held"))
    async with serving_plans(with_executor, plan(WHO, LOOK, CANCEL)) as rest:
        drafted = await rest.post(request="Cancel my order")
        task = f"/{drafted['task_id']}"
        await rest.post(f"{task}/approve", version=drafted["version"], timeout=0)
        ann = Person(bus, drafted["session_id"])
        await when_looking_up(ann)
        cancelled = await rest.post(f"{task}/cancel")
        assert (rest.status, cancelled["status"]) == (200, "cancelled")
        progress = cancelled["progress"]
        assert (progress["done"], progress["running"], progress["not_done"]) == (["s1"], ["s2"], ["s3"])
        release()
        await ann.sees(
            lambda session: (a := find_action(session, f"{session.task}.s2")) is not None and not a.is_under_way
        )
        later = await rest.get(task)
        assert (later["status"], later["progress"]["done"]) == ("cancelled", ["s1", "s2"])
        message = "Done: 1. Find the customer; 2. Look the order up. Not done: 3. Cancel it."
        assert later["progress"]["text"] == message
        assert await order_status(settings) == "pending"


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


async def test_a_failed_step_is_skipped_together_with_the_steps_that_use_its_output(
    settings: Settings, bus: Bus
) -> None:
    last = WHO.model_copy(update={"id": "s4", "text": "Find them again", "after": ["s3"]})
    async with serving_plans(settings, plan(WHO, WRONG, BY_REFERENCE, last)) as rest, Parley(rest.url) as parley:
        drafted = await rest.post(request="Cancel my order")
        plans = parley.execution_plans
        failed = await rest.post(f"/{drafted['task_id']}/approve", version=drafted["version"])
        assert failed["status"] == "failed"
        result = await plans.get(drafted["task_id"])
        with pytest.raises(RequestRefused, match="is used by"):
            await plans.skip(result, "s2")
        done = await plans.skip(result, "s2", with_dependents=True, wait=None)
        assert (done.status, [step.status for step in done.steps]) == (
            "completed",
            ["finished", "skipped", "skipped", "finished"],
        )
        assert done.progress.not_done == ("s2", "s3")
        assert await order_status(settings) == "pending"


async def test_plan_versions_show_author_reason_and_changes(settings: Settings, bus: Bus) -> None:
    right = LOOK.model_copy(update={"id": "s3", "after": []})
    replies = (plan(WHO, WRONG), plan(WHO, right))
    async with serving_plans(settings, *replies) as rest, Parley(rest.url) as parley:
        plans = parley.execution_plans
        drafted = await rest.post(request="Cancel my order")
        task = f"/{drafted['task_id']}"
        assert (await rest.post(f"{task}/approve", version=drafted["version"]))["status"] == "failed"
        second = await plans.modify(await plans.get(drafted["task_id"]), "It is another order", wait=None)
        steps = [step.model_dump(mode="json") | {"text": step.description} for step in second.steps]
        swapped = [
            {"id": item["id"], "text": item["text"], "tool": item["tool"], "arguments": item["parameters"]}
            for item in (steps[1], steps[0])
        ]
        third = await plans.modify(second, steps=swapped, wait=None)
        versions = await plans.versions(third)
        assert [(item.number, item.by, item.reason) for item in versions] == [
            (1, "planner", "Cancel my order"),
            (2, "planner", "It is another order"),
            (3, versions[2].by, ""),
        ]
        assert versions[2].by.startswith("user:")
        first, _, last = versions
        diff = await plans.diff(third, first.version, last.version)
        result = [(item.kind, (item.after or item.before).id, item.status) for item in diff.steps]  # type: ignore[union-attr]
        assert result == [("added", "s3", "planned"), ("same", "s1", "finished"), ("removed", "s2", None)]
        assert [item.reason for item in diff.origins] == ["Cancel my order", ""]
        lines = list(change_lines(diff))
        assert [line.split()[0] for line in lines] == ["new", "done", "removed"]
        assert origin(versions[1]).endswith("Draft by the planner: “It is another order”")
