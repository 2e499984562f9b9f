"""What flows cost besides walking them (`make bench` has that): `python -m bench.flows`

Two tables in some seconds: queries through `parley sql --jsonl`, a process of its own; and the planner's prompt with
more flows.
"""

import asyncio
import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import structlog

from bench.plays import prompt_tokens
from parley.protocol.flows import FlowPage, FlowSpec
from services.planner.flow_prompt import brief
from shared.domain.session import Session, Words
from shared.settings import Settings
from tests.support.path_play import housed
from tests.support.questions import load, store_database

QUERIES = 2_000
SIZES = (1, 2, 5, 10, 20)
QUESTION = "How many orders are pending?"


# --- queries


class Queries(NamedTuple):
    """`start`: until the first answer; `seconds`: of all others."""

    asked: int
    start: float
    seconds: float
    refused: int


def queries(jsonl: Sequence[str]) -> Queries:
    """Each line waits for the answer before it, as a program that asks would."""
    command = (sys.executable, "-m", "cli.main", "sql", "--database", f"sqlite:///{store_database()}", "--jsonl")
    began = time.perf_counter()
    refused = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        for number, line in enumerate(jsonl):
            process.stdin.write(line)
            process.stdin.flush()
            refused += "error" in json.loads(process.stdout.readline())
            if not number:
                start = time.perf_counter() - began
        seconds = time.perf_counter() - began - start
        process.stdin.close()
    return Queries(len(jsonl), start, seconds, refused)


def lines() -> Iterator[str]:
    """The gold SQL of the store's questions, again and again, no two alike."""
    good = [one.sql for one in load("store") if one.sql]
    for number, sql in enumerate(cycle(good)):
        yield json.dumps({"sql": f"{sql} -- {number}"}) + "\n"


# --- the planner's prompt


async def prompts() -> dict[int, int]:
    """Tokens of the planner's prompt with so many flows: those that ship, then others as large by other names."""
    with tempfile.TemporaryDirectory() as folder:
        async with housed(Settings(parley_home=Path(folder), parley_sql_database_url="")) as house:
            shipped = (await house.flows()).flows
    session = Session("s", words=Words(request=QUESTION))
    grown = [_renamed(flow, number) for number, flow in zip(range(max(SIZES)), cycle(shipped), strict=False)]
    return {size: prompt_tokens(brief(session, FlowPage(flows=tuple(grown[:size])), ())) for size in SIZES}


def _renamed(flow: FlowSpec, number: int) -> FlowSpec:
    return flow if number < 2 else flow.model_copy(update={"name": f"{flow.name}_{number}"})


def report() -> None:
    told = queries(list(islice(lines(), QUERIES)))
    print("| `parley sql --jsonl`, SQLite |  |\n| --- | ---: |")
    print(f"| queries | {told.asked:,} |\n| refused or failed | {told.refused} |")
    print(f"| from start to the first answer: s | {told.start:.1f} |")
    print(f"| queries a second after that | {(told.asked - 1) / told.seconds:.0f} |")
    sizes = asyncio.run(prompts())
    print(f"\n| Flows that are known | {' | '.join(map(str, sizes))} |\n| --- |{' ---: |' * len(sizes)}")
    print(f"| the planner's prompt: tokens | {' | '.join(f'{tokens:,}' for tokens in sizes.values())} |")


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    report()
