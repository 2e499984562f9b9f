"""How often plan_store counts the metrics of the whole system."""

import pytest

from services.plan_store.metrics import interval


@pytest.mark.parametrize(("count_duration", "seconds"), [(0.001, 15), (1, 100), (30, 300)])
def test_slow_counts_are_rarer_within_limits(count_duration: float, seconds: float) -> None:
    assert interval(count_duration) == seconds
