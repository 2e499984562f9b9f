"""Metrics count what happens on a real nats-server with the real services, and their labels have few values."""

import asyncio
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from cli.operate.ports import free_port
from parley.events.values import SessionSettings
from services.gateway.app import build
from services.plan_store.operations import health as store_metrics
from shared.bus import Bus, Delivery, Unprocessable
from shared.bus.deliveries import record_lag
from shared.domain.kernel import commands as c
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import decide, due
from shared.environment import child_environment
from shared.log import VersionConflict
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.telemetry import metrics
from tests.conftest import person
from tests.support.gateway import SECRET, TOKEN, World, client, serving
from tests.support.http_client import http_client
from tests.support.inbox import Inbox, consuming, store, until_counted, until_idle
from tests.support.rehearsal_server import rehearsal_server
from tests.support.stack import Person, running_plan_store, working
from tests.support.timeouts import WAIT_TIMEOUT

MAX_LABEL_VALUES = 15  # new values of one label, without the routes of the gateway
SESSIONS = 20  # more than MAX_LABEL_VALUES, so that a label with session ids fails the test


def metric_value(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(f"parley_{name}", labels) or 0


class MetricDelta:
    """How much a metric has grown since this was created."""

    def __init__(self, name: str, **labels: str) -> None:
        self._name, self._labels = name, labels
        self._before = metric_value(name, **labels)

    @property
    def by(self) -> float:
        return metric_value(self._name, **self._labels) - self._before


async def test_a_version_conflict_is_counted(bus: Bus, session_id: str) -> None:
    stored = MetricDelta("log_append_duration_seconds_count", outcome="stored")
    conflicts = MetricDelta("log_append_duration_seconds_count", outcome="conflict")
    for text in ("one", "two"):
        event = decide(Session(session_id), c.Say(text=text), person())
        after = evolve(Session(session_id), event)
        if text == "two":
            with pytest.raises(VersionConflict):
                await bus.log.append(event, after=0, due=due(after))
        else:
            await bus.log.append(event, after=0, due=due(after))
    assert (stored.by, conflicts.by) == (1, 1)


async def test_every_delivery_is_counted_by_its_outcome(bus: Bus, settings: Settings) -> None:
    async def fail_some(delivery: Delivery) -> None:
        if delivery.data == b"bad":
            raise Unprocessable("it is bad")
        if delivery.deliveries == 1:
            raise RuntimeError("the first time")

    outcomes = ("done", "failed", "parked")
    counted = {
        word: MetricDelta("handler_duration_seconds_count", consumer="planner", outcome=word) for word in outcomes
    }
    redeliveries = MetricDelta("consumer_redeliveries_total", consumer="planner")
    inbox = Inbox(fail_some)
    async with consuming(settings, inbox):
        await store(bus, b"good", b"bad")
        await inbox.until(3)
        await until_idle(bus)
    assert {word: moved.by for word, moved in counted.items()} == {"done": 1, "failed": 1, "parked": 1}
    assert redeliveries.by == 1


async def test_waiting_messages_are_measured_with_their_age(bus: Bus, settings: Settings) -> None:
    async def measure() -> tuple[float, ...]:
        await record_lag(bus.client, await bus.client.jetstream().consumer_info("SESSIONS", "planner"))
        names = ("pending_messages", "ack_pending_messages", "oldest_pending_age_seconds", "oldest_unacked_age_seconds")
        return tuple(metric_value(f"consumer_{name}", consumer="planner") for name in names)

    await store(bus, b"other", subject="session.a.executor.x")
    await store(bus, b"1", b"2")
    await until_counted(bus, 2)
    stored_at = (await bus.client.jetstream().get_msg("SESSIONS", seq=2)).time
    assert stored_at
    pending, unacked, oldest_pending, oldest_unacked = await measure()
    assert (pending, unacked) == (2, 0)
    age = (datetime.now(UTC) - stored_at) / timedelta(seconds=1)
    assert 0 < oldest_pending <= age
    assert oldest_unacked == oldest_pending
    go = asyncio.Event()
    inbox = Inbox(lambda _: go.wait())
    async with consuming(settings, inbox):
        await inbox.until(2)
        pending, unacked, oldest_pending, oldest_unacked = await measure()
        assert (pending, unacked, oldest_pending) == (0, 2, 0)
        assert oldest_unacked > age
        go.set()
        await until_idle(bus)
        assert await measure() == (0, 0, 0, 0)


async def test_model_calls_tokens_and_budget_stops_are_counted(bus: Bus, settings: Settings, session_id: str) -> None:
    async with rehearsal_server(settings) as rehearsal, working(rehearsal.settings, rehearsal.model):
        labels = {"role": "planner", "model": "rehearsal"}
        calls = {
            word: MetricDelta("model_call_duration_seconds_count", **labels, outcome=word) for word in ("ok", "failed")
        }
        tokens = MetricDelta("model_tokens_total", **labels, kind="completion")
        stops = MetricDelta("budget_exceeded_total", service="generator")
        await rehearsal.fault(fault="500", times=1)
        ann = Person(bus, session_id)
        await ann.does(c.Say(text="A calculator", settings=SessionSettings(token_budget=1)))
        session = await ann.phase("awaiting_approval")
        assert {word: moved.by for word, moved in calls.items()} == {"ok": 1, "failed": 1}
        assert 0 < tokens.by <= session.spent.tokens
        await ann.approves()
        await ann.phase("awaiting_input")
        assert stops.by == 1


def label_values_so_far() -> dict[tuple[str, str], set[str]]:
    """The values so far of each label of each metric."""
    label_values: dict[tuple[str, str], set[str]] = {}
    for sample in (sample for family in metrics.REGISTRY.collect() for sample in family.samples):
        for label, value in sample.labels.items():
            if label != "le":
                label_values.setdefault((sample.name, label), set()).add(value)
    return label_values


async def test_labels_have_few_values_after_many_sessions(bus: Bus, settings: Settings) -> None:
    """The sessions run through gateway, workers and plan_store; `/metrics` has none of their ids."""
    before = label_values_so_far()  # from other tests in this process
    async with rehearsal_server(settings) as rehearsal:
        free = {"parley_auth": "none", "max_sockets_per_user": 0, "max_running_sessions_per_user": 0}
        settings = rehearsal.settings.model_copy(update=free)
        gateway_bus = Bus(settings, "gateway")
        app = build(settings, gateway_bus, PlanStoreClient(gateway_bus), gateway_bus.log)
        async with running_plan_store(settings) as service, working(settings, rehearsal.model), serving(app) as address:
            ids = await asyncio.gather(*(_run_session(address, number) for number in range(SESSIONS)))
            await store_metrics.count(service.database)
            await _check_metrics_page(address, ids)
    known = set(app.openapi()["paths"])
    new = {
        where: label_values - before.get(where, set()) - known for where, label_values in label_values_so_far().items()
    }
    assert {where: label_values for where, label_values in new.items() if len(label_values) > MAX_LABEL_VALUES} == {}


async def _run_session(address: str, number: int) -> str:
    """Run one session over the socket and over REST; return its id."""
    async with client(address) as ann, http_client(base_url=f"http://{address}") as http:
        await ann.send("user_message", content=f"Help me create a simple calculator, the {number}th")
        review = await ann.until("text_plan_review")
        session_id = str(review["session_id"])
        for path in ("", "/journal", "/nowhere"):
            await http.get(f"/api/sessions/{session_id}{path}")
        await http.get(f"/somewhere/{session_id}")
        return session_id


async def _check_metrics_page(address: str, ids: list[str]) -> None:
    async with http_client(base_url=f"http://{address}") as http:
        text = (await http.get("/metrics")).text
    assert not [session_id for session_id in ids if session_id in text]
    assert metric_value("websocket_connections") == 0
    route: Any = {"method": "GET", "route": "/api/sessions/{session_id}", "status": "200"}
    assert metric_value("http_request_duration_seconds_count", **route) >= SESSIONS
    assert metric_value("websocket_messages_total", direction="in") >= SESSIONS
    assert metric_value("bus_request_duration_seconds_count", request="plan_store.session.load") >= SESSIONS


async def test_processes_serve_metrics_beside_their_health(settings: Settings) -> None:
    """Processes are run as in containers: the worker shows its consumer's lag, plan_store the sessions by phase."""
    expected = {
        "planner": 'parley_consumer_pending_messages{consumer="planner"} 0.0',
        "plan_store": 'parley_sessions{phase="failed"} 0.0',
    }
    pages = await asyncio.gather(*(_wait_for_metrics(settings, service, text) for service, text in expected.items()))
    assert all("parley_nats_connected 1.0" in text for text in pages)


async def _wait_for_metrics(settings: Settings, service: str, expected: str) -> str:
    """The metrics of a process of this service, once they have the expected line."""
    port = free_port()
    environment = child_environment(
        NATS_URL=settings.nats_url, PARLEY_HOME=str(settings.parley_home), HEALTH_PORT=str(port), OPENAI_BASE_URL=""
    )
    command = (sys.executable, "-m", f"services.{service}.app")
    process = await asyncio.create_subprocess_exec(*command, env=environment)
    try:
        async with asyncio.timeout(WAIT_TIMEOUT), http_client(base_url=f"http://127.0.0.1:{port}") as http:
            while True:
                with suppress(httpx2.HTTPError):
                    if expected in (text := (await http.get("/metrics")).text):
                        return text
                await asyncio.sleep(0.1)  # metrics can only be polled
    finally:
        process.terminate()
        await process.wait()


async def test_the_gateways_metrics_need_a_token() -> None:
    world = World(parley_auth="token", parley_token=TOKEN, parley_secret=SECRET, parley_metrics_token="scrape-me")
    async with serving(world.app) as address, http_client(base_url=f"http://{address}") as http:

        async def status(token: str | None) -> int:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return (await http.get("/metrics", headers=headers)).status_code

        assert await status(None) == 401
        assert await status("wrong") == 401
        assert await status("scrape-me") == 200
        assert await status(TOKEN) == 200
        sessions = await http.get("/api/sessions", headers={"Authorization": "Bearer scrape-me"})
        assert sessions.status_code == 401  # the token is for metrics only
    async with serving(World().app) as address, http_client(base_url=f"http://{address}") as http:
        assert (await http.get("/metrics")).text.startswith("# HELP")
