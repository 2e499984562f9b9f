"""One run: people and faults side by side, then quiet, then the evidence and what it proves."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from chaos import collect
from chaos.evidence import Evidence
from chaos.faults import Faults
from chaos.invariants import Verdict, judge
from chaos.load import Load
from chaos.poison import MARK
from chaos.process import crowd
from chaos.report import Report
from chaos.schedule import Fault, schedule
from chaos.world import ACK_WAIT, GRACE, Shape, World, world
from shared.services import CONSUMERS

log = structlog.get_logger("chaos")
QUIET = 180.0  # seconds that sessions have to end once everything runs again
DRAINED = 90.0
TICK = 0.1


@dataclass(frozen=True)
class Plan:
    """What is to be run. `gap`: seconds between two faults, on average."""

    seconds: float = 60.0
    seed: int = 7
    sessions: int = 1000
    at_once: int = 16
    gap: float = 1.2
    shape: Shape = field(default_factory=Shape)

    @property
    def faults(self) -> tuple[Fault, ...]:
        cluster, postgres = self.shape.nodes > 1, self.shape.postgres
        return schedule(self.seed, self.seconds, gap=self.gap, ack_wait=ACK_WAIT, cluster=cluster, postgres=postgres)


class Ticker:
    """How long the suite itself stands still: whatever happens meanwhile is seen late."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def tick(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(TICK)
            self.longest = max(self.longest, time.monotonic() - before - TICK)


async def run(plan: Plan, folder: Path) -> Report:
    """To its end; the world is gone on return, its files are there."""
    ticker, began = Ticker(), time.monotonic()
    ticking = asyncio.create_task(ticker.tick())
    try:
        async with world(folder, plan.shape) as it:
            log.info("world_up", seconds=round(time.monotonic() - began, 1), folder=str(folder))
            load = Load(it, seed=plan.seed, at_once=plan.at_once, most=plan.sessions)
            faults = Faults(it, load)
            load.begin()
            async with _until(plan.seconds, load):
                await faults.play(plan.faults)
            quiet = await _quiet(it, load, faults)
            ticking.cancel()  # what follows is much work in one go, and no time is taken meanwhile
            evidence = await _evidence(it, load, faults)
        evidence = evidence.ended(it.exits, ticker.longest)
    finally:
        ticking.cancel()
    verdicts: list[Verdict] = await asyncio.to_thread(judge, evidence, grace=GRACE)
    return Report(plan.seed, faults.played, faults.left_out, evidence, verdicts, load.errors, quiet)


@asynccontextmanager
async def _until(seconds: float, load: Load) -> AsyncIterator[None]:
    """People come for so long, at least."""
    end = time.monotonic() + seconds
    yield
    await asyncio.sleep(max(0.0, end - time.monotonic()))
    load.close()


async def _quiet(it: World, load: Load, faults: Faults) -> float:
    """Everything runs again, and everybody comes to an end; the seconds that took."""
    began = time.monotonic()
    await faults.calm()
    patience = QUIET * crowd()
    if away := await it.missing(patience):
        log.error("still_away", what=away)
    await load.ended(patience)
    took = time.monotonic() - began
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAINED * crowd()):
            while any((await _waiting(it)).values()):  # noqa: ASYNC110  the broker tells nobody
                await asyncio.sleep(0.2)
    return took


async def _waiting(it: World) -> dict[str, int]:
    return {name: await it.bus.outstanding(name, stream) for stream, name, _ in CONSUMERS if stream != "TIMERS"}


async def _evidence(it: World, load: Load, faults: Faults) -> Evidence:
    logs = await collect.read_log(it.bus.log)
    effects = await collect.read_effects(it.settings.retail_url)
    worlds, replayed, answers = await collect.read_worlds(it.settings.retail_url, effects)
    poison = frozenset(raw.position for raws in logs.values() for raw in raws if MARK in raw.headers)
    return Evidence(
        log=logs,
        poison=poison,
        clustered=it.settings.nats_replicas > 1,
        shown=[*load.shown, *faults.shown],
        acknowledged=load.acknowledged,
        left=load.left,
        rows=await collect.read_rows(it.settings.sql_url),
        folded=await collect.read_folded(it.bus.log, it.folder),
        effects=effects,
        worlds=worlds,
        replayed=replayed,
        answers=answers,
        notes=collect.read_notes(it.notes),
        served=collect.read_served(it.served),
        waiting=await _waiting(it),
    )
