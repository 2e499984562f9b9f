"""Random requests to every endpoint, made by schemathesis from the gateway's own description."""

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

TIMEOUT, AT_ONCE = 60, 6
WAITING, SHORT = ("/api/chat", "/api/planning/plan"), {"timeout": 5.0}  # seconds that these wait for their session


@dataclass
class ToldOverRest:
    """What came of it. `wrong` is what must never be."""

    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def told_over_rest(url: str, wanted: int, number: int, headers: Mapping[str, str] | None = None) -> ToldOverRest:
    """As many requests, shared out over all endpoints, half of them unlike their description."""
    told = ToldOverRest()
    if not wanted:
        return told
    base = url.rstrip("/")
    schema = schemathesis.openapi.from_url(f"{base}/openapi.json", wait_for_schema=10)
    found = [each.ok() for each in schema.get_all_operations() if isinstance(each, Ok)]
    examples = max(wanted // (2 * len(found)), 1)

    def fuzz(operation: Any, mode: GenerationMode) -> None:
        @seed(number)
        @hypothesis_settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def one(case: schemathesis.Case[Any]) -> None:
            if operation.path in WAITING and isinstance(case.body, dict):
                case.body |= SHORT
            _note(case, case.call(base_url=base, timeout=TIMEOUT, headers=dict(headers or {})), told)

        with suppress(Unsatisfiable):  # nothing wrong can be sent where nothing is asked
            one()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        for done in [pool.submit(fuzz, operation, mode) for operation in found for mode in modes]:
            done.result()
    return told


def _note(case: schemathesis.Case[Any], answer: Any, told: ToldOverRest) -> None:
    told.requests += 1
    told.statuses[answer.status_code] += 1
    if answer.status_code == 500 or '"code":"failed"' in answer.text:
        told.wrong.append(f"{case.method} {case.formatted_path}: {answer.status_code} {answer.text[:200]}")
