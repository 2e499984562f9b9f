"""Recorded sessions through the services, and the same events through bare NATS: latency, throughput, CPU, bytes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import nats
from nats.aio.client import Client

from bench.overhead import processes
from bench.overhead.load_generator import LoadGenerator, LoadResult, StageTime
from bench.overhead.recorded_events import Recording, new_session_ids, save
from bench.overhead.recording import record_session
from bench.overhead.workloads import CONVERSATION
from shared.bus.topology import SESSIONS
from shared.services import WORKERS

Side = Literal["parley", "bare"]
WARM_UP_SESSIONS = 20  # at least; at most as many as are measured


class PipelineRun(NamedTuple):
    """One measured run. `stored_bytes`: growth of the log, with subjects and headers."""

    concurrency: int
    sessions: int
    result: LoadResult
    cpu_seconds: Mapping[str, float]  # seconds, by process
    stored_bytes: int

    @property
    def rate(self) -> float:
        return self.sessions / self.result.seconds

    @property
    def cpu_ms(self) -> float:
        """CPU time of all processes for one session."""
        return 1000 * sum(self.cpu_seconds.values()) / self.sessions

    def cpu_ms_of(self, process: str) -> float:
        """CPU time of one process for one session; 0 if it takes no part."""
        return 1000 * self.cpu_seconds.get(process, 0) / self.sessions


def workers_of(events: Recording) -> list[str]:
    """The services that take part in a session."""
    return [name for name in WORKERS if name in {line.actor for line in events}]


async def run_pipeline(
    folder: Path, side: Side, events: Recording, *, sync_always: bool, concurrency_plan: Mapping[int, int]
) -> list[PipelineRun]:
    """One run for each entry of `plan` (sessions by concurrency), on a new server with new processes."""
    async with processes.nats_server(folder, sync_always=sync_always) as (place, server):
        save(events, folder / "lines.json")
        workers = workers_of(events)
        is_parley = side == "parley"
        specs = (
            processes.service_programs(place, workers)
            if is_parley
            else processes.bare_programs(place, workers, folder / "lines.json")
        )
        async with processes.running(place, specs) as started, await nats.connect(place.url) as client:
            results = []
            for concurrency, sessions in concurrency_plan.items():
                for count in (
                    min(max(WARM_UP_SESSIONS, concurrency), sessions),
                    sessions,
                ):  # the first round is the warm-up
                    before = await _log_bytes(client)
                    person = LoadGenerator(client, events, guarded=is_parley)
                    with processes.cpu_times({"nats": server, **started}) as cpu:
                        played = await person.run(new_session_ids(count), concurrency)
                results.append(PipelineRun(concurrency, sessions, played, cpu, await _log_bytes(client) - before))
            return results


async def _log_bytes(client: Client) -> int:
    return (await client.jetstream().stream_info(SESSIONS)).state.bytes


async def run_long_sessions(place: processes.BenchServer, sessions: int, exchanges: int) -> list[StageTime]:
    """Run conversations one after the other, each with `exchanges` requests."""
    events = await record_session(place, CONVERSATION, exchanges)
    async with await nats.connect(place.url) as client:
        return (await LoadGenerator(client, events, guarded=True).run(new_session_ids(sessions), 1)).stages


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile; `share` is from 0 to 1."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
