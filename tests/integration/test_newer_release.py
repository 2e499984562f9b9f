"""Services that run beside a newer release leave the work that only it can do to it, and inform users."""

import asyncio
import json
from typing import Any

import pytest

from parley.client import Parley, RequestRefused
from parley.events import envelope
from parley.events.values import ActionSpec, SessionSettings
from services.planner.conversation import PlanDraft, draft_plan
from shared.bus import Bus, Delivery, Unprocessable
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.llm import ScriptedModel
from shared.log import UpgradeNeeded, commit
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.store_api import DEAD_LIST, HEALTH
from shared.story import Story
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, Worker, WorkerDeps
from tests.conftest import person
from tests.support.gateway import World, client, serving
from tests.support.http_client import http_client
from tests.support.newer_release import NEEDS, newer_message
from tests.support.stack import Person, running_plan_store, working
from tests.support.timeouts import WAIT_TIMEOUT

PLAN = PlanDraft(goal="A calculator", steps=["Ask", "Add", "Print"])


# --- a worker


def planner(log: InMemoryLog, model: ScriptedModel) -> Worker:
    deps = WorkerDeps("planner", InMemoryStore(log), log, model, Drafts(None), Settings(nats_replicas=1))
    return Worker(deps, draft_plan)


def newest(log: InMemoryLog, deliveries: int = 1) -> Delivery:
    message = log.messages[-1]
    return Delivery(message.subject, message.data, message.position, deliveries, message.headers, message.at)


@pytest.mark.parametrize("changes", [NEEDS, NEEDS | {"type": "message.dreamt"}, NEEDS | {"text": {}}])
@pytest.mark.parametrize("deliveries", [1, 2])
async def test_a_worker_leaves_work_to_a_newer_replica(changes: dict[str, Any], deliveries: int) -> None:
    log, model = InMemoryLog(), ScriptedModel(PLAN)
    story = Story("s", log=log)
    await story.commit(c.Say(text="A calculator"), c.DraftPlan.model_validate({"goal": "g", "steps": [{"text": "a"}]}))
    subject, body, headers = newer_message(await story.load_at_position(), changes=changes)
    _, session_id, due, kind = subject.split(".", 3)
    log.publish(f"session.{session_id}.{due}.{changes.get('type', kind)}", body, headers)
    with pytest.raises(UpgradeNeeded):
        await planner(log, model).on_delivery(newest(log, deliveries))
    assert (len(log.messages), model.prompts) == (3, [])


async def test_an_invalid_message_that_claims_a_newer_format_is_quarantined() -> None:
    log = InMemoryLog()
    story = Story("s", log=log)
    await story.commit(c.Say(text="A calculator"))
    _, body, _ = newer_message(await story.load_at_position(), changes=NEEDS | {"type": "message.dreamt"})
    log.publish("session.s.planner.message.dreamt", body, {})
    with pytest.raises(Unprocessable):
        await planner(log, ScriptedModel()).on_delivery(newest(log))


async def test_a_worker_records_no_failure_if_a_newer_release_appends_first() -> None:
    """Its result is not recorded, but the session does not fail: the broker delivers the work again."""
    log, model = InMemoryLog(), ScriptedModel(PLAN)
    story = Story("s", log=log)
    await story.commit(c.Say(text="A calculator"))
    work = newest(log)

    async def overtaken(context: Any) -> Any:
        log.publish(*newer_message(await story.load_at_position()))
        return await draft_plan(context)

    deps = WorkerDeps("planner", InMemoryStore(log), log, model, Drafts(None), Settings(nats_replicas=1))
    with pytest.raises(UpgradeNeeded):
        await Worker(deps, overtaken).on_delivery(work)
    assert len(log.messages) == 2


# --- the gateway


async def test_users_of_a_session_that_a_newer_release_continued_get_a_clear_refusal() -> None:
    world = World()
    story = world.story("s")
    async with serving(world.app) as address, client(address) as her:
        await story.plan()
        await her.send("resume", session_id="s", after=0)
        await her.event("plan.drafted")
        world.log.publish(*newer_message(await story.load_at_position()))
        error = await her.error("upgrade_needed")
        assert "newer release of Parley has continued session s" in error["message"]
        assert "Upgrade" in error["hint"]
        await her.send("rename", id="r1", session_id="s", title="Mine")
        assert (await her.error("upgrade_needed"))["reply_to"] == "r1"
        await her.send("resume", session_id="s", after=0)
        await her.error("upgrade_needed")
        async with http_client(base_url=f"http://{address}") as http:
            responses = [
                await http.get("/api/sessions/s"),
                await http.post("/api/sessions/s/messages", json={"type": "stop"}),
            ]
            assert {(item.status_code, item.json()["code"]) for item in responses} == {(409, "upgrade_needed")}
        async with Parley(f"http://{address}") as parley:
            with pytest.raises(RequestRefused, match="newer release") as refused:
                await parley.session("s").stop()
        assert refused.value.code == "upgrade_needed"
        assert len(world.log.messages) == 3
        await her.send("user_message", session_id="other", content="Another session goes on")
        await her.event("message.received")


async def test_a_streamed_chat_ends_at_once_when_a_newer_release_continues_its_session() -> None:
    world = World()
    ask = {"messages": [{"role": "user", "content": "How many orders?"}], "id": "one", "timeout": 60, "stream": True}
    async with (
        serving(world.app) as address,
        http_client(base_url=f"http://{address}") as http,
        http.stream("POST", "/api/chat", json=ask) as answer,
    ):
        lines = answer.aiter_lines()
        received = [await anext(lines)]
        session_id = world.log.messages[-1].subject.split(".")[1]
        world.log.publish(*newer_message(await InMemoryStore(world.log).load(session_id)))
        received += [line async for line in lines]
    assert "event: error" in received
    assert json.loads(received[received.index("event: error") + 1].removeprefix("data: "))["code"] == "upgrade_needed"


async def test_a_gateway_stays_ready_while_sessions_wait_for_an_upgrade() -> None:
    world = World()
    ask = world.store.ask

    async def waiting(verb: str, **arguments: Any) -> Any:
        answer = await ask(verb, **arguments)
        return answer | {"waiting_for_upgrade": 3, "said_by_a_newer_one": True} if verb == HEALTH.name else answer

    world.store.ask = waiting  # type: ignore[method-assign]
    async with serving(world.app) as address, http_client(base_url=f"http://{address}") as http:
        answer = await http.get("/readyz")
        assert answer.status_code == 200
        assert answer.json()["checks"]["upgrade"].startswith("a newer release has continued some sessions")


# --- on a real bus


async def wait_until_delivered(bus: Bus, consumer: str, times: int) -> None:
    """Wait until the consumer has delivered messages so many times."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while True:  # each check is a request
            delivered = (await bus.client.jetstream().consumer_info("SESSIONS", consumer)).delivered
            if delivered and delivered.consumer_seq >= times:
                return


async def test_work_for_a_newer_executor_outlasts_the_limit_of_deliveries(
    settings: Settings, bus: Bus, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings.model_copy(update={"max_deliver": 2, "stuck_work_timeout": 1.0})
    monkeypatch.setattr("shared.bus.middleware.DELAYS", (0.05,))
    ann, store = Person(bus, session_id), PlanStoreClient(bus)
    await ann.does(c.Say(text="x", workflow="agentflow", settings=SessionSettings(approval="never")))
    before = await ann.load()
    turn = c.PlanTurn(sub_goal="g", actions=(ActionSpec(id="1.1", tool="calculate", arguments={"expression": "1+1"}),))
    subject, body, headers = newer_message(before, turn)
    await bus.client.jetstream().publish(subject, body, headers=headers)
    async with running_plan_store(settings), working(settings, ScriptedModel(), "executor"):
        await wait_until_delivered(bus, "executor", 4)
        with pytest.raises(UpgradeNeeded):
            await store.load(session_id)
        with pytest.raises(UpgradeNeeded):
            await commit(bus.log, before, c.Rename(title="x"), person())
        assert (await store.ask(HEALTH.name))["waiting_for_upgrade"] == 1
        dead = await store.ask(DEAD_LIST.name, limit=100, offset=0)
        assert (dead["dead"], dead["parked"]) == ([], [])
    monkeypatch.setattr(envelope, "FORMAT", envelope.FORMAT + 1)
    async with running_plan_store(settings), working(settings, ScriptedModel(), "executor"):
        session: Session = await ann.phase("verifying")
        assert session.turn
        assert session.turn.actions[0].status == "finished"
        assert (await store.load(session_id)).session.version == session.version
        assert (await store.ask(DEAD_LIST.name, limit=100, offset=0))["dead"] == []
