"""Runs each example as a program against a running Parley with the rehearsal model."""

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.e2e.parley_process import ROOT, RunningParley

EXPECTED_OUTPUT = {
    "conversation": r"Goal: .*floating point|def ",
    "tools": r"status: pending → cancelled[\s\S]*#W4260124",
    "data_question": r"text_to_sql\.generate_sql[\s\S]*\d+",
    "execution_plan": r"pending[\s\S]*`write_file\([^`]*site/index.html\W[\s\S]*2 steps were[\s\S]*gave: .*h1>",
    "tasks": r"Turns: \d+, confidence: \d+%[\s\S]*completed: [\s\S]*Query: [\s\S]*Actions: \w+",
    "again": r"Continue with feedback[\s\S]*Roman numerals[\s\S]*completed",
}


def test_every_example_is_listed() -> None:
    programs = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert programs - {"__init__", "running"} == set(EXPECTED_OUTPUT)
    listed = set(re.findall(r"`(\w+)\.py`", (Path(ROOT) / "examples" / "README.md").read_text("utf-8")))
    assert listed == set(EXPECTED_OUTPUT)


@pytest.mark.parametrize("name", sorted(EXPECTED_OUTPUT))
async def test_an_example_prints_the_expected_output(name: str, running: RunningParley) -> None:
    env = {**os.environ, "PARLEY_URL": running.url, "PARLEY_TOKEN": ""}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"examples.{name}",
        cwd=ROOT,
        env=env,
        stdout=PIPE,
        stderr=PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-3_000:]
    assert re.search(EXPECTED_OUTPUT[name], out.decode()), out.decode()
