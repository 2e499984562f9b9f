"""The `parley` command with the home of a running Parley."""

import asyncio
import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from cli.main import app
from tests.e2e.running import ROOT


class Ended(NamedTuple):
    code: int
    out: str
    err: str


class Cli:
    """Runs commands in this process, as most take much longer to start than to run, or in a process of their own."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch) -> None:
        for name in os.environ:
            if name.startswith(("NATS_", "OPENAI_", "AGENT_")):
                patch.delenv(name)
        for name, value in {"PARLEY_HOME": str(home), "PYTHONPATH": str(ROOT), "COLUMNS": "200"}.items():
            patch.setenv(name, value)

    async def __call__(self, *words: str | Path) -> Ended:
        """Run it to its end."""
        result = await asyncio.to_thread(CliRunner().invoke, app, [*map(str, words)], catch_exceptions=False)
        return Ended(result.exit_code, result.stdout, result.stderr)

    async def fine(self, *words: str | Path) -> str:
        ended = await self(*words)
        assert ended.code == 0, ended
        return ended.out

    async def start(
        self, *words: str | Path, stdin: int = asyncio.subprocess.DEVNULL, cwd: Path = ROOT
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "cli.main", *map(str, words)),
            cwd=cwd,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**20,
        )


async def ended(process: asyncio.subprocess.Process) -> Ended:
    """The end of a command that was started, and all its output."""
    async with asyncio.timeout(120):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())
