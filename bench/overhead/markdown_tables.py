"""The benchmark tables of docs/benchmarks.md and README.md. The text between their marks is generated."""

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from bench.overhead.growth import GrowthPoint
from bench.overhead.load_generator import StageTime
from bench.overhead.pipeline import PipelineRun, percentile
from bench.overhead.recorded_events import Recording
from cli.operate.nats_server import find_binary, version_of
from shared.services import WORKERS

ROOT = Path(__file__).parents[2]
AUTHORS = ("person", *WORKERS)
PACKAGES = ("nats-py", "faststream", "pydantic", "sqlalchemy", "uvloop")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)]) + "\n"


def describe_machine() -> str:
    """The machine and the versions of the software."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    output = subprocess.run([find_binary()[0], "--version"], capture_output=True, text=True, check=True).stdout
    server = ".".join(map(str, version_of(output)))
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}, "
        f"nats-server {server}, {packages}, SQLite"
    )


# --- stages


def stage_table(parley: Sequence[PipelineRun], bare: Sequence[PipelineRun]) -> str:
    """Stage times in milliseconds, at concurrency 1."""
    of_parley, of_bare = parley[0].result.stages, bare[0].result.stages
    rows = []
    for name in (*dict.fromkeys(stage.service for stage in of_parley), "all"):
        a, b = ([s for s in stages if name in (s.service, "all")] for stages in (of_parley, of_bare))
        rows.append([name, *_ratio_cells([s.first_append_ms for s in a], [s.first_append_ms for s in b])])
        rows.append([f"{name}, whole", *_ratio_cells([s.total_ms for s in a], [s.total_ms for s in b])])
    return table(["ms, one conversation at a time", "p50", "p99", "bare p50", "bare p99", "ratio of p50"], rows)


def _ratio_cells(mine: Sequence[float], limit: Sequence[float]) -> list[str]:
    a, b = percentile(mine, 0.5), percentile(limit, 0.5)
    return [f"{a:.2f}", f"{percentile(mine, 0.99):.2f}", f"{b:.2f}", f"{percentile(limit, 0.99):.2f}", f"{a / b:.1f}"]


def throughput_table(parley: Sequence[PipelineRun], bare: Sequence[PipelineRun]) -> str:
    head = [
        "conversations at once",
        "a second",
        "bare",
        "share of bare",
        "CPU ms a conversation",
        "bare",
        "of which plan_store",
    ]
    rows = [
        [
            mine.concurrency,
            f"{mine.rate:.0f}",
            f"{limit.rate:.0f}",
            f"1/{limit.rate / mine.rate:.1f}",
            f"{mine.cpu_ms:.1f}",
            f"{limit.cpu_ms:.1f}",
            f"{mine.cpu_ms_of('plan_store'):.1f}",
        ]
        for mine, limit in zip(parley, bare, strict=True)
    ]
    return table(head, rows)


README_HEAD = (
    "the log is flushed",
    "ms a stage, p50",
    "bare NATS",
    "conversations/s, 32 at once",
    "bare NATS",
    "CPU ms a conversation",
)


def readme_row(how: str, parley: Sequence[PipelineRun], bare: Sequence[PipelineRun]) -> list[str]:
    """A row of the README's table: a stage at concurrency 1, and the throughput of the second run."""
    a, b = (percentile([stage.total_ms for stage in runs[0].result.stages], 0.5) for runs in (parley, bare))
    return [how, f"{a:.1f}", f"{b:.1f}", f"{parley[1].rate:.0f}", f"{bare[1].rate:.0f}", f"{parley[1].cpu_ms:.1f}"]


def exchange_table(stages: Sequence[StageTime], early: int, late: int) -> str:
    """Stage times in an early and in a late exchange of long sessions."""
    rows = []
    for number in (early, late):
        whole = [stage.total_ms for stage in stages if stage.exchange == number]
        rows.append([f"exchange {number}", f"{percentile(whole, 0.5):.2f}", f"{percentile(whole, 0.99):.2f}"])
    return table(["ms a stage, one session", "p50", "p99"], rows)


def growth_table(points: Sequence[GrowthPoint]) -> str:
    rows = [
        [
            f"{point.stored_sessions:,}",
            f"{percentile(whole, 0.5):.2f}",
            f"{percentile(whole, 0.99):.2f}",
            f"{point.start_seconds:.1f}",
        ]
        for point in points
        for whole in [[stage.total_ms for stage in point.stages]]
    ]
    return table(["sessions stored", "ms a stage: p50", "p99", "start of the services: s"], rows)


def gateway_table(tokens: Sequence[float], sockets: Mapping[int, float], starts: Sequence[float]) -> str:
    rows = [
        ["first token of the model to the socket, p50: ms", f"{percentile(tokens, 0.5):.1f}"],
        ["the same, p99: ms", f"{percentile(tokens, 0.99):.1f}"],
        *([f"an idle socket, {count:,} of them: kB", f"{each:.0f}"] for count, each in sockets.items()),
        ["`parley up` to `ready`, an empty folder: s", f"{starts[0]:.1f}"],
        *([["the same again: s", f"{min(starts[1:]):.1f}"]] if starts[1:] else []),
    ]
    return table(["The rest", ""], rows)


# --- kinds of sessions


class WorkloadRuns(NamedTuple):
    """A workload's recording, and its runs at low and at high concurrency."""

    events: Recording
    parley: Sequence[PipelineRun]
    bare: Sequence[PipelineRun]


def workload_tables(measured: Mapping[str, WorkloadRuns]) -> str:
    """Tables of throughput, CPU time by process, stage times and stored bytes."""
    parts = (_rate_table(measured), _cpu_table(measured), _stage_medians(measured), _stored_bytes(measured))
    return "\n".join(parts)


def _rate_table(measured: Mapping[str, WorkloadRuns]) -> str:
    head = ["sessions", "at once", "stages", "a second", "bare", "share of bare", "CPU ms a session", "bare", "of bare"]
    rows = [
        [
            name,
            mine.concurrency,
            len(mine.result.stages) // mine.sessions,
            f"{mine.rate:.1f}",
            f"{limit.rate:.0f}",
            f"1/{limit.rate / mine.rate:.1f}",
            f"{mine.cpu_ms:.1f}",
            f"{limit.cpu_ms:.1f}",
            f"{mine.cpu_ms / limit.cpu_ms:.1f}" if limit.cpu_ms else "–",  # the kernel counts in steps of 10 ms
        ]
        for name, runs in measured.items()
        for mine, limit in zip(runs.parley, runs.bare, strict=True)
    ]
    return table(head, rows)


def _cpu_table(measured: Mapping[str, WorkloadRuns]) -> str:
    processes = (*WORKERS, "plan_store", "nats", "person")
    rows = [
        [name, run.concurrency, *(f"{run.cpu_ms_of(process):.1f}" for process in processes)]
        for name, runs in measured.items()
        for run in runs.parley
    ]
    return table(["CPU ms a session", "at once", *processes], rows)


def _stage_medians(measured: Mapping[str, WorkloadRuns]) -> str:
    """Median stage time of each service at concurrency 1, and the number of its stages in a session."""
    rows = []
    for name, runs in measured.items():
        of_parley, of_bare = runs.parley[0].result.stages, runs.bare[0].result.stages
        cells = [_median_cell(of_parley, service, runs.parley[0].sessions) for service in WORKERS]
        a, b = (percentile([stage.total_ms for stage in stages], 0.5) for stages in (of_parley, of_bare))
        rows.append([name, *cells, f"{a:.1f}", f"{b:.1f}", f"{a / b:.1f}"])
    return table(["ms a whole stage, p50", *WORKERS, "all", "bare", "ratio"], rows)


def _median_cell(stages: Sequence[StageTime], service: str, sessions: int) -> str:
    whole = [stage.total_ms for stage in stages if stage.service == service]
    return f"{len(whole) // sessions} × {percentile(whole, 0.5):.1f}" if whole else ""


def _stored_bytes(measured: Mapping[str, WorkloadRuns]) -> str:
    """Number of messages and bytes of their bodies, by author and type."""
    columns = {name: _body_sizes(runs.events) for name, runs in measured.items()}
    order = sorted({key for bodies in columns.values() for key in bodies}, key=lambda key: (AUTHORS.index(key[0]), key))
    rows = [[" ".join(key), *(_count_and_bytes(bodies.get(key, ())) for bodies in columns.values())] for key in order]
    rows.append(
        [
            "all",
            *(_count_and_bytes([size for sizes in bodies.values() for size in sizes]) for bodies in columns.values()),
        ]
    )
    rows.append(
        [
            "in the log: bytes",
            *(f"{runs.parley[-1].stored_bytes / runs.parley[-1].sessions:,.0f}" for runs in measured.values()),
        ]
    )
    return table(["messages: bytes of their bodies", *measured], rows)


def _body_sizes(events: Recording) -> dict[tuple[str, str], list[int]]:
    sizes: dict[tuple[str, str], list[int]] = {}
    for event in events:
        sizes.setdefault(("person" if event.is_by_user else event.actor, event.type), []).append(len(event.body))
    return sizes


def _count_and_bytes(sizes: Sequence[int]) -> str:
    return f"{len(sizes)}: {sum(sizes):,}" if sizes else ""


# --- into the documents


def replace_section(document: Path, mark: str, text: str) -> None:
    """Replace the text between `<!-- mark -->` and `<!-- /mark -->`. Raises ValueError if the marks are missing."""
    old = document.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.DOTALL)
    new, count = pattern.subn(lambda match: f"{match[1]}{text}{match[2]}", old)
    if count != 1:
        raise ValueError(f"{document.name} has no marks for {mark}")
    document.write_text(new, encoding="utf-8")
