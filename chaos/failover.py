"""Appenders that race for the same sessions while the stream's leader is lost, and what must hold of it afterwards.

`python -m chaos.failover --times 9` says for how long appends are interrupted: the leader killed, paused, stepped down.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Self

import structlog

from chaos.cluster import Cluster
from chaos.collect import read_log
from chaos.folding import Step, folded
from shared.bus import Bus, JetStreamLog
from shared.bus.provision import provision
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.session import Session
from shared.log import SessionAtPosition, commit
from shared.settings import Settings

PATIENCE = 60.0  # seconds that one append may take
PACE = 0.05  # seconds between two appends of a writer
FAULTS = ("kill", "pause", "step_down")


class Acked(NamedTuple):
    """An append that its writer was told was stored, at this position or before, and when it began and ended."""

    writer: str
    session_id: str
    position: int
    event_id: str
    began: float
    ended: float


class Race:
    """`writers` for each of `sessions`, each with a connection of its own, appending for as long as the block lasts."""

    def __init__(self, settings: Settings, *, sessions: int = 3, writers: int = 3) -> None:
        self._buses = {
            f"s{one}-w{two}": Bus(settings, f"race-{one}-{two}") for one in range(sessions) for two in range(writers)
        }
        self._tasks: list[asyncio.Task[None]] = []
        self._moved = asyncio.Condition()
        self.acked: list[Acked] = []

    @property
    def log(self) -> JetStreamLog:
        return next(iter(self._buses.values())).log

    async def __aenter__(self) -> Self:
        await asyncio.gather(*(bus.connect() for bus in self._buses.values()))
        self._tasks = [asyncio.create_task(self._write(writer, bus)) for writer, bus in self._buses.items()]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        await asyncio.gather(*(bus.stop() for bus in self._buses.values()))

    async def stop(self) -> None:
        """No more appends. Raises what went wrong with one."""
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        for error in ended:
            if isinstance(error, Exception):
                raise error

    async def resumed(self, fault: float) -> float:
        """Seconds from `fault` until the last of the writers has had an append stored that it began since."""
        async with self._moved:
            while not (since := self._first_since(fault)):
                await self._moved.wait()
                for task in self._tasks:
                    if task.done():
                        task.result()
        return max(since) - fault

    def _first_since(self, fault: float) -> list[float]:
        first: dict[str, float] = {}
        for acked in self.acked:
            if acked.began > fault:
                first.setdefault(acked.writer, acked.ended)
        return list(first.values()) if len(first) == len(self._buses) else []

    async def _write(self, writer: str, bus: Bus) -> None:
        session_id = writer.partition("-")[0]
        loaded, number = SessionAtPosition(Session(session_id), 0), 0
        while True:
            number += 1
            began = time.monotonic()
            by = CommandMeta(f"user:{writer}", datetime.now(UTC), f"{writer}-{number}")
            command = c.Say(text=by.id or "") if loaded.session.version == 0 else c.Rename(title=by.id or "")
            loaded, event = await commit(bus.log, loaded, command, by, patience=PATIENCE)
            self.acked.append(Acked(writer, session_id, loaded.position, event.id, began, time.monotonic()))
            async with self._moved:
                self._moved.notify_all()
            await asyncio.sleep(PACE)

    async def violations(self) -> list[str]:
        """What is wrong in the log: a broken chain, an id twice, something acknowledged and not there."""
        steps = await self.stored()
        wrong = [f"{step.raw.subject} at {step.raw.position}: {step.reason}" for step in steps if not step.event]
        times = Counter(step.event.id for step in steps if step.event)
        wrong += [f"{name} is stored {count} times" for name, count in times.items() if count > 1]
        return wrong + [f"lost: {one}" for one in lost(self.acked, steps)]

    async def stored(self) -> list[Step]:
        """Every message of the sessions that were raced for, folded."""
        logs = await read_log(self.log)
        return [step for one, raws in logs.items() for step in folded(one, raws).steps]


def lost(acked: Iterable[Acked], steps: Iterable[Step]) -> list[Acked]:
    """What was acknowledged and is no event of the session.

    An append that had to be looked for in the tail tells the tail's end, and others may have come after it.
    """
    there = {step.event.id: step.raw.position for step in steps if step.event}
    return [one for one in acked if not 0 < there.get(one.event_id, 0) <= one.position]


async def lose_leader(cluster: Cluster, how: str) -> tuple[float, Callable[[], Awaitable[None]]]:
    """Lose the leader in one of the ways of `FAULTS`: when that was, and how to have the node back."""
    leader = await cluster.leader()
    began = time.monotonic()
    match how:
        case "kill":
            await leader.kill()
            return began, leader.start
        case "pause":
            await leader.pause()
            return began, leader.go_on
        case _:
            await cluster.step_down()
            return began, cluster.healthy


async def interruptions(folder: Path, times: int) -> dict[str, list[float]]:
    """For each way to lose the leader, how long appends were interrupted each time. Raises AssertionError."""
    found: dict[str, list[float]] = {fault: [] for fault in FAULTS}
    async with Cluster(folder) as cluster:
        settings = Settings(nats_url=cluster.url, nats_replicas=cluster.replicas, parley_home=folder)
        await provision(settings)
        async with Race(settings) as race:
            await race.resumed(time.monotonic())
            for fault in FAULTS * times:
                began, back = await lose_leader(cluster, fault)
                found[fault].append(await race.resumed(began))
                await back()
                await cluster.healthy(seconds=60)
            await race.stop()
            await cluster.agreed()
            assert not (wrong := await race.violations()), wrong
            print(f"{len(race.acked)} appends acknowledged, none lost, none twice, no chain broken")
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=3, help="how often the leader is lost in each way")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(interruptions(Path(folder), options.parse_args().times))
    for fault, seconds in found.items():
        middle, most = statistics.median(seconds), max(seconds)
        print(f"{fault:10} median {middle:.1f} s, longest {most:.1f} s, of {len(seconds)}")
    sys.exit(0 if max(max(seconds) for seconds in found.values()) < 15 else 1)


if __name__ == "__main__":
    main()
