"""The endpoints of flows, chats and the library against their own description, on a real nats-server and plan_store:
whatever is sent, no answer is a fault of ours, and all are as /openapi.json says. By schemathesis."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import nullcontext, suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from parley.protocol.flows import FLOWS_LIST
from services.gateway.app import build
from services.gateway.late_log import LateLog
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.settings import Settings
from shared.store import Store
from tests.support.gateway import serving
from tests.support.walks import Services, answer_flows

ENDPOINTS = (
    "/api/planning/flows",
    "/api/planning/flows/{name}",
    "/api/planning/plan",
    "/api/planning/proposals",
    "/api/chat",
    "/api/library",
)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 20  # of each endpoint and mode; `python -m bench.fuzz` sends as many as one likes


@pytest.fixture
async def address(settings: Settings, bus: Bus) -> AsyncIterator[str]:
    """A gateway whose sessions walk paths by rules."""
    mine = settings.model_copy(update={"parley_auth": "none"})
    plan_store, own = PlanStore(mine), Bus(mine, "gateway")
    await plan_store.start()
    await bus.answer(FLOWS_LIST, answer_flows, queue="executor")
    try:
        async with serving(build(mine, own, Store(own), LateLog(own))) as found, Services(bus, bus.log):
            yield found
    finally:
        await plan_store.stop()


def _fuzz(address: str) -> Counter[tuple[str, int]]:
    """Every endpoint with data that fits its description and data that does not; how often each answered with what."""
    schema = schemathesis.openapi.from_url(f"http://{address}/openapi.json", wait_for_schema=10, timeout=50)
    told: Counter[tuple[str, int]] = Counter()
    for found in schema.include(path=list(ENDPOINTS)).get_all_operations():
        for mode in GenerationMode.POSITIVE, GenerationMode.NEGATIVE:
            assert isinstance(found, Ok), found
            _sent(found.ok(), mode, f"http://{address}", told)
    return told


def _sent(operation: Any, mode: GenerationMode, url: str, told: Counter[tuple[str, int]]) -> None:
    wrong = mode is GenerationMode.NEGATIVE

    @hypothesis_settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def one(case: schemathesis.Case[Any]) -> None:
        answer = case.call(base_url=url, timeout=20)
        refused = answer.status_code == 413  # a body over all bounds; the check knows nothing of this status
        checks = [*CHECKS, negative_data_rejection] if wrong and not refused else CHECKS
        case.validate_response(answer, checks=checks)
        told[operation.path, answer.status_code] += 1
        if answer.status_code != 200 and not wrong and isinstance(case.body, dict):
            case.body = _mended(case.body)
            answer = case.call_and_validate(base_url=url, checks=CHECKS, timeout=20)
            told[operation.path, answer.status_code] += 1

    with suppress(Unsatisfiable) if wrong else nullcontext():  # nothing wrong can be sent where nothing is asked
        one()


def _mended(body: dict[str, Any]) -> dict[str, Any]:
    """Without the flow or session that there is not, and with a last word of the user's: what no schema can say."""
    said = [*body.get("messages", ()), {"role": "user", "content": "How many orders are pending?"}]
    return {name: each for name, each in body.items() if name not in ("flow", "session_id")} | {"messages": said}


async def test_all_answers_are_as_described(address: str) -> None:
    told = await asyncio.to_thread(_fuzz, address)
    for endpoint in ENDPOINTS:  # it was not all refusals
        assert told[endpoint, 200] > 0, told
