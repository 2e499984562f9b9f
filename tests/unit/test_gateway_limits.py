"""Token buckets and login throttling, with a fake clock."""

import pytest
from starlette.requests import HTTPConnection

from services.gateway.access import quota
from services.gateway.access.quota import LoginThrottle, TokenBucket
from services.gateway.api_errors import ApiError
from tests.support.gateway import SECRET, TOKEN, gateway_settings
from tests.unit.test_gateway_quota import Clock, refused


def connection_from(address: str) -> HTTPConnection:
    return HTTPConnection({"type": "http", "client": (address, 1), "headers": []})


def test_an_overdrawn_bucket_refills_first() -> None:
    clock = Clock()
    bucket = TokenBucket(burst=2, rate=1, clock=clock)
    bucket.charge(5)
    assert (bucket.take(), bucket.wait, bucket.wait_for(2), bucket.wait_for(99)) == (False, 4, 5, 5)
    bucket.charge(-5)
    assert bucket.take(2)


def _throttle(clock: Clock) -> LoginThrottle:
    chosen = gateway_settings(
        parley_auth="token", parley_token=TOKEN, parley_secret=SECRET, max_failed_logins_per_minute=3
    )
    return LoginThrottle(chosen, clock)


def _fail(throttle: LoginThrottle, address: str) -> None:
    with pytest.raises(ApiError) as caught, throttle.attempt(connection_from(address), "wrong"):
        raise ApiError("unauthorized", "no")
    assert caught.value.code == "unauthorized"


def test_failed_logins_are_throttled() -> None:
    clock = Clock()
    throttle = _throttle(clock)
    with throttle.attempt(connection_from("10.0.0.1"), "known"):
        pass
    for _ in range(3):
        _fail(throttle, "10.0.0.1")
    with refused("MAX_FAILED_LOGINS_PER_MINUTE"), throttle.attempt(connection_from("10.0.0.1"), TOKEN):
        raise AssertionError("the login was attempted")
    with throttle.attempt(connection_from("10.0.0.1"), "known"), throttle.attempt(connection_from("10.0.0.2"), TOKEN):
        pass
    clock.now += 20
    with throttle.attempt(connection_from("10.0.0.1"), TOKEN):
        pass


def test_an_ipv6_network_counts_as_one_address() -> None:
    throttle = _throttle(Clock())
    for last in range(3):
        _fail(throttle, f"2001:db8::{last}")
    with refused("FAILED_LOGINS"), throttle.attempt(connection_from("2001:db8::ffff"), "x"):
        raise AssertionError("the login was attempted")
    _fail(throttle, "2001:db8:0:1::1")


def test_unauthenticated_clients_cannot_exhaust_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quota, "MAX_REMEMBERED", 50)
    throttle = _throttle(Clock())
    for number in range(200):
        _fail(throttle, f"10.0.0.{number}")
    assert len(throttle._failures) == 50
