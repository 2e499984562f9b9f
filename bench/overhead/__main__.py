"""Measures Parley's own overhead: `python -m bench.overhead [--tiny] [--write] [--only PART]…`

Runs five parts in a few minutes; storing 100,000 sessions takes most of the time. `--write` puts each part's tables
into docs/benchmarks.md, and the short one into README.md. All other files are temporary.
"""

import argparse
import asyncio
import logging
import os
import resource
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import structlog

from bench.overhead import gateway, growth, markdown_tables, pipeline, processes, recording
from bench.overhead.workloads import CONVERSATION, WORKLOADS


class Scale(NamedTuple):
    """The size of each measurement."""

    plan: dict[int, int]  # number of conversations by concurrency
    workloads: dict[int, int]  # number of sessions of each workload by concurrency
    sessions: int  # long ones
    exchanges: int
    early_exchange: int
    tokens: int
    sockets: tuple[int, ...]
    starts: int
    stored: tuple[int, ...]
    conversations: int  # measured beside the stored sessions


FULL = Scale(
    plan={1: 200, 32: 960, 256: 1280},
    workloads={1: 20, 32: 128},
    sessions=5,
    exchanges=50,
    early_exchange=5,
    tokens=50,
    sockets=(1000, 5000),
    starts=3,
    stored=(100, 100_000),
    conversations=150,
)
TINY = Scale(
    plan={1: 3, 4: 8},
    workloads={1: 2, 4: 4},
    sessions=1,
    exchanges=3,
    early_exchange=1,
    tokens=2,
    sockets=(10,),
    starts=1,
    stored=(5, 20),
    conversations=3,
)


class PartReport(NamedTuple):
    """A part's text for docs/benchmarks.md, and its short table for the README."""

    text: str
    readme_table: str = ""


async def measure_durable(folder: Path, sizes: Scale) -> PartReport:
    """Stage times and throughput of Parley and of bare NATS, with both sync settings of the log."""
    text, short = "", []
    events = (await recording.record_sessions(folder / "recorded", [CONVERSATION]))[CONVERSATION.name]
    for always in (True, False):
        how = "before each acknowledgement (`sync_interval: always`)" if always else "every 2 minutes (NATS' default)"
        bare = await pipeline.run_pipeline(
            folder / f"bare-{always}", "bare", events, sync_always=always, concurrency_plan=sizes.plan
        )
        parley = await pipeline.run_pipeline(
            folder / f"parley-{always}", "parley", events, sync_always=always, concurrency_plan=sizes.plan
        )
        stages, throughput = markdown_tables.stage_table(parley, bare), markdown_tables.throughput_table(parley, bare)
        text += f"The log is flushed {how}:\n\n{stages}\n{throughput}\n"
        short.append(markdown_tables.readme_row(how, parley, bare))
    return PartReport(text, markdown_tables.table(markdown_tables.README_HEAD, short))


async def measure_workloads(folder: Path, sizes: Scale) -> PartReport:
    """Each workload through Parley and through bare NATS, with the sync setting of `parley up`."""
    measured = {}
    for name, events in (await recording.record_sessions(folder / "kinds", WORKLOADS)).items():
        bare = await pipeline.run_pipeline(
            folder / f"{name}-bare", "bare", events, sync_always=True, concurrency_plan=sizes.workloads
        )
        parley = await pipeline.run_pipeline(
            folder / f"{name}-parley", "parley", events, sync_always=True, concurrency_plan=sizes.workloads
        )
        measured[name] = markdown_tables.WorkloadRuns(events, parley, bare)
    workload_tables = markdown_tables.workload_tables(measured)
    return PartReport(f"Kinds of sessions, the log flushed before each acknowledgement:\n\n{workload_tables}\n")


async def measure_long_sessions(folder: Path, sizes: Scale) -> PartReport:
    async with (
        processes.nats_server(folder / "long", sync_always=False) as (place, _),
        processes.running(place, processes.service_programs(place)),
    ):
        stages = await pipeline.run_long_sessions(place, sizes.sessions, sizes.exchanges)
    return PartReport(f"{markdown_tables.exchange_table(stages, sizes.early_exchange, sizes.exchanges)}\n")


async def measure_gateway(folder: Path, sizes: Scale) -> PartReport:
    tokens = await gateway.time_first_tokens(folder / "tokens", sizes.tokens)
    sockets = await gateway.measure_idle_sockets(folder / "sockets", sizes.sockets)
    starts = await gateway.time_starts(folder / "home", sizes.starts)
    return PartReport(f"{markdown_tables.gateway_table(tokens, sockets, starts)}\n")


async def measure_growth(folder: Path, sizes: Scale) -> PartReport:
    events = (await recording.record_sessions(folder / "to-load", [CONVERSATION]))[CONVERSATION.name]
    points = await growth.measure_growth(folder / "growth", events, sizes.stored, sizes.conversations)
    return PartReport(f"{markdown_tables.growth_table(points)}\n")


PARTS: dict[str, Callable[[Path, Scale], Awaitable[PartReport]]] = {
    "durable": measure_durable,
    "kinds": measure_workloads,
    "long": measure_long_sessions,
    "rest": measure_gateway,
    "grown": measure_growth,
}


async def run(name: str, sizes: Scale) -> PartReport:
    """Run one part. Its report begins with the machine, the date and the load average."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        report = await PARTS[name](Path(folder), sizes)
    when = f"{datetime.now(UTC):%Y-%m-%d}, load average {load:.1f} before and {os.getloadavg()[0]:.1f} at the end"
    return report._replace(text=f"{markdown_tables.describe_machine()}; {when}.\n\n{report.text}")


def main() -> None:
    parser = argparse.ArgumentParser(description="What Parley itself costs, beside NATS with nothing on top.")
    parser.add_argument("--tiny", action="store_true", help="a few of each, to see that it runs")
    parser.add_argument("--write", action="store_true", help="put the tables into the documents")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="this part (may be given again)")
    args = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 20_000)), hard))
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    for name in args.only or PARTS:
        report = asyncio.run(run(name, TINY if args.tiny else FULL))
        print(report.text, flush=True)
        if args.write:
            markdown_tables.replace_section(
                markdown_tables.ROOT / "docs/benchmarks.md", f"overhead {name}", report.text
            )
            if report.readme_table:
                markdown_tables.replace_section(markdown_tables.ROOT / "README.md", "overhead", report.readme_table)


if __name__ == "__main__":
    main()
