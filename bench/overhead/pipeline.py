"""Conversations through the services, and the same events through bare NATS: latency per stage, throughput, CPU."""

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import nats

from bench.overhead import world
from bench.overhead.conversation import ID, played
from bench.overhead.person import Person, Played, Stage

Kind = Literal["parley", "bare"]
WARM = 20  # conversations before the clock starts, or as many as run at once


class Run(NamedTuple):
    """So many conversations, so many at once."""

    concurrency: int
    sessions: int
    played: Played
    cpu: Mapping[str, float]  # seconds, by process

    @property
    def rate(self) -> float:
        return self.sessions / self.played.seconds

    @property
    def cpu_ms(self) -> float:
        """Of all processes, for one conversation."""
        return 1000 * sum(self.cpu.values()) / self.sessions


def ids(count: int) -> list[str]:
    """As long as the id that the conversation was written down with."""
    return [secrets.token_hex(len(ID))[: len(ID)] for _ in range(count)]


async def runs(folder: Path, kind: Kind, *, always: bool, plan: Mapping[int, int]) -> list[Run]:
    """`plan`: how many conversations, by how many at once. A server and processes of its own."""
    lines = played()[1]
    async with world.server(folder, always=always) as (place, server):
        processes = world.services(place) if kind == "parley" else world.bare(place)
        async with world.running(processes), await nats.connect(place.url) as client:
            found = []
            for concurrency, sessions in plan.items():
                for count in (min(max(WARM, concurrency), sessions), sessions):  # the first round only warms up
                    person = Person(client, lines, guarded=kind == "parley")
                    with world.clocked({"nats": server, **processes}) as cpu:
                        told = await person.play(ids(count), concurrency)
                found.append(Run(concurrency, sessions, told, cpu))
            return found


async def long_sessions(place: world.Place, sessions: int, exchanges: int) -> list[Stage]:
    """One session after the other, each with so many exchanges."""
    async with await nats.connect(place.url) as client:
        lines = played(exchanges)[1]
        return (await Person(client, lines, guarded=True).play(ids(sessions), 1)).stages


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all is not above."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
