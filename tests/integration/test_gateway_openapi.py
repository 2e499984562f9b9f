"""Schemathesis against the endpoints of flows, chats and the library, with a real nats-server and plan_store.

No input causes an internal error, and all responses match /openapi.json.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import nullcontext, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
from shared.bus import Bus
from shared.settings import Settings
from tests.support.flow_services import Services, answer_flows
from tests.support.stack import serving_gateway
from tests.support.timeouts import WAIT_TIMEOUT

ENDPOINTS = (
    "/api/planning/flows",
    "/api/planning/flows/{name}",
    "/api/planning/plan",
    "/api/planning/proposals",
    "/api/chat",
    "/api/library",
)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 20  # per endpoint and mode


@pytest.fixture
async def address(settings: Settings, bus: Bus) -> AsyncIterator[str]:
    """The address of a gateway with rule-based services."""
    await bus.answer(FLOWS_LIST, answer_flows, queue="executor")
    async with serving_gateway(settings) as host, Services(bus, bus.log):
        yield host


def _fuzz(address: str) -> Counter[tuple[str, int]]:
    """Send valid and invalid data to every endpoint. Returns the counts of responses by endpoint and status."""
    schema = schemathesis.openapi.from_url(f"http://{address}/openapi.json", wait_for_schema=10, timeout=50)
    counts: Counter[tuple[str, int]] = Counter()
    for result in schema.include(path=list(ENDPOINTS)).get_all_operations():
        for mode in GenerationMode.POSITIVE, GenerationMode.NEGATIVE:
            assert isinstance(result, Ok), result
            _fuzz_operation(result.ok(), mode, f"http://{address}", counts)
    return counts


def _fuzz_operation(operation: Any, mode: GenerationMode, url: str, counts: Counter[tuple[str, int]]) -> None:
    negative = mode is GenerationMode.NEGATIVE

    @hypothesis_settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send_case(case: schemathesis.Case[Any]) -> None:
        answer = case.call(base_url=url, timeout=WAIT_TIMEOUT)
        too_large = answer.status_code == 413  # too large a body: negative_data_rejection does not know 413
        zoned = isinstance(case.body, dict) and "time_zone" in case.body  # no request is lost because of its zone
        sent = parse_qs(urlsplit(str(answer.request.url)).query, keep_blank_values=True)
        unsent = set(case.query or ()) - set(sent)  # an empty list is no parameter at all, so nothing is invalid
        checks = [*CHECKS, negative_data_rejection] if negative and not (too_large or zoned or unsent) else CHECKS
        case.validate_response(answer, checks=checks)
        counts[operation.path, answer.status_code] += 1
        if answer.status_code != 200 and not negative and isinstance(case.body, dict):
            case.body = _without_schema_gaps(case.body)
            answer = case.call_and_validate(base_url=url, checks=CHECKS, timeout=WAIT_TIMEOUT)
            counts[operation.path, answer.status_code] += 1

    with suppress(Unsatisfiable) if negative else nullcontext():  # without parameters there is no invalid data
        send_case()


def _without_schema_gaps(body: dict[str, Any]) -> dict[str, Any]:
    """The request without unknown flows or sessions, and with a last message of the user: rules beyond the schema."""
    messages = [*body.get("messages", ()), {"role": "user", "content": "How many orders are pending?"}]
    return {name: value for name, value in body.items() if name not in ("flow", "session_id")} | {"messages": messages}


async def test_all_responses_match_the_openapi_description(address: str) -> None:
    counts = await asyncio.to_thread(_fuzz, address)
    for endpoint in ENDPOINTS:  # not every request was refused
        assert counts[endpoint, 200] > 0, counts
