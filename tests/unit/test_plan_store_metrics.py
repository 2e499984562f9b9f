"""How often plan_store counts the metrics of the whole system."""

import pytest

from services.plan_store.operations.health import pause_after


@pytest.mark.parametrize(("duration", "pause"), [(0.001, 15), (1, 100), (30, 300)])
def test_the_pause_after_a_slow_count_is_longer_within_limits(duration: float, pause: float) -> None:
    assert pause_after(duration) == pause
