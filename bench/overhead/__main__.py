"""Parley's own cost, measured: `python -m bench.overhead [--tiny] [--write] [--only PART]…`

Five parts, a few minutes in all, most of it for the 100,000 sessions that are stored; `--write` puts each part's tables
into docs/performance.md, and the short one into README.md. Nothing is kept.
"""

import argparse
import logging
import os
import resource
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import structlog
import uvloop

from bench.overhead import gateway, growth, pipeline, recording, tables, world
from bench.overhead.kinds import CONVERSATION, KINDS


class Sizes(NamedTuple):
    """How much of each is measured."""

    plan: dict[int, int]  # conversations by how many at once
    kinds: dict[int, int]  # sessions of each kind by how many at once
    sessions: int  # long ones
    exchanges: int
    early: int
    tokens: int
    sockets: tuple[int, ...]
    starts: int
    stored: tuple[int, ...]
    beside: int  # conversations beside those that are stored


FULL = Sizes(
    plan={1: 200, 32: 960, 256: 1280},
    kinds={1: 20, 32: 128},
    sessions=5,
    exchanges=50,
    early=5,
    tokens=50,
    sockets=(1000, 5000),
    starts=3,
    stored=(100, 100_000),
    beside=150,
)
TINY = Sizes(
    plan={1: 3, 4: 8},
    kinds={1: 2, 4: 4},
    sessions=1,
    exchanges=3,
    early=1,
    tokens=2,
    sockets=(10,),
    starts=1,
    stored=(5, 20),
    beside=3,
)


class Report(NamedTuple):
    """A part's text for docs/performance.md, and its short table for the README."""

    text: str
    short: str = ""


async def durable(folder: Path, sizes: Sizes) -> Report:
    """Stages and throughput with either kind of flushing, of Parley and then of bare NATS."""
    text, short = "", []
    lines = (await recording.sessions(folder / "recorded", [CONVERSATION]))[CONVERSATION.name]
    for always in (True, False):
        how = "before each acknowledgement (`sync_interval: always`)" if always else "every 2 minutes (NATS' default)"
        bare = await pipeline.runs(folder / f"bare-{always}", "bare", lines, always=always, plan=sizes.plan)
        parley = await pipeline.runs(folder / f"parley-{always}", "parley", lines, always=always, plan=sizes.plan)
        text += f"The log is flushed {how}:\n\n{tables.per_stage(parley, bare)}\n{tables.throughput(parley, bare)}\n"
        short.append(tables.in_short(how, parley, bare))
    return Report(text, tables.table(tables.SHORT, short))


async def kinds(folder: Path, sizes: Sizes) -> Report:
    """Each kind of session, through Parley and then through bare NATS; flushed as `parley up` does it."""
    measured = {}
    for name, lines in (await recording.sessions(folder / "kinds", KINDS)).items():
        bare = await pipeline.runs(folder / f"{name}-bare", "bare", lines, always=True, plan=sizes.kinds)
        parley = await pipeline.runs(folder / f"{name}-parley", "parley", lines, always=True, plan=sizes.kinds)
        measured[name] = tables.Measured(lines, parley, bare)
    return Report(f"Kinds of sessions, the log flushed before each acknowledgement:\n\n{tables.kinds(measured)}\n")


async def long(folder: Path, sizes: Sizes) -> Report:
    async with world.server(folder / "long", always=False) as (place, _), world.running(world.services(place)):
        stages = await pipeline.long_sessions(place, sizes.sessions, sizes.exchanges)
    return Report(f"{tables.exchanges(stages, sizes.early, sizes.exchanges)}\n")


async def rest(folder: Path, sizes: Sizes) -> Report:
    tokens = await gateway.first_tokens(folder / "tokens", sizes.tokens)
    sockets = await gateway.idle_sockets(folder / "sockets", sizes.sockets)
    starts = await gateway.starts(folder / "home", sizes.starts)
    return Report(f"{tables.rest(tokens, sockets, starts)}\n")


async def grown(folder: Path, sizes: Sizes) -> Report:
    lines = (await recording.sessions(folder / "to-load", [CONVERSATION]))[CONVERSATION.name]
    return Report(f"{tables.grown(await growth.growth(folder / 'growth', lines, sizes.stored, sizes.beside))}\n")


PARTS: dict[str, Callable[[Path, Sizes], Awaitable[Report]]] = {
    "durable": durable,
    "kinds": kinds,
    "long": long,
    "rest": rest,
    "grown": grown,
}


async def run(name: str, sizes: Sizes) -> Report:
    """One part, headed by the machine, the date and the load average."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        report = await PARTS[name](Path(folder), sizes)
    when = f"{datetime.now(UTC):%Y-%m-%d}, load average {load:.1f} before and {os.getloadavg()[0]:.1f} at the end"
    return report._replace(text=f"{tables.machine()}; {when}.\n\n{report.text}")


def main() -> None:
    parser = argparse.ArgumentParser(description="What Parley itself costs, beside NATS with nothing on top.")
    parser.add_argument("--tiny", action="store_true", help="a few of each, to see that it runs")
    parser.add_argument("--write", action="store_true", help="put the tables into the documents")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="this part (may be given again)")
    given = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 20_000)), hard))
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    for name in given.only or PARTS:
        report = uvloop.run(run(name, TINY if given.tiny else FULL))
        print(report.text, flush=True)
        if given.write:
            tables.put(tables.ROOT / "docs/performance.md", f"overhead {name}", report.text)
            if report.short:
                tables.put(tables.ROOT / "README.md", "overhead", report.short)


if __name__ == "__main__":
    main()
