"""The examples, each run as a program against a whole Parley with the rehearsal model."""

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.e2e.running import ROOT, Parley

TOLD = {
    "conversation": r"Goal: .*floating point|def ",
    "tools": r"status: pending → cancelled[\s\S]*#W4260124",
    "data_question": r"text_to_sql\.generate_sql[\s\S]*\d+",
    "execution_plan": r"pending approval[\s\S]*`write_file\([^`]*site/index.html'[\s\S]*2 steps were[\s\S]*gave: .*h1>",
    "tasks": r"Turns: \d+, confidence: \d+%[\s\S]*completed: [\s\S]*Query: [\s\S]*Actions: \w+",
    "again": r"Continue with feedback[\s\S]*Roman numerals[\s\S]*completed",
}


def test_every_example_is_tried() -> None:
    programs = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert programs - {"__init__", "running"} == set(TOLD)
    listed = set(re.findall(r"`(\w+)\.py`", (Path(ROOT) / "examples" / "README.md").read_text("utf-8")))
    assert listed == set(TOLD)


@pytest.mark.parametrize("name", sorted(TOLD))
async def test_an_example_does_what_it_says(name: str, running: Parley) -> None:
    env = {**os.environ, "PARLEY_URL": running.url, "PARLEY_TOKEN": ""}
    done = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"examples.{name}",
        cwd=ROOT,
        env=env,
        stdout=PIPE,
        stderr=PIPE,
    )
    out, err = await done.communicate()
    assert done.returncode == 0, err.decode()[-3_000:]
    assert re.search(TOLD[name], out.decode()), out.decode()
