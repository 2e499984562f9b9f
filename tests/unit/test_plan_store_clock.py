"""The keeper's clock: the broker's time, and neither clock ends anything early."""

from datetime import UTC, datetime, timedelta

import pytest

from services.plan_store.scheduler.clock import BrokerClock

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Times:
    """The wall clock and the monotonic one, which the test sets."""

    def __init__(self) -> None:
        self.wall, self.monotonic = NOON, 1000.0

    def pass_by(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)
        self.monotonic += seconds


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    times = Times()
    monkeypatch.setattr("services.plan_store.scheduler.clock.time.monotonic", lambda: times.monotonic)
    return times


def test_within_a_minute_it_is_the_brokers_time_and_the_seconds_since(times: Times) -> None:
    clock = BrokerClock(lambda: times.wall)
    clock.observe(NOON + timedelta(seconds=59))
    times.pass_by(10)
    assert (clock.now(), clock.problem) == (NOON + timedelta(seconds=69), "")


@pytest.mark.parametrize("jump", [HOUR, -HOUR, timedelta(days=400), timedelta(seconds=61), timedelta(seconds=-61)])
def test_a_jump_of_the_wall_clock_ends_nothing_early_and_is_reported(times: Times, jump: timedelta) -> None:
    clock = BrokerClock(lambda: times.wall)
    clock.observe(NOON)
    times.wall += jump
    assert clock.now() == NOON + min(jump, timedelta())
    direction = "ahead of" if jump > timedelta() else "behind"
    assert f"{abs(jump).total_seconds():.0f} s {direction} that of NATS" in clock.problem
    times.wall -= jump
    assert (clock.now(), clock.problem) == (NOON, "")


def test_a_message_of_long_ago_does_not_set_the_clock_back(times: Times) -> None:
    clock = BrokerClock(lambda: times.wall)
    clock.observe(NOON)
    clock.observe_past(NOON - HOUR)
    assert clock.now() == NOON
    clock.observe_past(NOON + timedelta(seconds=30))
    assert clock.now() == NOON + timedelta(seconds=30)
