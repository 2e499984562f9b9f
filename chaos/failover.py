"""Writers race for the same sessions while the stream loses its leader. No acknowledged append may be lost.

`python -m chaos.failover --times 9` measures how long appends are interrupted if the leader is killed, paused or made
to step down.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Self

import structlog

from chaos.cluster import Cluster
from chaos.collect import read_log
from chaos.evidence import AcknowledgedCommand, Evidence
from chaos.invariant_check import Violation
from chaos.invariants import check_invariants
from shared.bus import Bus, JetStreamLog
from shared.bus.provision import provision
from shared.domain.kernel import commands as c
from shared.domain.kernel.actors import OPERATOR
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.session import Session
from shared.log import SessionAtPosition, commit
from shared.settings import Settings

APPEND_TIMEOUT = 180.0  # seconds: longer than a cluster is given to agree after two restarts
APPEND_INTERVAL = 0.05  # seconds between two appends of a writer
RACE_INVARIANTS = ("I1", "I2", "I3")  # no session of a race comes to an end
FAULTS = ("kill", "pause", "step_down")


class AcknowledgedAppend(NamedTuple):
    """An append acknowledged as stored at this position or before, and when it began and ended."""

    writer: str
    command: AcknowledgedCommand
    position: int
    began: float
    ended: float


class AppendRace:
    """`writers` for each of `sessions`, each with its own connection. They append until the block ends."""

    def __init__(self, settings: Settings, *, sessions: int = 3, writers: int = 3) -> None:
        self._buses = {
            f"s{session}-w{writer}": Bus(settings, f"race-{session}-{writer}")
            for session in range(sessions)
            for writer in range(writers)
        }
        self._tasks: list[asyncio.Task[None]] = []
        self._appended = asyncio.Condition()
        self.acknowledged: list[AcknowledgedAppend] = []

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
        """Stop appending. Raises the first error of a writer."""
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        for error in ended:
            if isinstance(error, Exception):
                raise error

    async def wait_until_resumed(self, fault: float) -> float:
        """Seconds from `fault` until every writer has stored an append that it began after the fault."""
        async with self._appended:
            while not (resumed_at := self._first_appends_since(fault)):
                await self._appended.wait()
                for task in self._tasks:
                    if task.done():
                        task.result()
        return max(resumed_at) - fault

    def _first_appends_since(self, fault: float) -> list[float]:
        first: dict[str, float] = {}
        for acked in self.acknowledged:
            if acked.began > fault:
                first.setdefault(acked.writer, acked.ended)
        return list(first.values()) if len(first) == len(self._buses) else []

    async def _write(self, writer: str, bus: Bus) -> None:
        session_id = writer.partition("-")[0]
        loaded, number = SessionAtPosition(Session(session_id), 0), 0
        while True:
            number += 1
            began = time.monotonic()
            by = CommandMeta(OPERATOR, datetime.now(UTC), f"{writer}-{number}")
            command = c.Say(text=by.id or "") if loaded.session.version == 0 else c.Rename(title=by.id or "")
            loaded, _ = await commit(bus.log, loaded, command, by, timeout=APPEND_TIMEOUT)
            stored = AcknowledgedCommand(session_id, by.id or "", loaded.session.version)
            self.acknowledged.append(AcknowledgedAppend(writer, stored, loaded.position, began, time.monotonic()))
            async with self._appended:
                self._appended.notify_all()
            await asyncio.sleep(APPEND_INTERVAL)

    async def violations(self) -> list[Violation]:
        """What is wrong in the log: lost appends, broken chains, events stored twice."""
        stored = [append.command for append in self.acknowledged]
        results = check_invariants(Evidence(log=await read_log(self.log), acknowledged=stored), grace=0)
        return [violation for result in results if result.name in RACE_INVARIANTS for violation in result.violations]


async def lose_leader(cluster: Cluster, how: str) -> tuple[float, Callable[[], Awaitable[None]]]:
    """Make the leader fail in one of the ways of `FAULTS`. Returns the time, and a function that restores the node."""
    leader = await cluster.leader()
    began = time.monotonic()
    match how:
        case "kill":
            await leader.kill()
            return began, leader.start
        case "pause":
            await leader.pause()
            return began, leader.start
        case _:
            await cluster.step_down()
            return began, cluster.wait_until_healthy


async def measure_interruptions(folder: Path, times: int) -> dict[str, list[float]]:
    """Seconds of interruption by kind of fault. Raises AssertionError if an append is lost or a chain broken."""
    interruptions: dict[str, list[float]] = {fault: [] for fault in FAULTS}
    async with Cluster(folder) as cluster:
        settings = Settings(nats_url=cluster.url, nats_replicas=cluster.replicas, parley_home=folder)
        await provision(settings)
        async with AppendRace(settings) as race:
            await race.wait_until_resumed(time.monotonic())
            for fault in FAULTS * times:
                began, back = await lose_leader(cluster, fault)
                interruptions[fault].append(await race.wait_until_resumed(began))
                await back()
                await cluster.wait_until_healthy()
            await race.stop()
            await cluster.wait_until_replicated()
            assert not (problems := await race.violations()), problems
            print(f"{len(race.acknowledged)} appends acknowledged, none lost, none twice, no chain broken")
    return interruptions


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=3, help="number of faults of each kind")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with tempfile.TemporaryDirectory() as folder:
        interruptions = asyncio.run(measure_interruptions(Path(folder), options.parse_args().times))
    for fault, seconds in interruptions.items():
        middle, most = statistics.median(seconds), max(seconds)
        print(f"{fault:10} median {middle:.1f} s, longest {most:.1f} s, of {len(seconds)}")
    sys.exit(0 if max(max(seconds) for seconds in interruptions.values()) < 15 else 1)


if __name__ == "__main__":
    main()
