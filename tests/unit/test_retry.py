"""Retries while a dependency is unavailable: after which errors, for how long, and what is logged."""

import asyncio
from collections.abc import Iterator

import pytest
import stamina
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from shared.retry import retry_while_unavailable


class Away(Exception): ...


class Locked(Exception): ...


@pytest.fixture
def no_waits() -> Iterator[None]:
    with stamina.set_testing(True, attempts=100):
        yield


async def test_calls_are_retried_until_success_and_each_reason_is_logged_once(no_waits: None) -> None:
    tries = 0

    @retry_while_unavailable(Away, Locked)
    async def attempt(word: str) -> str:
        nonlocal tries
        tries += 1
        if tries <= 50:
            raise Locked("by somebody") if tries % 2 else Away("no leader")
        return word

    with capture_logs() as lines:
        assert await asyncio.gather(*(attempt("done") for _ in range(10))) == ["done"] * 10
    assert {(line["event"], line["reason"], line["error"]) for line in lines} == {
        ("waiting", "Locked", "by somebody"),
        ("waiting", "Away", "no leader"),
    }
    assert len(lines) == 2
    assert lines[0]["operation"].endswith("attempt")
    assert not [metric.name for metric in REGISTRY.collect() if metric.name.startswith("stamina")]


async def test_after_the_timeout_the_error_is_raised() -> None:
    tries = 0

    @retry_while_unavailable(Away, first=0.001, timeout=0.05)
    async def attempt() -> None:
        nonlocal tries
        tries += 1
        raise Away(str(tries))

    with pytest.raises(Away) as caught:
        await attempt()
    assert tries > 2
    assert str(caught.value) == str(tries)


async def test_other_errors_are_not_retried(no_waits: None) -> None:
    tries = 0

    @retry_while_unavailable(Away)
    async def attempt() -> None:
        nonlocal tries
        tries += 1
        raise Away if tries < 3 else ValueError(tries)

    with pytest.raises(ValueError, match="3"):
        await attempt()
