"""Runs the `parley` command with the home of a running Parley."""

import asyncio
import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from cli.main import app
from tests.e2e.parley_process import ROOT
from tests.support.timeouts import WAIT_TIMEOUT


class CommandResult(NamedTuple):
    code: int
    out: str
    err: str


class Cli:
    """Runs commands in this process, because starting a process takes long, or, with `start`, in a new process."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch) -> None:
        for name in os.environ:
            if name.startswith(("NATS_", "OPENAI_", "AGENT_")):
                patch.delenv(name)
        for name, value in {"PARLEY_HOME": str(home), "PYTHONPATH": str(ROOT), "COLUMNS": "200"}.items():
            patch.setenv(name, value)

    async def __call__(self, *words: str | Path) -> CommandResult:
        """Runs the command in this process."""
        result = await asyncio.to_thread(CliRunner().invoke, app, [*map(str, words)], catch_exceptions=False)
        return CommandResult(result.exit_code, result.stdout, result.stderr)

    async def check_output(self, *words: str | Path) -> str:
        """Runs the command, which must succeed; returns its output."""
        result = await self(*words)
        assert result.code == 0, result
        return result.out

    async def start(
        self, *words: str | Path, stdin: int = asyncio.subprocess.DEVNULL, cwd: Path = ROOT
    ) -> asyncio.subprocess.Process:
        """Starts the command in a new process."""
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "cli.main", *map(str, words)),
            cwd=cwd,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**20,
        )


async def wait_for_exit(process: asyncio.subprocess.Process) -> CommandResult:
    """Waits for a started command; returns its exit code and all its output."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        out, err = await process.communicate()
    assert process.returncode is not None
    return CommandResult(process.returncode, out.decode(), err.decode())
