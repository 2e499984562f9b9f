"""Answers that come too late, cannot be sent or cannot be computed, and a slow server: the service continues."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
import structlog

from shared.bus import Bus, BusUnavailable
from shared.settings import Settings
from tests.support.nats import NatsServer, frozen, kill9, nats_server
from tests.support.timeouts import WAIT_TIMEOUT

UNANSWERED = "request_unanswered"


async def log_lines(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    """Wait until the log contains these words. Returns the lines about requests."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while words not in caplog.text:  # noqa: ASYNC110  a log line sets no event
            await asyncio.sleep(0.02)
    return [record.getMessage() for record in caplog.records if "request_" in record.getMessage()]


async def test_an_answer_after_the_loss_of_nats_is_logged(
    bus: Bus, settings: Settings, nats: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    requester = Bus(settings, "asking")
    await requester.connect()

    async def late(_: str, body: bytes) -> bytes:
        kill9(nats)
        async with asyncio.timeout(WAIT_TIMEOUT):
            while bus.ready:  # noqa: ASYNC110  the bus has a callback for reconnects, none for disconnects
                await asyncio.sleep(0.01)
        return body

    await bus.answer("echo", late)
    await bus.client.flush()
    with pytest.raises(BusUnavailable):
        await requester.request("echo", b"x", timeout=1)
    [line] = await log_lines(caplog, UNANSWERED)
    assert "echo" in line
    assert "Traceback" not in caplog.text
    await requester.stop()


async def test_only_an_unexpected_error_is_logged_with_a_traceback(bus: Bus, caplog: pytest.LogCaptureFixture) -> None:
    async def dependent(_: str, __: bytes) -> bytes:
        raise BusUnavailable("Nobody answers on another.")

    async def broken(_: str, __: bytes) -> bytes:
        raise ZeroDivisionError

    await bus.answer("needs", dependent)
    await bus.answer("broken", broken)
    await bus.client.flush()
    for subject in ("needs", "broken"):
        with pytest.raises(BusUnavailable):
            await bus.request(subject, b"", timeout=0.2)
    first, second = await log_lines(caplog, "request_failed")
    assert UNANSWERED in first
    assert "Traceback" not in first
    assert "request_failed" in second, "an error of the handler is logged with its traceback"


SUBJECT = "plan_store.session.load"


async def wait_until_processed(bus: Bus) -> None:
    """Return once the server has processed everything sent before: it answers in order."""
    assert await bus.request("$JS.API.STREAM.MSG.GET.SESSIONS", b"{}")


async def test_a_refused_late_answer_is_logged_and_the_service_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbidden: list[str] = []
    monkeypatch.setattr(
        "shared.bus.connection.exit_forbidden", lambda name, error: forbidden.append(f"{name}: {error}")
    )
    received, lost, back = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def answer(_: str, data: bytes) -> bytes:
        if data == b"before":
            received.set()
            await lost.wait()
        return data

    async def reconnected() -> None:
        back.set()

    with nats_server(tmp_path) as server:
        store, planner = (Bus(Settings(nats_url=server.url_of(name)), name) for name in ("plan_store", "planner"))
        await asyncio.gather(store.connect(), planner.connect())
        store.on_reconnect(reconnected)
        await store.answer(SUBJECT, answer)
        await wait_until_processed(store)
        with structlog.testing.capture_logs() as lines:
            request = asyncio.create_task(planner.request(SUBJECT, b"before", timeout=2))
            await received.wait()
            await asyncio.to_thread(server.restart)
            await back.wait()
            lost.set()
            with pytest.raises(BusUnavailable):
                await request
            await wait_until_processed(store)
            assert await planner.request(SUBJECT, b"again") == b"again"
        await asyncio.gather(store.stop(), planner.stop())
    assert forbidden == []
    assert [line["connection"] for line in lines if line["event"] == "answer_not_sent"] == ["plan_store"]


async def test_a_cancelled_wait_for_a_slow_server_keeps_the_connection(nats: NatsServer, bus: Bus) -> None:
    received, lost = asyncio.Event(), asyncio.Event()

    async def listen(_: str, __: bytes) -> None:
        received.set()

    async def reconnected() -> None:
        lost.set()

    bus.on_reconnect(reconnected)
    with frozen(nats):
        with suppress(TimeoutError):  # as when a client leaves while its session is being opened
            await asyncio.wait_for(bus.subscribe("some.thing", listen), 0.2)
        subscription = await bus.subscribe("another.thing", listen)  # returns after its own timeout
    async with asyncio.timeout(WAIT_TIMEOUT):
        await bus.client.flush(timeout=10)  # the server answers the two subscriptions first
    await bus.publish("another.thing", b"")
    async with asyncio.timeout(WAIT_TIMEOUT):
        await received.wait()
    assert bus.ready
    assert not lost.is_set()
    await subscription.stop()
