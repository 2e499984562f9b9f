"""Recorded sessions through the services, and the same events through bare NATS: latency, throughput, CPU, bytes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import nats
from nats.aio.client import Client

from bench.overhead import world
from bench.overhead.kinds import CONVERSATION
from bench.overhead.lines import Lines, ids, save
from bench.overhead.person import Person, Played, Stage
from bench.overhead.recording import recorded
from shared.bus.topology import SESSIONS
from shared.services import WORKERS

Side = Literal["parley", "bare"]
WARM = 20  # sessions before the clock starts, or as many as run at once


class Run(NamedTuple):
    """`sessions` in all, `concurrency` at once. `stored`: bytes by which the log grew, with subjects and headers."""

    concurrency: int
    sessions: int
    played: Played
    cpu: Mapping[str, float]  # seconds, by process
    stored: int

    @property
    def rate(self) -> float:
        return self.sessions / self.played.seconds

    @property
    def cpu_ms(self) -> float:
        """Of all processes, for one session."""
        return 1000 * sum(self.cpu.values()) / self.sessions

    def cpu_ms_of(self, process: str) -> float:
        """Of one process, for one session; 0 if it takes no part."""
        return 1000 * self.cpu.get(process, 0) / self.sessions


def workers_of(lines: Lines) -> list[str]:
    """The services that take part in a session."""
    return [name for name in WORKERS if name in {line.by for line in lines}]


async def runs(folder: Path, side: Side, lines: Lines, *, always: bool, plan: Mapping[int, int]) -> list[Run]:
    """One run for each entry of `plan` (sessions by how many at once), all on a server and processes of their own."""
    async with world.server(folder, always=always) as (place, server):
        save(lines, folder / "lines.json")
        workers = workers_of(lines)
        is_parley = side == "parley"
        processes = world.services(place, workers) if is_parley else world.bare(place, workers, folder / "lines.json")
        async with world.running(processes), await nats.connect(place.url) as client:
            results = []
            for concurrency, sessions in plan.items():
                for count in (min(max(WARM, concurrency), sessions), sessions):  # the first round only warms up
                    before = await _stored(client)
                    person = Person(client, lines, guarded=is_parley)
                    with world.clocked({"nats": server, **processes}) as cpu:
                        played = await person.play(ids(count), concurrency)
                results.append(Run(concurrency, sessions, played, cpu, await _stored(client) - before))
            return results


async def _stored(client: Client) -> int:
    return (await client.jetstream().stream_info(SESSIONS)).state.bytes


async def long_sessions(place: world.Place, sessions: int, exchanges: int) -> list[Stage]:
    """One conversation after the other, each with so many exchanges."""
    lines = await recorded(place, CONVERSATION, exchanges)
    async with await nats.connect(place.url) as client:
        return (await Person(client, lines, guarded=True).play(ids(sessions), 1)).stages


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all is not above."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
