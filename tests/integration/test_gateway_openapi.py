"""The endpoints of flows, chats and the library against /openapi.json, on a real nats-server and plan_store: no input
causes an internal error, and all responses match the description. By schemathesis."""

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
from services.gateway.deferred_log import DeferredLog
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.support.flow_services import Services, answer_flows
from tests.support.gateway import serving

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
    """A gateway whose services follow paths by rules."""
    mine = settings.model_copy(update={"parley_auth": "none"})
    plan_store, own = PlanStore(mine), Bus(mine, "gateway")
    await plan_store.start()
    await bus.answer(FLOWS_LIST, answer_flows, queue="executor")
    try:
        async with serving(build(mine, own, PlanStoreClient(own), DeferredLog(own))) as host, Services(bus, bus.log):
            yield host
    finally:
        await plan_store.stop()


def _fuzz(address: str) -> Counter[tuple[str, int]]:
    """Send valid and invalid data to every endpoint. Returns the counts of responses by endpoint and status."""
    schema = schemathesis.openapi.from_url(f"http://{address}/openapi.json", wait_for_schema=10, timeout=50)
    counts: Counter[tuple[str, int]] = Counter()
    for result in schema.include(path=list(ENDPOINTS)).get_all_operations():
        for mode in GenerationMode.POSITIVE, GenerationMode.NEGATIVE:
            assert isinstance(result, Ok), result
            _sent(result.ok(), mode, f"http://{address}", counts)
    return counts


def _sent(operation: Any, mode: GenerationMode, url: str, counts: Counter[tuple[str, int]]) -> None:
    wrong = mode is GenerationMode.NEGATIVE

    @hypothesis_settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send_case(case: schemathesis.Case[Any]) -> None:
        answer = case.call(base_url=url, timeout=20)
        refused = answer.status_code == 413  # a body over all bounds; the check knows nothing of this status
        checks = [*CHECKS, negative_data_rejection] if wrong and not refused else CHECKS
        case.validate_response(answer, checks=checks)
        counts[operation.path, answer.status_code] += 1
        if answer.status_code != 200 and not wrong and isinstance(case.body, dict):
            case.body = _mended(case.body)
            answer = case.call_and_validate(base_url=url, checks=CHECKS, timeout=20)
            counts[operation.path, answer.status_code] += 1

    with suppress(Unsatisfiable) if wrong else nullcontext():  # nothing wrong can be sent where nothing is asked
        send_case()


def _mended(body: dict[str, Any]) -> dict[str, Any]:
    """The request without unknown flows or sessions, and with a last message of the user: a schema cannot say so."""
    messages = [*body.get("messages", ()), {"role": "user", "content": "How many orders are pending?"}]
    return {name: each for name, each in body.items() if name not in ("flow", "session_id")} | {"messages": messages}


async def test_all_responses_match_the_openapi_description(address: str) -> None:
    counts = await asyncio.to_thread(_fuzz, address)
    for endpoint in ENDPOINTS:  # it was not all refusals
        assert counts[endpoint, 200] > 0, counts
