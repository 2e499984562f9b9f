"""Some hundred random frames against a gateway and a plan_store on a real nats-server: no internal error, and it still
works."""

import json
from collections.abc import AsyncIterator

import pytest

from services.gateway.api_errors import ApiError
from services.gateway.messages.parsing import parse_message
from shared.settings import Settings
from tests.support.frame_generator import TYPES, FrameGenerator
from tests.support.gateway import client
from tests.support.stack import serving_gateway
from tests.support.websocket_fuzz import INTERNAL_ERRORS, WebSocketFuzzer

FRAMES, SEED = 800, 7


@pytest.fixture
async def address(settings: Settings) -> AsyncIterator[str]:
    no_limits = {"max_requests_per_second": 0, "max_running_sessions_per_user": 0}
    async with serving_gateway(settings, **no_limits) as host:
        yield host


async def test_random_frames_cause_no_internal_error(address: str, caplog: pytest.LogCaptureFixture) -> None:
    report = await WebSocketFuzzer(f"ws://{address}/ws", seed=SEED, frames=FRAMES, concurrency=8).run()
    assert report.violations == []
    assert report.lost_connections <= 2
    assert report.frames >= FRAMES
    assert report.errors.keys() >= {"bad_message", "unknown_type", "too_large", "not_found", "not_now", "invalid"}
    assert report.messages["event"] > 20  # the gateway accepted some frames
    assert [record.getMessage() for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []
    async with client(address) as her:
        await her.send("user_message", content="Still here")
        await her.event("message.received")


def test_frames_generated_as_valid_can_be_parsed() -> None:
    frames = FrameGenerator(SEED, ["a"])
    for kind in TYPES:
        for _ in range(20):
            assert parse_message(json.dumps(frames.valid(kind))).type == kind


def test_every_frame_is_parsed_or_refused() -> None:
    frames, codes = FrameGenerator(SEED, ["a"]), set()
    for _ in range(5_000):
        if isinstance(frame := frames.frame(), str):
            try:
                parse_message(frame)
            except ApiError as error:
                codes.add(error.code)
    assert codes >= {"bad_message", "unknown_type", "too_large"}
    assert codes.isdisjoint(INTERNAL_ERRORS)
