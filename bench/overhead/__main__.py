"""Parley's own cost, measured: `python -m bench.overhead [--tiny] [--write] [--only PART]…`

Six parts, a few minutes in all, most of it for the 100,000 sessions that are stored; `--write` puts the tables into
docs/performance.md and README.md. Nothing is kept.
"""

import argparse
import os
import resource
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import uvloop

from bench.overhead import gateway, growth, pipeline, tables, world


class Sizes(NamedTuple):
    """How much of each is measured."""

    plan: dict[int, int]  # conversations by how many at once
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
    plan={1: 3, 4: 8}, sessions=1, exchanges=3, early=1, tokens=2, sockets=(10,), starts=1, stored=(5, 20), beside=3
)


class Told(NamedTuple):
    """A part's text, and the short lines for the README."""

    text: str
    short: str = ""


async def durable(folder: Path, sizes: Sizes) -> Told:
    """Stages and throughput, with either kind of flushing; Parley and the limit one after the other."""
    text, short = "", []
    for always in (True, False):
        how = "before each acknowledgement (`sync_interval: always`)" if always else "every 2 minutes (NATS' default)"
        bare = await pipeline.runs(folder / f"bare-{always}", "bare", always=always, plan=sizes.plan)
        mine = await pipeline.runs(folder / f"parley-{always}", "parley", always=always, plan=sizes.plan)
        text += f"The log is flushed {how}:\n\n{tables.per_stage(mine, bare)}\n{tables.throughput(mine, bare)}\n"
        short.append(tables.in_short(how, mine, bare))
    return Told(text, tables.table(tables.SHORT, short))


async def long(folder: Path, sizes: Sizes) -> Told:
    async with world.server(folder / "long", always=False) as (place, _), world.running(world.services(place)):
        stages = await pipeline.long_sessions(place, sizes.sessions, sizes.exchanges)
    return Told(f"{tables.exchanges(stages, sizes.early, sizes.exchanges)}\n")


async def rest(folder: Path, sizes: Sizes) -> Told:
    tokens = await gateway.first_tokens(folder / "tokens", sizes.tokens)
    sockets = await gateway.idle_sockets(folder / "sockets", sizes.sockets)
    starts = await gateway.starts(folder / "home", sizes.starts)
    return Told(f"{tables.rest(tokens, sockets, starts)}\n")


async def grown(folder: Path, sizes: Sizes) -> Told:
    return Told(f"{tables.grown(await growth.growth(folder / 'growth', sizes.stored, sizes.beside))}\n")


PARTS: dict[str, Callable[[Path, Sizes], Awaitable[Told]]] = {
    "durable": durable,
    "long": long,
    "rest": rest,
    "grown": grown,
}


async def run(names: list[str], sizes: Sizes) -> tuple[str, str]:
    """All these parts; the long text and the short one."""
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        load = os.getloadavg()[0]
        told = [await PARTS[name](Path(folder), sizes) for name in names]
    when = f"{datetime.now(UTC):%Y-%m-%d}, load average {load:.1f} before and {os.getloadavg()[0]:.1f} at the end"
    head = f"{tables.machine()}; {when}.\n\n"
    return head + "".join(one.text for one in told), "".join(one.short for one in told)


def main() -> None:
    parser = argparse.ArgumentParser(description="What Parley itself costs, beside NATS with nothing on top.")
    parser.add_argument("--tiny", action="store_true", help="a few of each: does it run?")
    parser.add_argument("--write", action="store_true", help="put the tables into the documents")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="this part (may be given again)")
    given = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 20_000)), hard))
    text, short = uvloop.run(run(given.only or list(PARTS), TINY if given.tiny else FULL))
    print(text)
    if given.write:
        tables.put(tables.ROOT / "docs/performance.md", "overhead", text)
        tables.put(tables.ROOT / "README.md", "overhead", short)


if __name__ == "__main__":
    main()
