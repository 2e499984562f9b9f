"""What flows cost apart from running them, which `make bench` measures: `python -m bench.flow_costs`

Prints two tables within seconds: the throughput of `parley sql --jsonl` in a process of its own, and the size of the
planner's prompt by the number of flows.
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

from bench.request_costs import prompt_tokens
from parley.protocol.flows import FlowPage, FlowSpec
from services.planner.flow_prompt import build_prompt
from shared.domain.session import Session, Words
from shared.settings import Settings
from tests.support.path_play import local_services
from tests.support.questions import load, store_database

QUERIES = 2_000
SIZES = (1, 2, 5, 10, 20)
QUESTION = "How many orders are pending?"


# --- queries


class QueryTimes(NamedTuple):
    """`start_seconds`: until the first answer. `seconds`: for all others."""

    query_count: int
    start_seconds: float
    seconds: float
    refused: int


def time_queries(lines: Sequence[str]) -> QueryTimes:
    """Send one query after the other; each waits for the previous answer, as a client program would."""
    command = (sys.executable, "-m", "cli.main", "sql", "--database", f"sqlite:///{store_database()}", "--jsonl")
    began = time.perf_counter()
    refused = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        for number, line in enumerate(lines):
            process.stdin.write(line)
            process.stdin.flush()
            refused += "error" in json.loads(process.stdout.readline())
            if not number:
                start = time.perf_counter() - began
        seconds = time.perf_counter() - began - start
        process.stdin.close()
    return QueryTimes(len(lines), start, seconds, refused)


def gold_queries() -> Iterator[str]:
    """The gold SQL of the store's questions, repeated endlessly with a comment that makes each query unique."""
    statements = [question.sql for question in load("store") if question.sql]
    for number, sql in enumerate(cycle(statements)):
        yield json.dumps({"sql": f"{sql} -- {number}"}) + "\n"


# --- the planner's prompt


async def prompt_sizes() -> dict[int, int]:
    """Tokens of the planner's prompt by the number of flows: the built-in ones, then renamed copies of them."""
    with tempfile.TemporaryDirectory() as folder:
        async with local_services(Settings(parley_home=Path(folder), parley_sql_database_url="")) as house:
            shipped = (await house.flows()).flows
    session = Session("s", words=Words(request=QUESTION))
    grown = [_copy_of(flow, number) for number, flow in zip(range(max(SIZES)), cycle(shipped), strict=False)]
    return {size: prompt_tokens(build_prompt(session, FlowPage(flows=tuple(grown[:size])), ())) for size in SIZES}


def _copy_of(flow: FlowSpec, number: int) -> FlowSpec:
    return flow if number < 2 else flow.model_copy(update={"name": f"{flow.name}_{number}"})


def print_report() -> None:
    times = time_queries(list(islice(gold_queries(), QUERIES)))
    print("| `parley sql --jsonl`, SQLite |  |\n| --- | ---: |")
    print(f"| queries | {times.query_count:,} |\n| refused or failed | {times.refused} |")
    print(f"| from start to the first answer: s | {times.start_seconds:.1f} |")
    print(f"| queries a second after that | {(times.query_count - 1) / times.seconds:.0f} |")
    sizes = asyncio.run(prompt_sizes())
    print(f"\n| Flows that are known | {' | '.join(map(str, sizes))} |\n| --- |{' ---: |' * len(sizes)}")
    print(f"| the planner's prompt: tokens | {' | '.join(f'{tokens:,}' for tokens in sizes.values())} |")


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    print_report()
