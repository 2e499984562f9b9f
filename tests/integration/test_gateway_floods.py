"""Floods of bytes over five connections for some seconds: the latency of other clients, and the memory used."""

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator

import pytest

from tests.support.flooded import KEYS, Flooded, flooded
from tests.support.floods import FLOODS
from tests.support.http_client import http_client

pytestmark = pytest.mark.long

SECONDS, CONNECTIONS = 2, 5
P95_LIMIT = 2.0  # seconds at the 95th percentile; an idle machine needs at most a tenth
MEMORY_LIMIT = 400  # megabytes
REQUEST_INTERVAL = 0.02  # seconds; half of a user's rate limit


@pytest.fixture
async def gateway() -> AsyncIterator[Flooded]:
    async with flooded() as process:
        yield process


@pytest.mark.parametrize("flood", FLOODS)
async def test_other_clients_are_served_during_a_flood(flood: str, gateway: Flooded) -> None:
    headers = {"authorization": f"Bearer {KEYS['bob']}"}
    async with http_client(base_url=f"http://{gateway.address}", headers=headers) as bob:
        assert (await bob.get("/api/me")).status_code == 200
        arguments = (flood, gateway.address, KEYS["alice"], str(SECONDS), str(CONNECTIONS))
        flooding = await asyncio.create_subprocess_exec(sys.executable, "-m", "tests.support.floods", *arguments)
        latencies, memory = [], 0.0
        while flooding.returncode is None:
            began = time.monotonic()
            assert (await bob.get("/api/me")).status_code == 200
            latencies.append(time.monotonic() - began)
            memory = max(memory, gateway.megabytes())
            await asyncio.sleep(REQUEST_INTERVAL)
    p95 = statistics.quantiles(latencies, n=20)[-1]
    print(f"{flood}: p95 {p95 * 1000:.0f} ms, max {max(latencies) * 1000:.0f} ms of {len(latencies)}, {memory:.0f} MB")
    assert await flooding.wait() == 0
    assert p95 < P95_LIMIT
    assert memory < MEMORY_LIMIT
