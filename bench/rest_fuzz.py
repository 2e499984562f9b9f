"""REST fuzzer: schemathesis sends random requests to every endpoint of the gateway's OpenAPI document."""

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as hypothesis_settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok

TIMEOUT, CONCURRENCY = 60, 6
WAITING, SHORT = ("/api/chat", "/api/planning/plan"), {"timeout": 5.0}  # endpoints that wait for their session; seconds


@dataclass
class RestResult:
    """Counts for the report. `violations` must stay empty."""

    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)


def fuzz_rest(url: str, requests: int, seed_number: int, headers: Mapping[str, str] | None = None) -> RestResult:
    """Send about `requests` requests, spread over all endpoints. Half of them violate the OpenAPI document."""
    result = RestResult()
    if not requests:
        return result
    base = url.rstrip("/")
    schema = schemathesis.openapi.from_url(f"{base}/openapi.json", wait_for_schema=10)
    operations = [operation.ok() for operation in schema.get_all_operations() if isinstance(operation, Ok)]
    examples = max(requests // (2 * len(operations)), 1)

    def fuzz(operation: Any, mode: GenerationMode) -> None:
        @seed(seed_number)
        @hypothesis_settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def send(case: schemathesis.Case[Any]) -> None:
            if operation.path in WAITING and isinstance(case.body, dict):
                case.body |= SHORT
            _record(case, case.call(base_url=base, timeout=TIMEOUT, headers=dict(headers or {})), result)

        with suppress(Unsatisfiable):  # an endpoint without parameters has no invalid request
            send()

    with ThreadPoolExecutor(CONCURRENCY) as pool:
        modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        for done in [pool.submit(fuzz, operation, mode) for operation in operations for mode in modes]:
            done.result()
    return result


def _record(case: schemathesis.Case[Any], response: Any, result: RestResult) -> None:
    result.requests += 1
    result.statuses[response.status_code] += 1
    if response.status_code == 500 or '"code":"failed"' in response.text:
        result.violations.append(f"{case.method} {case.formatted_path}: {response.status_code} {response.text[:200]}")
