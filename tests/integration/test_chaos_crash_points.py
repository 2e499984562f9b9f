"""A service that crashes right before or after an append: the session has the same events, its write happens once.

`python -m chaos.crash_points` tests every append of every service; here are the most important ones.
"""

from pathlib import Path

import pytest

from chaos.crash_points import CrashTester, crash_deployment
from chaos.crash_scenarios import scenarios
from chaos.crashing_service import CrashPoint

RETAIL, STOPPED = (
    next(scenario for scenario in scenarios() if scenario.name == name) for name in ("retail", "stopped")
)
CRASH_POINTS = (
    ("gateway", CrashPoint(2, "after")),  # the approval is stored, but not acknowledged
    ("planner", CrashPoint(2, "before")),
    ("verifier", CrashPoint(1, "after")),
    ("executor", CrashPoint(1, "after", "actions.started 3.1")),  # the write has started
    ("executor", CrashPoint(1, "before", "actions.finished 3.1")),  # the write took effect, but only its key shows it
)
# The user stopped the session during the write; the executor crashes before it reports the outcome.
UNREPORTED = CrashPoint(1, "before", "actions.finished noted")


@pytest.mark.long
@pytest.mark.timeout(400)
async def test_a_session_with_a_crash_has_the_events_of_an_undisturbed_one(tmp_path: Path) -> None:
    async with crash_deployment(tmp_path) as deployment:
        tester = CrashTester(deployment)
        undisturbed = await tester.play(RETAIL)
        for service, crash_point in CRASH_POINTS:
            await tester.play(RETAIL, service, crash_point, undisturbed)
        stopped = await tester.play(STOPPED, "executor", UNREPORTED)
        assert await tester.violations() == []
    assert [f"{run}: {run.error}" for run in tester.runs if run.error] == []
    assert [process_exit.cause for process_exit in deployment.exits].count("cut") == len(CRASH_POINTS) + 1
    assert stopped.event_types[-2:] == ["session.stopped", "action.uncertain"]
