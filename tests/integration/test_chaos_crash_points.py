"""A service that crashes right before or after an append: the session has the same events, its write happens once.

`python -m chaos.crash_points` tests every append of every service; here are the most important ones.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from chaos.crash_points import CrashTester, crash_deployment
from chaos.crash_scenarios import scenarios
from chaos.crashing_service import CRASH_EXIT_CODE, CrashPoint, Side

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


CRASHING_PROGRAM = """
import sys
from pathlib import Path
from chaos.crashing_service import CrashInjector
injector = CrashInjector(Path(sys.argv[1]))
for text in ("a note", "a change", "a change", "a change"):
    with injector.around_write(lambda: text):
        print(text, flush=True)
"""


@pytest.mark.parametrize(("side", "lines"), [("before", 2), ("after", 3)])
def test_a_process_crashes_at_its_crash_point_and_the_next_one_does_not(tmp_path: Path, side: Side, lines: int) -> None:
    CrashPoint(2, side, "change").arm(tmp_path / "cut")
    command = [sys.executable, "-c", CRASHING_PROGRAM, str(tmp_path / "cut")]
    processes = [subprocess.run(command, stdout=subprocess.PIPE, check=False) for _ in range(2)]
    assert [process.returncode for process in processes] == [CRASH_EXIT_CODE, 0]
    assert [len(process.stdout.splitlines()) for process in processes] == [lines, 4]


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
