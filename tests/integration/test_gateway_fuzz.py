"""Some hundred random frames against a gateway and a plan_store on a real nats-server: no fault of ours, and it still
works. The long run, with all services and their memory, is `python -m bench.fuzz`."""

import json
from collections.abc import AsyncIterator

import pytest

from bench.assault import INTERNAL, Assault
from bench.frames import TYPES, Frames
from services.gateway.app import build
from services.gateway.inbound import parse
from services.gateway.late_log import LateLog
from services.gateway.trouble import Trouble
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.settings import Settings
from shared.store import Store
from tests.support.gateway import client, serving

FRAMES, SEED = 800, 7


@pytest.fixture
async def address(settings: Settings) -> AsyncIterator[str]:
    free = {"max_requests_per_second": 0, "max_running_sessions_per_user": 0}
    mine = settings.model_copy(update={"parley_auth": "none"} | free)
    plan_store, own = PlanStore(mine), Bus(mine, "gateway")
    await plan_store.start()
    try:
        async with serving(build(mine, own, Store(own, wait=10), LateLog(own))) as found:
            yield found
    finally:
        await plan_store.stop()


async def test_random_frames(address: str, caplog: pytest.LogCaptureFixture) -> None:
    told = await Assault(f"ws://{address}/ws", seed=SEED, frames=FRAMES, at_once=8).run()
    assert told.wrong == []
    assert told.lost <= 2
    assert told.frames >= FRAMES
    assert told.errors.keys() >= {"bad_message", "unknown_type", "too_large", "not_found", "not_now", "invalid"}
    assert told.messages["event"] > 20  # not all was refused
    assert [record.getMessage() for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []
    async with client(address) as her:
        await her.send("user_message", content="Still here")
        await her.event("message.received")


def test_the_same_seed_sends_the_same() -> None:
    one, other = Frames(SEED, ["a"]), Frames(SEED, ["a"])
    assert [one.frame() for _ in range(500)] == [other.frame() for _ in range(500)]


def test_what_is_called_valid_can_be_read() -> None:
    frames = Frames(SEED, ["a"])
    for kind in TYPES:
        for _ in range(20):
            assert parse(json.dumps(frames.valid(kind))).type == kind


def test_whatever_is_sent_is_read_or_refused() -> None:
    frames, codes = Frames(SEED, ["a"]), set()
    for _ in range(5_000):
        if isinstance(frame := frames.frame(), str):
            try:
                parse(frame)
            except Trouble as trouble:
                codes.add(trouble.code)
    assert codes >= {"bad_message", "unknown_type", "too_large"}
    assert codes.isdisjoint(INTERNAL)
