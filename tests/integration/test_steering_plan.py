"""A person steers a plan that runs: over the real services and the real store, also by REST and the client."""

from pathlib import Path
from typing import Any

import pytest

from cli.plan_diff import changes, origin
from parley.client import Parley
from parley.client.errors import Refused
from parley.events import facts
from parley.reply import WordsDraft
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.errors import OutOfTurn
from shared.domain.session import Session
from shared.domain.waves import find, running
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
from tests.integration.test_execution_plans_rest import serves
from tests.integration.test_plan_plugins import asked, executors
from tests.support.plan_plugins import install_plugins
from tests.support.stack import Person

WORDS = WordsDraft(text="It looks your order up before it cancels it.")


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that look an order up wait until the test lets them go."""
    install_plugins(tmp_path, monkeypatch)


def let_go() -> None:
    from outside_executors import Held  # type: ignore[import-not-found]  # noqa: PLC0415  installed by the fixture

    Held.go.set()


async def looks_up(ann: Person) -> Session:
    """The session while the order is being looked up."""
    return await ann.sees(lambda session: [a.spec.tool for a in running(session)] == [LOOK.tool])


async def test_words_are_answered_when_the_running_step_has_ended_and_the_plan_goes_on(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (plan(WHO, LOOK, CANCEL), WORDS)
    async with asked(settings, bus, session_id, *replies, **executors("held")) as (ann, model):
        await approve(ann)
        await looks_up(ann)
        await ann.does(c.Say(text="Why do you look it up?"))
        assert running((await ann.load()).session)
        let_go()
        done = await ann.phase("resting", "failed")
        assert (done.plan and done.plan.status, await order_status(settings)) == ("completed", "cancelled")
        kinds = [event.type for event in await ann.events()]
        said = kinds.index("message.received", 1)
        assert kinds[said + 1 : said + 4] == ["actions.finished", "remark.answered", "actions.started"]
        assert "Why do you look it up?" in model.prompts[1].text
        assert "no step begins before you reply" in model.prompts[1].text
        assert f"{done.task}.s2 {LOOK.tool}: finished" in model.prompts[1].text


async def test_words_that_ask_for_something_else_put_another_version_in_review(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    replies = (plan(WHO, LOOK, CANCEL), plan(WHO, LOOK))
    async with asked(settings, bus, session_id, *replies, **executors("held")) as (ann, _):
        await approve(ann)
        await looks_up(ann)
        await ann.does(c.Say(text="Do not cancel it"))
        let_go()
        await ann.sees(lambda session: session.plan is not None and session.plan.number == 2)
        await approve(ann)
        done = await ann.phase("resting", "failed")
        assert (done.plan and done.plan.status, await order_status(settings)) == ("completed", "pending")
        starts = [event for event in await ann.events() if isinstance(event, facts.ActionsStarted)]
        assert [one.action_id for event in starts for one in event.actions] == [f"{done.task}.s1", f"{done.task}.s2"]


async def test_an_edit_while_a_step_runs_keeps_its_outcome_and_waits_for_it(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    async with asked(settings, bus, session_id, plan(WHO, LOOK, CANCEL), **executors("held")) as (ann, _):
        await approve(ann)
        runs = await looks_up(ann)
        assert runs.plan
        steps = tuple(step for step in runs.plan.steps if step.tool != CANCEL.tool)
        last = runs.plan.steps[0].model_copy(update={"id": "s9", "text": "Find the customer again", "after": ("s2",)})
        await ann.does(c.EditPlan(base=runs.plan.version, steps=(*steps, last)))
        review = await ann.phase("awaiting_approval")
        assert review.plan
        assert [action.spec.tool for action in review.left_running] == [LOOK.tool]
        approval = c.Approve(version=review.plan.version, hash=review.plan.hash)
        with pytest.raises(OutOfTurn, match="still running"):
            await ann.does(approval)
        let_go()
        await ann.sees(lambda session: not session.left_running)
        await ann.does(approval)
        done = await ann.phase("resting", "failed")
        assert (done.plan and done.plan.status, await order_status(settings)) == ("completed", "pending")
        finished = [event for event in await ann.events() if isinstance(event, facts.ActionsFinished)]
        assert [one.action_id.partition(".")[2] for event in finished for one in event.outcomes] == ["s1", "s2", "s9"]


async def test_what_is_said_over_rest_is_answered_there_and_the_plan_goes_on(settings: Settings, bus: Bus) -> None:
    held = settings.model_copy(update=executors("held"))
    async with serves(held, plan(WHO, LOOK, CANCEL), WORDS) as there:
        drafted = await there.post(request="Cancel my order")
        task = f"/{drafted['task_id']}"
        await there.post(f"{task}/approve", version=drafted["version"], timeout=0)
        await looks_up(Person(bus, drafted["session_id"]))
        said = await there.post(f"{task}/modify", feedback="Why do you look it up?", timeout=0)
        assert (said["status"], said["reply"]) == ("executing", "")
        let_go()
        done = await there.get(task, params={"timeout": 40})
        assert (done["status"], done["reply"], done["number"]) == ("completed", WORDS.text, 1)


async def test_a_cancel_tells_what_was_done_what_runs_and_what_was_not(settings: Settings, bus: Bus) -> None:
    held = settings.model_copy(update=executors("held"))
    async with serves(held, plan(WHO, LOOK, CANCEL)) as there:
        drafted = await there.post(request="Cancel my order")
        task = f"/{drafted['task_id']}"
        await there.post(f"{task}/approve", version=drafted["version"], timeout=0)
        ann = Person(bus, drafted["session_id"])
        await looks_up(ann)
        cancelled = await there.post(f"{task}/cancel")
        assert (there.status, cancelled["status"]) == (200, "cancelled")
        progress = cancelled["progress"]
        assert (progress["done"], progress["running"], progress["not_done"]) == (["s1"], ["s2"], ["s3"])
        let_go()
        await ann.sees(lambda session: (a := find(session, f"{session.task}.s2")) is not None and not a.under_way)
        later = await there.get(task)
        assert (later["status"], later["progress"]["done"]) == ("cancelled", ["s1", "s2"])
        said = "Done: 1. Find the customer; 2. Look the order up. Not done: 3. Cancel it."
        assert later["progress"]["text"] == said
        assert await order_status(settings) == "pending"


async def test_a_step_is_dependents_to_skip_the_output_that_a_person_gives(settings: Settings, bus: Bus) -> None:
    """A rule of the store counts what was done only: it wants the order read before it is cancelled."""
    output: dict[str, Any] = {"order_id": ORDER["order_id"]}
    read = LOOK.model_copy(update={"id": "s4"})
    last = BY_REFERENCE.model_copy(update={"after": ["s4"]})
    async with serves(settings, plan(WHO, WRONG, read, last)) as there, Parley(there.url) as parley:
        drafted = await there.post(request="Cancel my order")
        task = f"/{drafted['task_id']}"
        failed = await there.post(f"{task}/approve", version=drafted["version"])
        assert failed["status"] == "failed"
        refused = await there.post(f"{task}/steps/s2/skip")
        assert (there.status, "“Cancel it” (s3)" in refused["message"]) == (422, True)
        assert "with_dependents" in refused["message"]
        await there.post(f"{task}/steps/s7/skip")
        assert there.status == 404
        await there.post(f"{task}/steps/s2/skip", output=output, with_dependents=True)
        assert there.status == 422
        asks = await there.post(f"{task}/steps/s2/skip", output=output)
        step = asks["steps"][1]
        assert (step["status"], step["given"], step["output"]) == ("skipped", True, output)
        assert f'Given output: {{"order_id": "{ORDER["order_id"]}"}}' in asks["text"]
        session = parley.session(drafted["session_id"])
        (action,) = (await session.snapshot()).approval_request.actions  # type: ignore[union-attr]
        assert action.arguments["order_id"] == ORDER["order_id"]  # a person sees the value before it is used
        await session.send(type="approval", approved=True, action_id=action.action_id, hash=action.hash)
        done = await parley.execution_plans.get(drafted["task_id"], wait=30)
        assert (done.status, await order_status(settings)) == ("completed", "cancelled")
        assert "You gave the output of “Look the order up” instead." in done.result
        assert "Look the order up: **not done**, you gave its output" in done.result
        text, data = await session.export(), await session.export("json")
        assert "output given instead" in text
        assert '"given": true' in data


async def test_a_step_is_dependents_to_skip_the_steps_that_use_its_output(settings: Settings, bus: Bus) -> None:
    last = WHO.model_copy(update={"id": "s4", "text": "Find them again", "after": ["s3"]})
    async with serves(settings, plan(WHO, WRONG, BY_REFERENCE, last)) as there, Parley(there.url) as parley:
        drafted = await there.post(request="Cancel my order")
        plans = parley.execution_plans
        failed = await there.post(f"/{drafted['task_id']}/approve", version=drafted["version"])
        assert failed["status"] == "failed"
        found = await plans.get(drafted["task_id"])
        with pytest.raises(Refused, match="is used by"):
            await plans.skip(found, "s2")
        done = await plans.skip(found, "s2", with_dependents=True, wait=30)
        assert (done.status, [step.status for step in done.steps]) == (
            "completed",
            ["finished", "skipped", "skipped", "finished"],
        )
        assert done.progress.not_done == ("s2", "s3")
        assert await order_status(settings) == "pending"


async def test_versions_tell_who_made_them_and_why_and_what_changed(settings: Settings, bus: Bus) -> None:
    right = LOOK.model_copy(update={"id": "s3", "after": []})
    replies = (plan(WHO, WRONG), plan(WHO, right))
    async with serves(settings, *replies) as there, Parley(there.url) as parley:
        plans = parley.execution_plans
        drafted = await there.post(request="Cancel my order")
        task = f"/{drafted['task_id']}"
        assert (await there.post(f"{task}/approve", version=drafted["version"]))["status"] == "failed"
        second = await plans.modify(await plans.get(drafted["task_id"]), "It is another order", wait=30)
        steps = [step.model_dump(mode="json") | {"text": step.description} for step in second.steps]
        swapped = [
            {"id": one["id"], "text": one["text"], "tool": one["tool"], "arguments": one["parameters"]}
            for one in (steps[1], steps[0])
        ]
        third = await plans.modify(second, steps=swapped, wait=30)
        versions = await plans.versions(third)
        assert [(one.number, one.by, one.reason) for one in versions] == [
            (1, "planner", "Cancel my order"),
            (2, "planner", "It is another order"),
            (3, versions[2].by, ""),
        ]
        assert versions[2].by.startswith("user:")
        first, _, last = versions
        found = await plans.diff(third, first.version, last.version)
        told = [(one.kind, (one.after or one.before).id, one.status) for one in found.steps]  # type: ignore[union-attr]
        assert told == [("added", "s3", "planned"), ("same", "s1", "finished"), ("removed", "s2", None)]
        assert [one.reason for one in found.origins] == ["Cancel my order", ""]
        lines = list(changes(found))
        assert [line.split()[0] for line in lines] == ["new", "done", "removed"]
        assert origin(versions[1]).endswith("Draft by the planner: “It is another order”")
