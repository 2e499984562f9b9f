"""Checks of a program: its syntax, ruff, and its tests in the sandbox."""

import ast
import asyncio
import re
import secrets
import sys
import warnings
from pathlib import Path

from parley.events.values import Check
from shared import sandbox

LINT_RULES = "E9,F"  # errors, not style
RUNNER = Path(__file__).with_name("in_sandbox.py")
MAX_DETAIL = 4000
PARTS = re.compile(r"^={70}\n(?=(?:FAIL|ERROR): )|^(?=-{70}\nRan \d)", re.MULTILINE)  # failures and summary
PASSED_LINES = re.compile(r"^(?:\w+ \([\w.]+\)\n)?.* \.\.\. ok\n", re.MULTILINE)


def check_syntax(code: str) -> Check:
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Check(name="parses", ok=False, detail=_shorten(f"{type(error).__name__}: {error}"))
    return Check(name="parses", ok=True)


async def run_linter(code: str) -> Check:
    """Run ruff: undefined names, unused imports and similar errors."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", LINT_RULES]
    process = await asyncio.create_subprocess_exec(
        *command,
        "--output-format=concise",
        "--stdin-filename=program.py",
        "-",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await process.communicate(code.encode())
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode not in (0, 1) or (process.returncode == 1 and not output):
        return Check(name="lints", ok=None, detail=_shorten(f"The linter could not be run: {errors.decode()}"))
    return Check(
        name="lints", ok=process.returncode == 0, detail=_shorten(output.decode()) if process.returncode else ""
    )


async def run_tests(code: str, tests: str) -> Check:
    """Run the tests in the sandbox.

    On stderr come unittest's report, a random seal, the number of tests and whether all passed. The program does not
    know the seal, so it cannot pass by printing a result and exiting. It shares a process with its tests: one written
    to deceive them, for instance by patching unittest, still can.
    """
    files = {"program.py": code, "test_program.py": tests, RUNNER.name: RUNNER.read_text()}
    seal = secrets.token_hex()
    try:
        outcome = await sandbox.run(files, args=(RUNNER.name,), stdin=f"{seal}\n")
    except sandbox.SandboxUnavailable as error:
        return Check(name="tests", ok=None, detail=f"Not run: {error}")
    output, _, report = outcome.stderr.partition(seal)
    count, _, passed = report.strip().partition("\n")[0].partition(" ")  # a program may print when it ends
    if outcome.ended != "exited":
        output += f"\nThe tests were ended: {outcome.ended}."
    elif not report:
        output += "\nThe program ended before its tests did."
    elif count == "0":
        output += "\nNo tests were run."
    ok = outcome.ended == "exited" and count != "0" and passed == "True"
    if not ok:
        output = _first_failures(PASSED_LINES.sub("", output))  # leaves room for what failed
    return Check(name="tests", ok=ok, detail=_shorten(f"{outcome.stdout}\n{output}"))


def _first_failures(report: str) -> str:
    """The report with only the first failure of each test: one with many cases fails for the same reason each time.

    Each failure gets an equal share of MAX_DETAIL, so that no failed test is left out.
    """
    head, *failures = PARTS.split(report)
    summary = failures.pop() if failures else ""
    first: dict[str, str] = {}
    for failure in failures:
        first.setdefault(failure.partition(")")[0], failure)  # by the test's name, without the case
    room = (MAX_DETAIL - len(summary)) // max(len(first), 1)
    return "".join((head, *(_shorten_failure(failure, room) for failure in first.values()), summary))


def _shorten_failure(text: str, room: int) -> str:
    """The failure, or only its first line, which names the test, and its end, which says why."""
    name, _, why = text.partition("\n")
    return text if len(text) <= room else f"{name}\n…\n{why[len(text) - room + 2 :]}"


def _shorten(text: str) -> str:
    """The text, or only its end if it is long: a report ends with its summary."""
    text = text.strip()
    return text if len(text) <= MAX_DETAIL else "…\n" + text[-MAX_DETAIL:]
