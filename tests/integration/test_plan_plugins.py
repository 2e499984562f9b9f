"""Execution plans with a third-party generator and step executor, over a real bus and the real store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from parley.client import Parley
from parley.events import facts
from parley.events.values import Service, SessionSettings
from services.planner.execution_plan_prompt import StepDraft
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session, undecided_actions
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.integration.test_execution_plan import (
    BY_REFERENCE,
    CANCEL,
    LOOK,
    ORDER,
    USER,
    WHO,
    order_status,
    plan,
)
from tests.integration.test_execution_plans_rest import serving_plans
from tests.support.executors import executor
from tests.support.plan_plugins import install_plugins
from tests.support.stack import Person, running_plan_store, working
from tests.support.timeouts import WAIT_TIMEOUT


@pytest.fixture(autouse=True)
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the package with the test's plugins."""
    install_plugins(tmp_path, monkeypatch)


@asynccontextmanager
async def open_session(
    settings: Settings,
    bus: Bus,
    session_id: str,
    *replies: Any,
    request: str = "Cancel my order",
    generator: str = "",
    tools: tuple[str, ...] = (),
    instructions: str = "",
    **plugin_settings: Any,
) -> AsyncIterator[tuple[Person, ScriptedModel]]:
    """A session with the plugins that the settings of `executors()` or `generators()` list; yields user and model."""
    model = ScriptedModel(*replies)
    async with working(settings.model_copy(update=plugin_settings), model):
        ann = Person(bus, session_id)
        session_settings = SessionSettings(generator=generator, tools=tools, instructions=instructions)
        await ann.does(c.Say(text=request, workflow="execution_plan", settings=session_settings))
        yield ann, model


def executors(*names: str) -> dict[str, Any]:
    return {"parley_step_executors": names}


def generators(*names: str) -> dict[str, Any]:
    return {"parley_plan_generators": names}


def results(session: Session) -> list[Any]:
    assert session.turn
    return [action.result for action in session.turn.actions]


async def test_steps_are_run_by_the_executors_of_their_tools(settings: Settings, bus: Bus, session_id: str) -> None:
    from outside_executors import DryRun, Watched  # type: ignore[import-not-found]  # noqa: PLC0415  installed by the fixture

    both = executors("watched", "dryrun")
    async with open_session(settings, bus, session_id, plan(WHO, LOOK, CANCEL), **both) as (ann, _):
        await ann.approves()
        session = await ann.phase("resting", "failed")
        assert session.plan
        assert (session.plan.status, await order_status(settings)) == ("completed", "pending")  # it was a dry run
        who, look, cancel = results(session)
        assert who == ORDER["user_id"]
        assert Watched.seen[0] == (f"{session_id}/{session.task}.s1/1", "Cancel the order", 3)
        assert ORDER["order_id"] in str(look)
        assert cancel == {"would": "cancel_pending_order", "with": CANCEL.arguments}
        assert DryRun.seen == [("s3", CANCEL.arguments, f"{session_id}/{session.task}.s3/1", 1, "write", session_id)]


async def approve_and_run(ann: Person) -> Session:
    """Approve the plan and return the session once the run ends or asks."""
    await ann.approves()
    return await ann.phase("resting", "failed", "awaiting_input")


async def test_a_write_with_referenced_values_is_approved_before_its_executor_runs(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    from outside_executors import DryRun  # noqa: PLC0415

    async with open_session(settings, bus, session_id, plan(WHO, LOOK, BY_REFERENCE), **executors("dryrun")) as (
        ann,
        _,
    ):
        await ann.approves()
        waiting = await ann.awaits_decision()
        (action,) = undecided_actions(waiting.turn)
        assert (action.spec.arguments["order_id"], DryRun.seen) == (ORDER["order_id"], [])
        await ann.allows()
        outcome = await ann.phase("resting", "failed")
        assert results(outcome)[-1]["with"] == CANCEL.arguments
        assert len(DryRun.seen) == 1


async def test_the_executor_that_the_settings_name_first_runs_the_step(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    async with open_session(settings, bus, session_id, plan(WHO, LOOK, CANCEL), **executors("dryrun", "raises")) as (
        ann,
        _,
    ):
        session = await approve_and_run(ann)
        assert session.turn
        first = session.turn.actions[0]
        assert (first.status, first.explanation) == ("failed", "RuntimeError: no way")
        assert [action.status for action in session.turn.actions[1:]] == ["skipped", "skipped"]
        assert await order_status(settings) == "pending"


@pytest.mark.parametrize(
    ("name", "message", "uncertain"),
    [
        ("fails", "the queue is closed", False),
        ("raiseslate", "RuntimeError: no way", True),
        ("endless", "did not answer within 0.2 seconds", True),
        ("noresult", "NoResult returned dict, which is no Result", True),
        ("shut", "ValueError: the queue is away for ever", False),
        ("nonames", "its `tools` must be a tuple of names", False),
        ("missing", "no installed package has “missing”", False),
    ],
)
@pytest.mark.races
async def test_a_step_executors_faults_are_reported_and_its_step_is_not_repeated(
    settings: Settings, bus: Bus, session_id: str, name: str, message: str, uncertain: bool
) -> None:
    async with open_session(settings, bus, session_id, plan(WHO, LOOK, CANCEL), **executors(name)) as (ann, _):
        session = await approve_and_run(ann)
        events = await ann.events()
        assert session.turn
        explained = " ".join(f"{action.explanation} {action.result}" for action in session.turn.actions)
        assert message in explained + " ".join(
            event.reason for event in events if isinstance(event, facts.ActionUncertain)
        )
        assert ("action.uncertain" in [event.type for event in events]) is uncertain
        assert await order_status(settings) == "pending"


@pytest.mark.races
@pytest.mark.redelivers
async def test_a_step_that_an_executor_began_when_its_process_was_killed_is_not_run_again(
    settings: Settings, bus: Bus, session_id: str, tmp_path: Path
) -> None:
    started: asyncio.Queue[str] = asyncio.Queue()

    async def on_artefact(subject: str, __: bytes) -> None:
        await started.put(subject)

    victim = await executor(settings, PARLEY_STEP_EXECUTORS="hangs", PYTHONPATH=str(tmp_path / "site"))
    services: tuple[Service, ...] = ("planner", "verifier", "generator")
    try:
        async with (
            running_plan_store(settings),
            working(settings, ScriptedModel(plan(WHO, LOOK, CANCEL)), *services),
        ):
            ann = Person(bus, session_id)
            await ann.says("Cancel my order", "execution_plan")
            await bus.subscribe("$O.ARTEFACTS.M.>", on_artefact)
            await ann.approves()
            async with asyncio.timeout(WAIT_TIMEOUT):
                await started.get()
            victim.kill()
            with_executor = settings.model_copy(update=executors("hangs"))
            async with working(with_executor, ScriptedModel(), "executor"):
                session = await ann.phase("awaiting_input", "resting", "failed")
            assert session.turn
            assert [action.status for action in session.turn.actions] == ["finished", "finished", "uncertain"]
            assert (session.phase, started.empty()) == ("awaiting_input", True)
            assert await order_status(settings) == "pending"
    finally:
        with suppress(ProcessLookupError):
            victim.kill()
        await victim.wait()


async def test_a_generator_drafts_and_changes_a_plan_without_the_model(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    message = f"Who is {USER['email']}"
    async with open_session(settings, bus, session_id, request=message, **generators("looks", "model")) as (ann, _):
        first = await ann.phase("awaiting_approval", "failed")
        assert first.plan, first.failure
        assert [(step.id, step.tool, step.effect) for step in first.plan.steps] == [
            ("who", "find_user_id_by_email", "read"),
            ("s1", "get_user_details", "read"),
        ]
        await ann.does(c.Say(text="And the products", feedback=True))
        second = await ann.sees(lambda session: session.plan is not None and session.plan.number == 2)
        assert second.plan
        assert [step.id for step in second.plan.steps] == ["who", "s1", "s2"]
        assert (second.plan.task, second.plan.notes) == (first.plan.task, "And the products")
        ended = await approve_and_run(ann)
        assert (ended.plan and ended.plan.status, ended.rest_reason) == ("completed", "answered")
        assert USER["name"]["first_name"] in str(results(ended)[1])


async def test_a_session_chooses_the_generator_of_its_plans(settings: Settings, bus: Bus, session_id: str) -> None:
    both = generators("model", "looks")
    message = f"Who is {USER['email']}"
    async with open_session(settings, bus, session_id, request=message, generator="looks", **both) as (ann, _):
        session = await ann.phase("awaiting_approval", "failed")
        assert session.plan, session.failure
        assert session.plan.goal == "Look a customer up"
        bob = Person(bus, f"{session_id}-2")
        await bob.does(c.Say(text=message, workflow="execution_plan", settings=SessionSettings(generator="circles")))
        failed = await bob.phase("awaiting_approval", "failed")
        assert failed.failure  # the generator is installed, but the settings do not list it
        assert failed.failure.reason == "There is no plan generator “circles” here, only: model, looks."


async def test_a_generator_that_calls_the_model_drafts_a_plan(settings: Settings, bus: Bus, session_id: str) -> None:
    replies = plan(StepDraft(tool="list_all_product_types", text="Look"))
    async with open_session(settings, bus, session_id, replies, **generators("asks")) as (ann, model):
        session = await ann.phase("awaiting_approval", "failed")
        assert session.plan, session.failure
        assert [step.text for step in session.plan.steps] == ["As the model says"]
        assert "Plan in one step." in model.prompts[0].text


async def test_a_generator_gets_the_problems_of_its_rejected_draft(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    from outside_generators import Learns  # type: ignore[import-not-found]  # noqa: PLC0415

    async with open_session(settings, bus, session_id, **generators("learns")) as (ann, _):
        session = await ann.phase("awaiting_approval", "failed")
        assert session.plan, session.failure
        assert session.plan.goal == "Look"
        first, second = Learns.told
        assert first == ()
        assert "Steps 1 (a), 2 (b) wait for each other." in second
        assert "Step 1 (a): there is no tool “fly” here." in second


async def test_a_generator_gets_the_allowed_tools_and_the_instructions(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    expected: dict[str, Any] = {"tools": ("list_all_product_types",), "instructions": "Be quick."}
    async with open_session(settings, bus, session_id, **expected, **generators("obeys")) as (ann, _):
        session = await ann.phase("awaiting_approval", "failed")
        assert session.plan, session.failure
        assert [step.tool for step in session.plan.steps] == ["list_all_product_types"]
        assert session.plan.notes == "Be quick."
        assert [check.ok for check in session.plan.checks] == [True] * 6


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("circles", "Steps 1 (a), 2 (b) wait for each other."),
        ("strangers", "there is no tool “fly” here"),
        ("endless", "It did not answer within 0.2 seconds."),
        ("nodraft", "It returned list, which is no Draft."),
        ("nosteps", "It has 0 steps; 1 to 100 are allowed."),
        ("missing", "no installed package has “missing” among its entry points of the group parley.plan_generators"),
    ],
)
async def test_a_generators_faults_are_reported(
    settings: Settings, bus: Bus, session_id: str, name: str, message: str
) -> None:
    async with open_session(settings, bus, session_id, **generators(name)) as (ann, _):
        failed = await ann.phase("awaiting_approval", "failed")
        assert failed.failure
        assert message in failed.failure.reason
        assert failed.failure.retryable


async def test_a_retry_calls_the_generator_that_raised_again(settings: Settings, bus: Bus, session_id: str) -> None:
    async with open_session(settings, bus, session_id, **generators("raises")) as (ann, _):
        failed = await ann.phase("awaiting_approval", "failed")
        assert failed.failure
        assert failed.failure.reason.endswith("RuntimeError: the catalogue is being rebuilt")
        await ann.does(c.Retry())
        session = await ann.phase("awaiting_approval")
        assert session.plan
        assert session.plan.goal == "Look"


async def test_rest_and_the_sdk_choose_the_generator(settings: Settings, bus: Bus) -> None:
    with_generators = settings.model_copy(update=generators("model", "looks"))
    message = f"Who is {USER['email']}"
    async with serving_plans(with_generators) as rest:
        drafted = await rest.post(request=message, generator="looks")
        assert (rest.status, drafted["status"], drafted["description"]) == (
            201,
            "pending_approval",
            "Look a customer up",
        )
        unlisted = await rest.post(request=message, generator="circles", settings={"max_turns": 3})
        assert (unlisted["status"], unlisted["problem"]) == (
            "draft",
            "There is no plan generator “circles” here, only: model, looks.",
        )
        await rest.post(request=message, generator="")
        assert rest.status == 422
        async with Parley(rest.url) as parley:
            plan = await parley.execution_plans.generate(message, generator="looks")
            assert [step.id for step in plan.steps] == ["who", "s1"]
