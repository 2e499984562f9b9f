"""Token buckets and login throttling, with a fake clock."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from starlette.requests import HTTPConnection

from services.gateway.access import rate_limits
from services.gateway.access.rate_limits import LoginThrottle, TokenBucket
from services.gateway.api_errors import ApiError
from tests.support.gateway import SECRET, TOKEN, gateway_settings


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def slowed(setting: str) -> Iterator[ApiError]:
    """Expect a refusal that names the setting and how long to wait."""
    with pytest.raises(ApiError) as caught:
        yield caught  # type: ignore[misc]
    assert (caught.value.code, caught.value.status) == ("slow_down", 429)
    assert caught.value.retry_after
    assert setting in caught.value.hint


def from_(address: str) -> HTTPConnection:
    return HTTPConnection({"type": "http", "client": (address, 1), "headers": []})


def test_a_bucket_reports_how_long_to_wait() -> None:
    clock = Clock()
    bucket = TokenBucket(burst=2, rate=0.5, clock=clock)
    assert (bucket.take(), bucket.take(), bucket.take(), bucket.wait) == (True, True, False, 2)
    clock.now += 1
    assert bucket.wait == 1
    clock.now += 1
    assert bucket.take()


def test_an_overdrawn_bucket_refills_first() -> None:
    clock = Clock()
    bucket = TokenBucket(burst=2, rate=1, clock=clock)
    bucket.charge(5)
    assert (bucket.take(), bucket.wait, bucket.wait_for(2), bucket.wait_for(99)) == (False, 4, 5, 5)
    bucket.charge(-5)
    assert bucket.take(2)


def test_no_limit() -> None:
    guesses = LoginThrottle(gateway_settings(max_failed_logins_per_minute=0))
    for _ in range(200):
        _fail(guesses, "10.0.0.1")


def _guesses(clock: Clock) -> LoginThrottle:
    chosen = gateway_settings(
        parley_auth="token", parley_token=TOKEN, parley_secret=SECRET, max_failed_logins_per_minute=3
    )
    return LoginThrottle(chosen, clock)


def _fail(guesses: LoginThrottle, address: str) -> None:
    with pytest.raises(ApiError) as caught, guesses.attempt(from_(address), "wrong"):
        raise ApiError("unauthorized", "no")
    assert caught.value.code == "unauthorized"


def test_failed_logins_are_throttled() -> None:
    clock = Clock()
    guesses = _guesses(clock)
    with guesses.attempt(from_("10.0.0.1"), "known"):
        pass
    for _ in range(3):
        _fail(guesses, "10.0.0.1")
    with slowed("MAX_FAILED_LOGINS_PER_MINUTE"), guesses.attempt(from_("10.0.0.1"), TOKEN):
        raise AssertionError("it was looked at")
    with guesses.attempt(from_("10.0.0.1"), "known"), guesses.attempt(from_("10.0.0.2"), TOKEN):
        pass
    clock.now += 20
    with guesses.attempt(from_("10.0.0.1"), TOKEN):
        pass


def test_an_ipv6_network_counts_as_one_address() -> None:
    guesses = _guesses(Clock())
    for last in range(3):
        _fail(guesses, f"2001:db8::{last}")
    with slowed("FAILED_LOGINS"), guesses.attempt(from_("2001:db8::ffff"), "x"):
        raise AssertionError("it was looked at")
    _fail(guesses, "2001:db8:0:1::1")


def test_unauthenticated_clients_cannot_exhaust_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MAX_REMEMBERED", 50)
    guesses = _guesses(Clock())
    for number in range(200):
        _fail(guesses, f"10.0.0.{number}")
    assert len(guesses._failures) == 50


def test_invalid_jwts_are_not_throttled() -> None:
    guesses = LoginThrottle(gateway_settings(parley_auth="jwt", parley_secret=SECRET, max_failed_logins_per_minute=1))
    for _ in range(5):
        _fail(guesses, "10.0.0.1")
