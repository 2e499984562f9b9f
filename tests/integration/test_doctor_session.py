"""`parley doctor SESSION` on a real nats-server: the diagnosis for each point where a session can hang."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cli.command import Declined
from cli.operate.diagnosis import doctor_session, fold_session
from cli.operate.doctor import DoctorCheck, check_store
from parley.events.values import SessionSettings, Step
from services.plan_store.app import PlanStore
from services.planner.conversation import PlanDraft
from shared.bus import Bus, Delivery, Unprocessable
from shared.bus.topology import SESSIONS
from shared.domain.kernel import commands as c
from shared.llm import ScriptedModel
from shared.log import fork
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.testing import InMemoryStore
from shared.worker import WorkContext
from tests.conftest import person
from tests.support.inbox import Inbox, consuming, store, until_idle
from tests.support.newer_release import newer_message
from tests.support.stack import Person, working

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def wide_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the console wide, so that no cell is wrapped."""
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture(autouse=True)
def short_wait_for_plan_store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the wait for plan_store in tests that do not run it."""
    if "plan_store" not in request.fixturenames:
        monkeypatch.setattr("cli.operate.diagnosis.PlanStoreClient", lambda bus, **_: PlanStoreClient(bus, wait=0.1))


@pytest.fixture
def ann(bus: Bus, session_id: str) -> Person:
    return Person(bus, session_id)


@asynccontextmanager
async def planner_at_work(settings: Settings, ann: Person) -> AsyncIterator[None]:
    """A planner has received Ann's request, and holds it until the block ends."""
    release = asyncio.Event()
    inbox = Inbox(lambda _: release.wait())
    async with consuming(settings, inbox):
        await ann.does(c.Say(text="A calculator"))
        await inbox.until(1)
        yield
        release.set()


async def diagnose(settings: Settings, ann: Person, captured: Capture) -> tuple[int, str]:
    """The command's exit code, and its output as one line."""
    captured.readouterr()
    code = await doctor_session(settings, ann.id)
    return code, " ".join(captured.readouterr().out.split())


async def test_a_missing_session_is_an_error(settings: Settings, ann: Person) -> None:
    with pytest.raises(Declined, match="There is no session"):
        await doctor_session(settings, ann.id)


async def test_a_missing_planner_and_plan_store_are_reported(settings: Settings, ann: Person, capsys: Capture) -> None:
    await ann.does(c.Say(text="A calculator"))
    code, text = await diagnose(settings, ann, capsys)
    assert code == 1
    assert "planning, version 1, changed just now" in text
    assert "not delivered yet; 1 waiting, 0 in progress" in text
    assert "plan store does not answer" in text
    assert "It waits because planner does not take it: start it" in text


@pytest.mark.parametrize(
    ("remaining", "loss"), [(0, "all of its messages"), (1, "its messages after version 1")], ids=["all", "the newest"]
)
async def test_a_log_that_lost_the_sessions_messages_is_reported(
    settings: Settings, bus: Bus, plan_store: PlanStore, ann: Person, capsys: Capture, remaining: int, loss: str
) -> None:
    await ann.does(c.Say(text="A calculator"))
    await ann.does(c.Stop())
    await until_idle(bus, "plan_store")
    for message in (await bus.log.read(ann.id))[remaining:]:
        await bus.client.jetstream().delete_msg(SESSIONS, message.position)
    code, text = await diagnose(settings, ann, capsys)
    assert code == 1
    assert f"It cannot go on, because the log has lost {loss}; the database has version 2: restore NATS" in text


async def test_messages_without_a_valid_event_are_reported(
    settings: Settings, bus: Bus, ann: Person, capsys: Capture
) -> None:
    await store(bus, b"nonsense", subject=f"session.{ann.id}.planner.plan.drafted")
    code, text = await diagnose(settings, ann, capsys)
    assert code == 1
    assert "No session has begun: none of the messages with this id is one of its events." in text


async def test_a_planner_that_cannot_load_the_session_is_reported(
    settings: Settings, ann: Person, capsys: Capture
) -> None:
    async with planner_at_work(settings, ann):
        code, text = await diagnose(settings, ann, capsys)
    assert code == 1
    assert "planner cannot load the session, because plan_store does not answer: start it, or see its log." in text


async def test_a_working_planner_is_reported_and_so_is_an_unavailable_model(
    settings: Settings, plan_store: PlanStore, ann: Person, capsys: Capture
) -> None:
    async with planner_at_work(settings, ann):
        _, text = await diagnose(settings, ann, capsys)
        assert "planner has been working on it since" in text
        assert "is running and asks for work" in text
        without_model = settings.model_copy(update={"openai_base_url": "http://127.0.0.1:1/v1"})
        _, text = await diagnose(without_model, ann, capsys)
        assert "planner is running, but the model is unavailable" in text


async def test_a_killed_worker_is_reported(settings: Settings, ann: Person, capsys: Capture) -> None:
    async def hang(_: Delivery) -> None:
        await asyncio.Event().wait()

    inbox = Inbox(hang)
    slow = settings.model_copy(update={"graceful_timeout": 0.0})
    bus = Bus(slow, "replica")
    bus.broker.subscriber(durable="planner")(inbox)
    await bus.start()
    await ann.does(c.Say(text="A calculator"))
    await inbox.until(1)
    await bus.client.close()  # to the server, the process looks killed
    assert bus.broker._connection
    await bus.broker._connection.close()
    code, text = await diagnose(settings, ann, capsys)
    assert code == 1
    assert "The planner that had it is down or hangs; the next one gets it after" in text
    await bus.stop()


async def test_acknowledged_work_without_a_result_is_reported(
    settings: Settings, bus: Bus, ann: Person, capsys: Capture
) -> None:
    inbox = Inbox()
    async with consuming(settings, inbox):
        await ann.does(c.Say(text="A calculator"))
        await inbox.until(1)
        await until_idle(bus)
    code, text = await diagnose(settings, ann, capsys)
    assert code == 1
    assert "acknowledged, without a result" in text
    assert "The work was lost: plan_store fails it after 120 s" in text


async def test_dead_letters_and_quarantined_messages_are_reported(
    settings: Settings, bus: Bus, plan_store: PlanStore, ann: Person, capsys: Capture
) -> None:
    async def refuse(_: Delivery) -> None:
        raise Unprocessable("it is cursed")

    async with consuming(settings, refuse):
        await ann.does(c.Say(text="A calculator"))
        await ann.phase("failed")
        await store(bus, b"nonsense", subject=f"session.{ann.id}.planner.plan.drafted")
        code, text = await diagnose(settings, ann, capsys)
    assert code == 1
    assert "planner: it is cursed" in text
    assert "1, the last at 3: unguarded" in text
    assert f"parley dead --retry {ann.id}" in text.split("To continue: ")[1]
    assert "plan_store answers" in text


async def test_a_session_that_waits_for_its_user_is_healthy(
    settings: Settings, plan_store: PlanStore, ann: Person, capsys: Capture
) -> None:
    model = ScriptedModel(PlanDraft(goal="A calculator", steps=["Ask", "Add", "Print"]))
    async with working(settings, model, "planner"):
        await ann.does(c.Say(text="A calculator", settings=SessionSettings(token_budget=100_000)))
        await ann.phase("awaiting_approval")
    code, text = await diagnose(settings, ann, capsys)
    assert code == 0
    assert "It waits for its user: to approve the plan, or to say what to change." in text
    assert "of 100000 tokens" in text


@pytest.mark.parametrize("priced", [True, False])
async def test_a_cost_budget_without_prices_is_a_warning(
    settings: Settings, plan_store: PlanStore, ann: Person, capsys: Capture, priced: bool
) -> None:
    await ann.does(c.Say(text="A calculator", settings=SessionSettings(cost_budget=2)))
    prices: dict[str, tuple[float, float, float]] = {"big": (1, 1, 1)} if priced else {}
    _, text = await diagnose(settings.model_copy(update={"parley_prices": prices}), ann, capsys)
    assert "$0.0000 of $2" in text
    assert ("the cost budget never triggers" in " ".join(text.split())) is not priced


async def test_control_characters_of_a_question_are_made_visible(
    settings: Settings, ann: Person, capsys: Capture
) -> None:
    async def asks(_: WorkContext) -> c.Ask:
        return c.Ask(about="request", text="Which \x1b[31mone?")

    async with working(settings, ScriptedModel(), "planner", handlers={"planner": asks}):
        await ann.does(c.Say(text="A calculator"))
        await ann.phase("awaiting_input")
    _, text = await diagnose(settings, ann, capsys)
    assert "It waits for its user: to answer “Which" in text
    assert "\x1b" not in text


async def test_a_fork_includes_its_parents_events(settings: Settings, bus: Bus, ann: Person) -> None:
    async def drafts(_: WorkContext) -> c.DraftPlan:
        return c.DraftPlan(goal="A calculator", steps=(Step(text="Add"),))

    async with working(settings, ScriptedModel(), "planner", handlers={"planner": drafts}):
        await ann.does(c.Say(text="A calculator"))
        session = await ann.phase("awaiting_approval")
    await fork(bus.log, session, f"{ann.id}-2", person())
    folded = await fold_session(bus.log, f"{ann.id}-2")
    assert folded.session == (await InMemoryStore(bus.log).load(f"{ann.id}-2")).session


async def test_an_upgrade_is_advised_if_a_newer_release_continued_the_session(
    settings: Settings, bus: Bus, plan_store: PlanStore, ann: Person, capsys: Capture
) -> None:
    await ann.does(c.Say(text="A calculator"))
    subject, body, headers = newer_message(await ann.load())
    position = (await bus.client.jetstream().publish(subject, body, headers=headers)).seq
    await until_idle(bus, "plan_store")
    code, text = await diagnose(settings, ann, capsys)
    assert code == 1
    assert f"It continues at position {position}" in text
    assert "A newer release works on it: upgrade this Parley, all services" in text
    broker = DoctorCheck("NATS", "ok", "")
    *_, checked = await check_store(settings, broker)
    assert (checked.outcome, checked.finding.split()[0]) == ("fail", "1")
    assert "upgrade all services" in checked.advice
    [unchecked] = await check_store(settings, broker._replace(outcome="fail"))
    assert unchecked.outcome == "ok", "Parley is not running"


PAY = Step(text="Pay", tool="pay", id="s1", effect="write", arguments={})


async def approve_a_plan(ann: Person) -> None:
    await ann.does(c.Say(text="Pay", workflow="execution_plan"))
    await ann.does(c.DraftPlan(goal="Pay", steps=(PAY,), kind="execution"))
    plan = (await ann.load()).session.plan
    assert plan
    await ann.does(c.Approve(version=plan.version, hash=plan.hash))


async def test_a_message_that_nobody_answers_is_reported_beside_the_work(
    settings: Settings, plan_store: PlanStore, ann: Person, capsys: Capture
) -> None:
    """No service runs, but the step of the plan was handed over."""
    await approve_a_plan(ann)
    await ann.does(c.Start())
    await ann.does(c.Say(text="How long will it take?"))
    code, text = await diagnose(settings, ann, capsys)
    assert code == 1
    assert "executor, since" in text
    assert "planner, to answer a message, since" in text
    assert "The message: It waits because planner does not take it: start it" in text


async def test_an_offer_waits_for_its_user(
    settings: Settings, plan_store: PlanStore, ann: Person, capsys: Capture
) -> None:
    await approve_a_plan(ann)
    await ann.does(c.Say(text="Or pay less?"))
    await ann.does(c.DraftPlan(goal="Pay less", steps=(PAY,), kind="execution"))
    _, text = await diagnose(settings, ann, capsys)
    assert "It waits for its user: to take or keep what is offered" in text
