"""An answer sent after a reconnect: the server refuses it, and the service keeps running."""

import asyncio
from pathlib import Path

import pytest
import structlog

from shared.bus import Bus, BusUnavailable
from shared.settings import Settings
from tests.support.nats import nats_server

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
