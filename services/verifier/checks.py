"""What can be said of a program without running it, and by running its tests in the sandbox."""

import ast
import asyncio
import secrets
import sys
import warnings
from pathlib import Path

from parley.events.values import Check
from shared import sandbox

RULES = "E9,F"  # what makes a program wrong, not what makes it ugly
RUNNER = Path(__file__).with_name("in_sandbox.py")
DETAIL = 4000


def parses(code: str) -> Check:
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Check(name="parses", ok=False, detail=_shorten(f"{type(error).__name__}: {error}"))
    return Check(name="parses", ok=True)


async def lints(code: str) -> Check:
    """Undefined names, unused imports and the like, by ruff."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", RULES]
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


async def passes(code: str, tests: str) -> Check:
    """The tests, run in the sandbox.

    Printing a good report and ending is not enough, for the true report carries a seal. The program shares a process
    with its tests, so one that was written to deceive them, by changing unittest for instance, still can.
    """
    files = {"program.py": code, "test_program.py": tests, RUNNER.name: RUNNER.read_text()}
    seal = secrets.token_hex()
    try:
        outcome = await sandbox.run(files, args=(RUNNER.name,), stdin=f"{seal}\n")
    except sandbox.SandboxUnavailable as error:
        return Check(name="tests", ok=None, detail=f"Not run: {error}")
    shown, _, report = outcome.stderr.partition(seal)
    said = shown + outcome.stdout
    ran, _, passed = report.strip().partition(" ")
    if outcome.ended != "exited":
        said += f"\nThe tests were ended: {outcome.ended}."
    elif not report:
        said += "\nThe program ended before its tests did."
    elif ran == "0":
        said += "\nNo tests were run."
    ok = outcome.ended == "exited" and ran != "0" and passed == "True"
    return Check(name="tests", ok=ok, detail=_shorten(said))


def _shorten(text: str) -> str:
    """The end of a long report, where its summary is."""
    text = text.strip()
    return text if len(text) <= DETAIL else "…\n" + text[-DETAIL:]
