"""The bus on a real nats-server: provisioning, durable work, the feed, requests, timers, and a lost server."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog
from nats.aio.client import Client

from shared.bus import Bus, BusUnavailable, Delivery, Unprocessable, subscribers
from shared.bus.provision import check, provision
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.log import SessionAtPosition, VersionConflict, commit
from shared.services import Consumer
from shared.settings import Settings
from tests.conftest import person
from tests.support.inbox import Inbox, api, consuming, store, until_counted, until_idle
from tests.support.nats import NatsServer, kill9
from tests.support.timeouts import WAIT_TIMEOUT

# --- provisioning


async def test_provisioning_again_changes_nothing(settings: Settings) -> None:
    assert await provision(settings) == []
    assert await check(settings) == []


async def test_drift_is_reported_and_corrected(settings: Settings, bus: Bus) -> None:
    stream = (await api(bus, "STREAM.INFO.SESSIONS", {}))["config"]
    await api(bus, "STREAM.UPDATE.SESSIONS", stream | {"duplicate_window": 5_000_000_000})
    consumer = (await api(bus, "CONSUMER.INFO.SESSIONS.planner", {}))["config"]
    changed = {"stream_name": "SESSIONS", "config": consumer | {"ack_wait": 99_000_000_000}}
    await api(bus, "CONSUMER.CREATE.SESSIONS.planner", changed)
    await api(bus, "CONSUMER.DELETE.SESSIONS.executor", {})
    await api(bus, "STREAM.DELETE.TIMERS", {})
    differences = await check(settings)
    assert differences == await check(settings), "a check changes nothing"
    assert [line.split(":")[0] for line in differences] == [
        "stream SESSIONS",
        "stream TIMERS",
        "consumer SESSIONS/planner",
        "consumer SESSIONS/executor",
        "consumer TIMERS/timers",
    ]
    assert "duplicate_window (5000000000, wanted 120000000000)" in differences[0]
    assert "missing" in differences[1]
    assert "ack_wait (99000000000, wanted 60000000000)" in differences[2]
    changes = await provision(settings)
    assert len(changes) == 5
    assert await check(settings) == []


# --- the feed


async def test_the_feed_carries_exactly_the_stored_messages(bus: Bus, session_id: str) -> None:
    messages: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    async def on_message(subject: str, body: bytes) -> None:
        messages.put_nowait((subject, body))

    feed = await bus.subscribe(f"feed.{session_id}.>", on_message)
    loaded, event = await commit(bus.log, SessionAtPosition(Session(session_id), 0), c.Say(text="one"), person())
    rejected = event.model_copy(update={"id": f"{session_id}:late"})
    with pytest.raises(VersionConflict):
        await bus.log.append(rejected, after=0, due="planner")
    _, second = await commit(bus.log, loaded, c.Say(text="two"), person())
    stored = [await asyncio.wait_for(messages.get(), WAIT_TIMEOUT) for _ in range(2)]
    assert [subject for subject, _ in stored] == [
        f"feed.{session_id}.planner.message.received",
        f"feed.{session_id}.nobody.message.received",
    ]
    assert [json.loads(body)["id"] for _, body in stored] == [event.id, second.id]
    await feed.stop()
    await store(bus, b"after", subject=f"session.{session_id}.nobody.x")
    await bus.client.flush()
    assert messages.empty()


# --- durable work


async def test_concurrent_handlers_never_exceed_the_limit(settings: Settings, bus: Bus) -> None:
    release = asyncio.Event()
    busy = Inbox(lambda _: release.wait())
    idle = Inbox()
    async with consuming(settings, busy, limit=2):
        await store(bus, *(b"%d" % n for n in range(6)))
        await busy.until(2)
        info = await until_counted(bus, 6)
        assert (info.num_ack_pending, info.num_pending) == (2, 4), (
            "the subscriber fetches only as many messages as it has free slots"
        )
        async with consuming(settings, idle, limit=2):
            await idle.until(4)
            assert busy.bodies == [b"0", b"1"]
            release.set()
            await until_idle(bus)
    assert sorted(busy.bodies + idle.bodies) == [b"%d" % n for n in range(6)]


async def test_a_message_is_handled_before_its_pull_request_ends(
    settings: Settings, bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribers, "PULL_TIMEOUT", 3600.0)
    inbox = Inbox()
    async with consuming(settings, inbox, limit=3):
        for number in (1, 2):
            await store(bus, b"work")
            await inbox.until(number)


async def test_heartbeats_prevent_the_redelivery_of_a_long_handlers_message(settings: Settings, bus: Bus) -> None:
    done = asyncio.Event()

    async def slow(_: Delivery) -> None:
        await asyncio.sleep(3 * short_ack_wait.ack_wait)
        done.set()

    short_ack_wait = settings.model_copy(update={"ack_wait": 1.0})
    await provision(short_ack_wait)
    first, other_replica = Inbox(slow), Inbox()
    await store(bus, b"work")
    async with consuming(short_ack_wait, first):
        await first.until(1)
        async with consuming(short_ack_wait, other_replica):
            await asyncio.wait_for(done.wait(), WAIT_TIMEOUT)
            await until_idle(bus)
    assert len(first.got) == 1
    assert other_replica.got == []


async def test_a_failing_handler_is_retried_after_growing_delays(settings: Settings, bus: Bus) -> None:
    async def fails(delivery: Delivery) -> None:
        if delivery.deliveries < 3:
            raise ValueError("not yet")

    inbox = Inbox(fails)
    async with consuming(settings, inbox):
        await store(bus, b"work")
        await inbox.until(3)
        await until_idle(bus)
    assert [delivery.deliveries for delivery in inbox.got] == [1, 2, 3]
    first, second = (b - a for a, b in zip(inbox.times, inbox.times[1:], strict=False))
    assert first >= 0.2
    assert second >= 1.0


async def test_an_unprocessable_message_becomes_a_dead_letter_and_the_next_is_handled(
    settings: Settings, bus: Bus
) -> None:
    async def picky(delivery: Delivery) -> None:
        if delivery.data == b"garbage":
            raise Unprocessable("no event:\nnot at all")

    inbox, dead = Inbox(picky), Inbox()
    async with consuming(settings, inbox), consuming(settings, dead, durable="dead_letters"):
        await store(bus, b"garbage", b"good")
        await dead.until(1)
        await until_idle(bus)
    assert inbox.bodies == [b"garbage", b"good"]
    dead_letter = json.loads(dead.got[0].data)
    assert dead.got[0].subject == "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.SESSIONS.planner"
    assert (dead_letter["reason"], dead_letter["stream_seq"]) == ("no event: not at all", 1)


async def test_faststream_writes_no_lines_beside_those_of_the_service(
    settings: Settings, bus: Bus, capfd: pytest.CaptureFixture[str]
) -> None:
    inbox = Inbox()
    async with consuming(settings, inbox):
        await store(bus, b"work")
        await inbox.until(1)
        await until_idle(bus)
    written = capfd.readouterr()
    assert "Received" not in written.out + written.err


@pytest.mark.redelivers
async def test_closing_a_connection_is_no_trouble(settings: Settings) -> None:
    bus = Bus(settings, "cli")
    with structlog.testing.capture_logs() as lines:
        await bus.connect()
        await bus.stop()
    assert lines == []


async def test_messages_of_a_crashed_replica_are_redelivered_after_ack_wait(settings: Settings, bus: Bus) -> None:
    await store(bus, b"work")
    crashed = await bus.client.jetstream().pull_subscribe_bind(stream="SESSIONS", durable="planner")
    await crashed.fetch(1)
    began = time.monotonic()
    inbox = Inbox()
    async with consuming(settings, inbox):
        await inbox.until(1)
    assert inbox.got[0].deliveries == 2
    assert inbox.times[0] - began > settings.ack_wait * 0.8


async def test_stop_waits_for_handlers_and_releases_those_that_do_not_end(settings: Settings, bus: Bus) -> None:
    cancelled = asyncio.Event()
    quick, never = asyncio.Event(), asyncio.Event()

    async def work(delivery: Delivery) -> None:
        try:
            await (quick if delivery.data == b"quick" else never).wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    leaving, staying = Inbox(work), Inbox()
    hasty = settings.model_copy(update={"graceful_timeout": 0.5})
    replica = Bus(hasty, "leaving")
    replica.broker.subscriber(durable="planner", limit=2)(leaving)
    await replica.start()
    await store(bus, b"quick", b"never", b"waits")
    await leaving.until(2)
    stopping = asyncio.create_task(replica.stop())
    quick.set()
    await stopping
    assert cancelled.is_set()
    handed_over = time.monotonic()
    async with consuming(settings, staying):
        await staying.until(2)
        assert time.monotonic() - handed_over < settings.ack_wait / 2
        await until_idle(bus)
    assert leaving.bodies == [b"quick", b"never"]
    assert sorted(staying.bodies) == [b"never", b"waits"]


# --- missing consumers


async def test_a_deleted_durable_consumer_is_used_again_once_it_is_recreated(
    settings: Settings, bus: Bus, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(subscribers, "WATCH_INTERVAL", 0.2)
    inbox = Inbox()
    async with consuming(settings, inbox):
        await store(bus, b"before")
        await inbox.until(1)
        await api(bus, "CONSUMER.DELETE.SESSIONS.planner", {})
        async with asyncio.timeout(WAIT_TIMEOUT):
            while "not_provisioned" not in caplog.text:  # noqa: ASYNC110  a log line sets no event
                await asyncio.sleep(0.05)
        assert "consumer_gone" in caplog.text
        busy = time.process_time()
        await asyncio.sleep(1)  # the CPU time of one idle second is measured
        assert time.process_time() - busy < 0.5, (
            "the subscriber does not retry in a busy loop while its consumer is missing"
        )
        assert await provision(settings) == ["consumer SESSIONS/planner: made"]
        await store(bus, b"after")
        await inbox.until(3)  # a new consumer starts at the first message
    assert inbox.bodies == [b"before", b"before", b"after"]


async def test_consumers_wait_until_they_are_provisioned(nats: NatsServer, settings: Settings, bus: Bus) -> None:
    await api(bus, "CONSUMER.DELETE.SESSIONS.planner", {})
    inbox = Inbox()
    replica = Bus(settings, "early")
    replica.broker.subscriber(durable="planner")(inbox)
    starting = asyncio.create_task(replica.start())
    await store(bus, b"work")
    assert (await api(bus, "CONSUMER.NAMES.SESSIONS", {}))["consumers"].count("planner") == 0
    await provision(settings)
    await starting
    await inbox.until(1)
    await replica.stop()
    assert await check(settings) == []


async def test_a_consumer_deleted_during_the_start_is_waited_for(
    settings: Settings, bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FastStream would recreate it with its own settings; a service's NATS user may not, and the service would exit."""
    wait_until_provisioned = subscribers.wait_until_provisioned

    async def delete_after_waiting(client: Client, durable: Consumer) -> None:
        await wait_until_provisioned(client, durable)
        await api(bus, "CONSUMER.DELETE.SESSIONS.planner", {})

    inbox = Inbox()
    replica = Bus(settings, "late")
    replica.broker.subscriber(durable="planner")(inbox)
    with monkeypatch.context() as patched:
        patched.setattr(subscribers, "wait_until_provisioned", delete_after_waiting)
        await replica.start()
    await store(bus, b"work")
    assert await provision(settings) == ["consumer SESSIONS/planner: made"]
    await inbox.until(1)
    await replica.stop()


# --- requests


async def test_replicas_share_requests_and_may_leave_them_to_another_replica(bus: Bus, settings: Settings) -> None:
    other_replica = Bus(settings, "other")
    await other_replica.connect()
    calls_by_replica: dict[str, int] = {"a": 0, "b": 0}

    def answering(name: str) -> Any:
        async def answer(_: str, body: bytes) -> bytes:
            calls_by_replica[name] += 1
            return body.upper()

        return answer

    async def not_mine(_: str, __: bytes) -> None:
        calls_by_replica["silent"] = calls_by_replica.get("silent", 0) + 1

    async def broken(_: str, __: bytes) -> bytes:
        raise ValueError("broken")

    await bus.answer("shout", answering("a"), queue="q")
    await other_replica.answer("shout", answering("b"), queue="q")
    await bus.answer("whose", not_mine)
    await other_replica.answer("whose", answering("b"))
    await bus.answer("broken", broken)
    await bus.client.flush()
    await other_replica.client.flush()
    answers = await asyncio.gather(*(bus.request("shout", b"x%d" % n) for n in range(50)))
    assert answers == [b"X%d" % n for n in range(50)]
    assert calls_by_replica["a"] + calls_by_replica["b"] == 50
    assert min(calls_by_replica["a"], calls_by_replica["b"]) > 0
    assert await bus.request("whose", b"x") == b"X"
    assert calls_by_replica["silent"] == 1
    with pytest.raises(BusUnavailable):
        await bus.request("broken", b"", timeout=0.2)
    await other_replica.stop()


async def test_a_request_without_responders_fails_at_once(bus: Bus, nats: NatsServer) -> None:
    with pytest.raises(BusUnavailable, match="No service answers on nobody"):
        await bus.request("nobody", b"", timeout=600)  # longer than a test may take
    kill9(nats)
    async with asyncio.timeout(WAIT_TIMEOUT):
        while bus.ready:  # noqa: ASYNC110  the bus has a callback for reconnects, none for disconnects
            await asyncio.sleep(0)
    with pytest.raises(BusUnavailable):
        await bus.publish("x", b"")
    with pytest.raises(BusUnavailable):
        await bus.request("nobody", b"", timeout=600)
    with pytest.raises(BusUnavailable):
        await bus.arm("s", "x", datetime.now(UTC), b"")
    with pytest.raises(BusUnavailable):
        await bus.disarm("s", "x")
    with pytest.raises(BusUnavailable):
        await bus.outstanding("planner")
    with pytest.raises(BusUnavailable):
        _ = Bus(Settings(), "new").client


# --- timers


async def test_timers_fire_are_replaced_and_cancelled(settings: Settings, bus: Bus) -> None:
    fired = Inbox()
    soon = datetime.now(UTC) + timedelta(seconds=5)  # after the last of these calls, also on a busy machine
    later = soon + timedelta(hours=1)
    async with consuming(settings, fired, durable="timers"):
        await bus.arm("s1", "approval", soon, b"fires")
        await bus.arm("s2", "approval", soon, b"replaced")
        await bus.arm("s2", "approval", later, b"later")
        await bus.arm("s3", "approval", soon, b"cancelled")
        await bus.arm("s3", "other", soon, b"another of it")
        await bus.disarm("s3", "approval")
        await bus.disarm("s4", "never armed")
        await fired.until(2)
        await bus.arm("s4", "approval", datetime.now(UTC), b"at once")
        await fired.until(3)
    assert sorted(fired.bodies) == [b"another of it", b"at once", b"fires"]
    assert {d.subject for d in fired.got} == {f"timerfired.{x}" for x in ("s1.approval", "s3.other", "s4.approval")}
    assert datetime.now(UTC) >= soon
