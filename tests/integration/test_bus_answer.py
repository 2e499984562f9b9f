"""Answers that cannot be sent, or cannot be computed: the service logs one line and continues."""

import asyncio

import pytest

from shared.bus import Bus, BusUnavailable
from shared.settings import Settings
from tests.support.nats import NatsServer, kill9
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
