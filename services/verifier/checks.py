"""What can be said of a program without running it, and by running its tests in the sandbox."""

import ast
import asyncio
import re
import sys
import warnings

from shared import sandbox
from shared.events.values import Check

RULES = "E9,F"  # what makes a program wrong, not what makes it ugly
RAN = re.compile(r"^Ran [1-9]\d* tests? in ", re.MULTILINE)
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
    """The tests, run in the sandbox."""
    files = {"program.py": code, "test_program.py": tests}
    try:
        outcome = await sandbox.run(files, args=("-m", "unittest", "-v", "test_program"))
    except sandbox.SandboxUnavailable as error:
        return Check(name="tests", ok=None, detail=f"Not run: {error}")
    said = outcome.stderr + outcome.stdout
    if outcome.ended != "exited":
        said += f"\nThe tests were ended: {outcome.ended}."
    ran = RAN.search(outcome.stderr)  # a program that exits when it is imported ends well too
    if not ran:
        said += "\nNo tests were run."
    ok = outcome.ended == "exited" and outcome.exit_code == 0 and ran is not None
    return Check(name="tests", ok=ok, detail=_shorten(said))


def _shorten(text: str) -> str:
    """The end of a long report, where its summary is."""
    text = text.strip()
    return text if len(text) <= DETAIL else "…\n" + text[-DETAIL:]
