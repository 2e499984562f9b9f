"""The only reasons for which a test may be skipped; a skip for any other reason fails the test.

A pytest plugin: `addopts` in pyproject.toml loads it, so that it holds for every folder with tests.
"""

import ctypes
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

NO_LANDLOCK = "the kernel has no Landlock"
NO_PTRACE = "root lacks CAP_SYS_PTRACE, as in some containers"
NO_TAU_BENCH = "tau-bench's data is not beside the project"
NOT_LIVE = "calls a real model: run with --live"
MAY_BE_SKIPPED_FOR = frozenset({NO_LANDLOCK, NO_PTRACE, NO_TAU_BENCH, NOT_LIVE})

TAU_BENCH = Path(__file__).parents[3] / "shared" / "data" / "tau-bench-retail"
needs_tau_bench = pytest.mark.skipif(not TAU_BENCH.is_dir(), reason=NO_TAU_BENCH)


def _kernel_has_landlock() -> bool:
    """Ask the kernel directly, so that a broken sandbox fails its tests instead of skipping them."""
    return sys.platform == "linux" and int(ctypes.CDLL(None).syscall(444, None, 0, 1)) > 0


needs_landlock = pytest.mark.skipif(not _kernel_has_landlock(), reason=NO_LANDLOCK)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return fail_unless_allowed((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return fail_unless_allowed((yield))


def fail_unless_allowed[Report: (pytest.TestReport, pytest.CollectReport)](report: Report) -> Report:
    """The report; a failure if it is a skip for a reason that is not on the list."""
    if report.skipped:
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if reason.removeprefix("Skipped: ") not in MAY_BE_SKIPPED_FOR:
            report.outcome = "failed"
            report.longrepr = f"{reason}\nNo test may be skipped for this: see tests/support/needs.py."
    return report
