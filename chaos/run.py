"""One run: load and faults, then recovery, then the evidence and the check of the invariants."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from chaos.collect import collect_evidence
from chaos.deployment import GRACE_SECONDS, Deployment, DeploymentShape, deployment
from chaos.faults import INJECTORS, FaultContext
from chaos.invariants import check_invariants
from chaos.load import Load
from chaos.process import load_factor
from chaos.report import ChaosReport
from chaos.schedule import ScheduledFault, schedule

log = structlog.get_logger("chaos")
RECOVERY_TIMEOUT = 180.0  # seconds for sessions to end once everything runs again
TICK = 0.1


@dataclass(frozen=True)
class RunConfig:
    """`fault_interval`: mean seconds between two faults."""

    seconds: float = 60.0
    seed: int = 7
    sessions: int = 1000
    concurrency: int = 16
    fault_interval: float = 1.2
    shape: DeploymentShape = field(default_factory=DeploymentShape)

    @property
    def faults(self) -> tuple[ScheduledFault, ...]:
        cluster, postgres = self.shape.nodes > 1, self.shape.postgres
        return schedule(self.seed, self.seconds, interval=self.fault_interval, cluster=cluster, postgres=postgres)


class StallWatch:
    """Measures how long the suite's own event loop is blocked: events in that time are noticed late."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(TICK)
            self.longest = max(self.longest, time.monotonic() - before - TICK)


async def inject(context: FaultContext, faults: tuple[ScheduledFault, ...]) -> None:
    """Inject all faults at their times. Returns when the last one is over."""
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for fault in faults:
            await asyncio.sleep(max(0.0, began + fault.at - time.monotonic()))
            group.create_task(_inject(context, fault))


async def _inject(context: FaultContext, fault: ScheduledFault) -> None:
    name = f"{fault.kind} {fault.target}".strip()
    log.info("fault", fault=str(fault))
    try:
        done = await INJECTORS[fault.kind](context, fault)
    except Exception as error:  # the deployment is broken on purpose: go on, and count it as skipped
        log.warning("fault_failed", fault=name, error=repr(error))
        done, name = False, f"{name} ({type(error).__name__})"
    (context.injected if done else context.skipped)[name] += 1


async def run(config: RunConfig, folder: Path) -> ChaosReport:
    """Run to the end. The deployment's files remain."""
    stalls, began = StallWatch(), time.monotonic()
    watching = asyncio.create_task(stalls.run())
    try:
        async with deployment(folder, config.shape) as running:
            log.info("world_up", seconds=round(time.monotonic() - began, 1), folder=str(folder))
            load = Load(running, seed=config.seed, concurrency=config.concurrency, max_sessions=config.sessions)
            context = FaultContext(running, load)
            load.start()
            async with _keep_load_for(config.seconds, load):
                await inject(context, config.faults)
            recovery_seconds = await _recover(running, load)
            watching.cancel()  # collecting the evidence blocks the loop, and nothing is timed meanwhile
            evidence = await collect_evidence(running, load.all_users, context.socket_records)
        evidence = replace(evidence, exits=running.exits)  # also those at the deployment's end
    finally:
        watching.cancel()
    verdicts = await asyncio.to_thread(check_invariants, evidence, grace=GRACE_SECONDS)
    return ChaosReport(
        context.injected, context.skipped, evidence, verdicts, load.errors, recovery_seconds, stalls.longest
    )


@asynccontextmanager
async def _keep_load_for(seconds: float, load: Load) -> AsyncIterator[None]:
    """Let users arrive until the block ends, for at least `seconds`."""
    end = time.monotonic() + seconds
    yield
    await asyncio.sleep(max(0.0, end - time.monotonic()))
    load.close()


async def _recover(deployed: Deployment, load: Load) -> float:
    """Restore the deployment, and wait until all sessions have ended and consumers are drained. Returns the seconds
    until the last session ended."""
    began = time.monotonic()
    await deployed.restore()
    timeout = RECOVERY_TIMEOUT * load_factor()
    if missing := await deployed.wait_for_missing(timeout):
        log.error("still_away", what=missing)
    await load.wait_until_ended(timeout)
    took = time.monotonic() - began
    await deployed.wait_until_drained()
    return took
