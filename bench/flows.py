"""What a path costs besides its nodes' own work: `python -m bench.flows`

Three tables in about a minute: whole walks over a real nats-server with all services in this process and a model that
answers at once; queries through `parley sql --jsonl`, a process of its own; and the planner's prompt with more flows.
"""

import asyncio
import json
import logging
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import structlog

from bench.plays import prompt_tokens
from cli.nats_server import nats_server
from retail.generate import generate
from services.planner.flow_prompt import brief
from shared.bus import Bus
from shared.bus.provision import provision
from shared.domain import commands as c
from shared.domain.session import Session
from shared.events.values import SessionSettings
from shared.flows import FlowPage, FlowSpec
from shared.settings import Settings
from tests.support.path_play import housed
from tests.support.questions import load, store_database
from tests.support.stack import Person, working
from tests.support.walking import SaysByTask, walked

WALKS = 20
QUERIES = 2_000
SIZES = (1, 2, 5, 10, 20)
QUESTION = "How many orders are pending?"
SQL = "SELECT count(*) AS n FROM orders WHERE status = 'pending'"
FULL = {"use_planning": False}
TEXT_TO_SQL: dict[str, Any] = {
    "classify_prompt": {"kind": "data"},
    "rewrite_prompt": {"question": QUESTION},
    "get_relevant_tables": {"tables": [{"name": "orders"}]},
    "trim_relevant_tables": {"columns": {"orders": ["status"]}},
    "generate_sql": {"sql": SQL},
    "format_final_response": {"answer": "So many."},
}


class Walked(NamedTuple):
    """One request, from what was said to its answer."""

    seconds: float
    events: int
    nodes: int


# --- whole walks


def complaints(orders: Sequence[Any], users: Any) -> dict[str, Any]:
    """What a model says about these orders, one request after the other."""
    nothing = {"first_name": "", "last_name": "", "zip": ""}
    said = [
        {"category": "unwanted", "order_id": one["order_id"], "email": users[one["user_id"]]["email"], "urgent": False}
        for one in orders
    ]
    return {
        "complaint_triage.classify_complaint": [{**one, **nothing} for one in said],
        "complaint_triage.assess": {"remedy": "cancel", "item_ids": [], "reason": "It is still pending."},
        "complaint_triage.write_reply": {"answer": "It is cancelled."},
    }


async def walks() -> dict[str, list[Walked]]:
    """Both flows, one request at a time."""
    store: Any = generate()
    pending = [order for order in store["orders"].values() if order["status"] == "pending"][:WALKS]
    model = SaysByTask(TEXT_TO_SQL | complaints(pending, store["users"]))
    with tempfile.TemporaryDirectory() as folder, nats_server(Path(folder)) as server:
        settings = Settings(nats_url=server.url, parley_home=Path(folder), parley_database="")
        await provision(settings)
        bus = Bus(settings, "bench")
        await bus.connect()
        try:
            async with working(settings, model):
                flows = ("text_to_sql", "complaint_triage")
                return {flow: [await _walk(bus, flow, number) for number in range(WALKS)] for flow in flows}
        finally:
            await bus.stop()


async def _walk(bus: Bus, flow: str, number: int) -> Walked:
    ann = Person(bus, f"{flow}-{number}".replace("_", "-"))
    wanted = SessionSettings.model_validate(
        {"confirm": "nothing", "approval": "never", "planning": {**FULL, "flow": flow}}
    )
    began = time.perf_counter()
    await ann.does(c.Say(text=QUESTION, workflow="flow", settings=wanted))
    done = await ann.phase("resting", "failed", "awaiting_input", "awaiting_approval")
    seconds = time.perf_counter() - began
    if done.reason != "answered" or not done.confidence:
        raise RuntimeError(f"{flow} did not come to its end: {done.phase}, {done.failure}, {done.answer}")
    return Walked(seconds, len(await ann.events()), len(walked(done)))


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
        async with housed(Settings(parley_home=Path(folder), parley_database="")) as house:
            shipped = (await house.flows()).flows
    session = Session("s", request=QUESTION)
    grown = [_renamed(flow, number) for number, flow in zip(range(max(SIZES)), cycle(shipped), strict=False)]
    return {size: prompt_tokens(brief(session, FlowPage(flows=tuple(grown[:size])), ())) for size in SIZES}


def _renamed(flow: FlowSpec, number: int) -> FlowSpec:
    return flow if number < 2 else flow.model_copy(update={"name": f"{flow.name}_{number}"})


def report() -> None:
    print("| Walks, one at a time | nodes | events | ms a walk | ms a node |\n| --- | ---: | ---: | ---: | ---: |")
    for flow, found in asyncio.run(walks()).items():
        milliseconds = 1000 * statistics.median(one.seconds for one in found)
        nodes, events = found[-1].nodes, statistics.median(one.events for one in found)
        print(f"| {flow} | {nodes} | {events:.0f} | {milliseconds:.0f} | {milliseconds / nodes:.1f} |")
    told = queries(list(islice(lines(), QUERIES)))
    print("\n| `parley sql --jsonl`, SQLite |  |\n| --- | ---: |")
    print(f"| queries | {told.asked:,} |\n| refused or failed | {told.refused} |")
    print(f"| from start to the first answer: s | {told.start:.1f} |")
    print(f"| queries a second after that | {(told.asked - 1) / told.seconds:.0f} |")
    sizes = asyncio.run(prompts())
    print(f"\n| Flows that are known | {' | '.join(map(str, sizes))} |\n| --- |{' ---: |' * len(sizes)}")
    print(f"| the planner's prompt: tokens | {' | '.join(f'{tokens:,}' for tokens in sizes.values())} |")


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    report()
