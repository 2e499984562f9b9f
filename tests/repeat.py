"""Runs tests again and again on a busy machine and keeps every result.

    python -m tests.repeat 3                  the whole suite, as `make test` runs it
    python -m tests.repeat 30 -m races        tests that wait, kill or race
    python -m tests.repeat --loops 0 30 FILE  without load

Busy loops take the processor beside the tests. Each complete run leaves its JUnit report and its output in
.build/repeated/<commit>/<arguments>/. Called again, it continues after the last complete run. Prints one line a run,
then how often each test failed. Exit status 1 if any test failed or a run ended without a report.
"""

import argparse
import hashlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from cli.operate.supervisor import bound_to_parent

ROOT = Path(__file__).resolve().parent.parent
BUSY_LOOP = "while True: pass"


class SuiteResult(NamedTuple):
    """What one run's report says."""

    seconds: float
    passed: int
    failed: list[str]


def read_report(report: Path) -> SuiteResult:
    """Read a JUnit report of pytest."""
    suite = next(ElementTree.parse(report).getroot().iter("testsuite"))
    cases = list(suite.iter("testcase"))
    failed = [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    skipped = sum(case.find("skipped") is not None for case in cases)
    return SuiteResult(float(suite.get("time", 0)), len(cases) - len(failed) - skipped, failed)


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Keep `count` processes busy until the block ends."""
    with ExitStack() as stack:
        for _ in range(count):
            loop = stack.enter_context(subprocess.Popen(bound_to_parent(sys.executable, "-c", BUSY_LOOP)))
            stack.callback(loop.kill)
        yield


def run_once(report: Path, arguments: Sequence[str]) -> SuiteResult | None:
    """Run the tests. The report appears only when the run is complete; None if the run ended without one."""
    unfinished = report.with_suffix(".unfinished")
    command = [sys.executable, "-m", "pytest", "-n", "4", "--no-loadscope-reorder", f"--junitxml={unfinished}"]
    with report.with_suffix(".log").open("wb") as output:
        tests = bound_to_parent(*command, *arguments)
        subprocess.run(tests, cwd=ROOT, stdout=output, stderr=output, check=False)
    if not unfinished.exists():
        return None
    unfinished.rename(report)
    return read_report(report)


def results_folder(arguments: Sequence[str]) -> Path:
    """The folder for runs of this commit with these arguments."""
    git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    name = hashlib.sha256("\0".join(arguments).encode()).hexdigest()[:8] if arguments else "all"
    return ROOT / ".build" / "repeated" / commit / name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=4, help="busy loops beside the tests (default 4)")
    parser.add_argument("runs", type=int, help="how many complete runs there shall be")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of pytest")
    options = parser.parse_args()
    folder = results_folder(options.arguments)
    folder.mkdir(parents=True, exist_ok=True)
    failures: Counter[str] = Counter()
    complete = 0
    for number in range(1, options.runs + 1):
        report = folder / f"run-{number:03}.xml"
        began = time.monotonic()
        if report.exists():
            run: SuiteResult | None = read_report(report)
        else:
            with busy_loops(options.loops):
                run = run_once(report, options.arguments)
        if run is None:
            print(f"run {number}: no report after {time.monotonic() - began:.0f} s, see {report.with_suffix('.log')}")
            continue
        complete += 1
        failures.update(run.failed)
        print(f"run {number}: {run.passed} passed, {len(run.failed)} failed, {run.seconds:.0f} s", flush=True)
    for test, times in failures.most_common():
        print(f"{times} of {complete}  {test}")
    return 1 if failures or complete < options.runs else 0


if __name__ == "__main__":
    sys.exit(main())
