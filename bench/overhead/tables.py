"""The tables of docs/performance.md and README.md; all text between their marks is generated."""

import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from bench.overhead.growth import Grown
from bench.overhead.lines import Lines
from bench.overhead.person import Stage
from bench.overhead.pipeline import Run, percentile
from cli.nats_server import find_binary, version_of
from shared.services import WORKERS

ROOT = Path(__file__).parents[2]
AUTHORS = ("person", *WORKERS)
PACKAGES = ("nats-py", "faststream", "pydantic", "sqlalchemy", "uvloop")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)]) + "\n"


def machine() -> str:
    """What it was measured on."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    shown = subprocess.run([find_binary()[0], "--version"], capture_output=True, text=True, check=True).stdout
    server = ".".join(map(str, version_of(shown)))
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}, "
        f"nats-server {server}, {packages}, SQLite"
    )


# --- stages


def per_stage(parley: Sequence[Run], bare: Sequence[Run]) -> str:
    """At concurrency 1, milliseconds."""
    of_parley, of_bare = parley[0].played.stages, bare[0].played.stages
    rows = []
    for name in (*dict.fromkeys(stage.service for stage in of_parley), "all"):
        a, b = ([s for s in stages if name in (s.service, "all")] for stages in (of_parley, of_bare))
        rows.append([name, *_pair([s.first for s in a], [s.first for s in b])])
        rows.append([f"{name}, whole", *_pair([s.whole for s in a], [s.whole for s in b])])
    return table(["ms, one conversation at a time", "p50", "p99", "bare p50", "bare p99", "ratio of p50"], rows)


def _pair(mine: Sequence[float], limit: Sequence[float]) -> list[str]:
    a, b = percentile(mine, 0.5), percentile(limit, 0.5)
    return [f"{a:.2f}", f"{percentile(mine, 0.99):.2f}", f"{b:.2f}", f"{percentile(limit, 0.99):.2f}", f"{a / b:.1f}"]


def throughput(parley: Sequence[Run], bare: Sequence[Run]) -> str:
    head = ["conversations at once", "a second", "bare", "share of bare", "CPU ms each", "bare", "of which plan_store"]
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


SHORT = (
    "the log is flushed",
    "ms a stage, p50",
    "bare NATS",
    "conversations/s, 32 at once",
    "bare NATS",
    "CPU ms each",
)


def in_short(how: str, parley: Sequence[Run], bare: Sequence[Run]) -> list[str]:
    """One line of the README: a stage alone, and the throughput of the second concurrency."""
    a, b = (percentile([stage.whole for stage in runs[0].played.stages], 0.5) for runs in (parley, bare))
    return [how, f"{a:.1f}", f"{b:.1f}", f"{parley[1].rate:.0f}", f"{bare[1].rate:.0f}", f"{parley[1].cpu_ms:.1f}"]


def exchanges(stages: Sequence[Stage], early: int, late: int) -> str:
    """The sum of a session's three stages, in that exchange."""
    rows = []
    for number in (early, late):
        whole = [stage.whole for stage in stages if stage.exchange == number]
        rows.append([f"exchange {number}", f"{percentile(whole, 0.5):.2f}", f"{percentile(whole, 0.99):.2f}"])
    return table(["ms a stage, one session", "p50", "p99"], rows)


def grown(found: Sequence[Grown]) -> str:
    rows = [
        [f"{one.stored:,}", f"{percentile(whole, 0.5):.2f}", f"{percentile(whole, 0.99):.2f}", f"{one.start:.1f}"]
        for one in found
        for whole in [[stage.whole for stage in one.stages]]
    ]
    return table(["sessions stored", "ms a stage: p50", "p99", "start of the services: s"], rows)


def rest(tokens: Sequence[float], sockets: Mapping[int, float], starts: Sequence[float]) -> str:
    rows = [
        ["first token of the model to the socket, p50: ms", f"{percentile(tokens, 0.5):.1f}"],
        ["the same, p99: ms", f"{percentile(tokens, 0.99):.1f}"],
        *([f"an idle socket, {count:,} of them: kB", f"{each:.0f}"] for count, each in sockets.items()),
        ["`parley up` to `ready`, an empty folder: s", f"{starts[0]:.1f}"],
        *([["the same again: s", f"{min(starts[1:]):.1f}"]] if starts[1:] else []),
    ]
    return table(["The rest", ""], rows)


# --- kinds of sessions


class Measured(NamedTuple):
    """A kind of session: its recorded events, and its runs with one and with many at once."""

    lines: Lines
    parley: Sequence[Run]
    bare: Sequence[Run]


def kinds(measured: Mapping[str, Measured]) -> str:
    """Sessions a second, CPU time by process, the length of a stage, and what is stored."""
    parts = (_rates(measured), _cpu(measured), _stage_times(measured), _stored(measured))
    return "\n".join(parts)


def _rates(measured: Mapping[str, Measured]) -> str:
    head = ["sessions", "at once", "stages", "a second", "bare", "share of bare", "CPU ms each", "bare", "of bare"]
    rows = [
        [
            name,
            mine.concurrency,
            len(mine.played.stages) // mine.sessions,
            f"{mine.rate:.1f}",
            f"{limit.rate:.0f}",
            f"1/{limit.rate / mine.rate:.1f}",
            f"{mine.cpu_ms:.1f}",
            f"{limit.cpu_ms:.1f}",
            f"{mine.cpu_ms / limit.cpu_ms:.1f}",
        ]
        for name, one in measured.items()
        for mine, limit in zip(one.parley, one.bare, strict=True)
    ]
    return table(head, rows)


def _cpu(measured: Mapping[str, Measured]) -> str:
    processes = (*WORKERS, "plan_store", "nats", "person")
    rows = [
        [name, run.concurrency, *(f"{run.cpu_ms_of(process):.1f}" for process in processes)]
        for name, one in measured.items()
        for run in one.parley
    ]
    return table(["CPU ms a session", "at once", *processes], rows)


def _stage_times(measured: Mapping[str, Measured]) -> str:
    """One session at a time: of each service the median of a stage, and how many of them a session has."""
    rows = []
    for name, one in measured.items():
        of_parley, of_bare = one.parley[0].played.stages, one.bare[0].played.stages
        cells = [_median(of_parley, service, one.parley[0].sessions) for service in WORKERS]
        a, b = (percentile([stage.whole for stage in stages], 0.5) for stages in (of_parley, of_bare))
        rows.append([name, *cells, f"{a:.1f}", f"{b:.1f}", f"{a / b:.1f}"])
    return table(["ms a whole stage, p50", *WORKERS, "all", "bare", "ratio"], rows)


def _median(stages: Sequence[Stage], service: str, sessions: int) -> str:
    whole = [stage.whole for stage in stages if stage.service == service]
    return f"{len(whole) // sessions} × {percentile(whole, 0.5):.1f}" if whole else ""


def _stored(measured: Mapping[str, Measured]) -> str:
    """Messages and bytes of their bodies, by author and type."""
    columns = {name: _bodies(one.lines) for name, one in measured.items()}
    order = sorted({key for bodies in columns.values() for key in bodies}, key=lambda key: (AUTHORS.index(key[0]), key))
    rows = [[" ".join(key), *(_sizes(bodies.get(key, ())) for bodies in columns.values())] for key in order]
    rows.append(
        ["all", *(_sizes([size for sizes in bodies.values() for size in sizes]) for bodies in columns.values())]
    )
    rows.append(
        ["in the log: bytes", *(f"{one.parley[-1].stored / one.parley[-1].sessions:,.0f}" for one in measured.values())]
    )
    return table(["messages: bytes of their bodies", *measured], rows)


def _bodies(lines: Lines) -> dict[tuple[str, str], list[int]]:
    sizes: dict[tuple[str, str], list[int]] = {}
    for line in lines:
        sizes.setdefault(("person" if line.is_person else line.by, line.type), []).append(len(line.body))
    return sizes


def _sizes(sizes: Sequence[int]) -> str:
    return f"{len(sizes)}: {sum(sizes):,}" if sizes else ""


# --- into the documents


def put(document: Path, mark: str, text: str) -> None:
    """Replace what stands between `<!-- mark -->` and `<!-- /mark -->`."""
    old = document.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)", re.DOTALL)
    new, count = pattern.subn(lambda found: f"{found[1]}{text}{found[2]}", old)
    if count != 1:
        raise ValueError(f"{document.name} has no place for {mark}")
    document.write_text(new, encoding="utf-8")
