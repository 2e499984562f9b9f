"""Plays the faults of a schedule, each at its time, and puts everything right again at the end."""

import asyncio
import time
from collections import Counter

import structlog

from chaos.deeds import DEEDS
from chaos.load import Load
from chaos.recorder import Shown
from chaos.schedule import Fault
from chaos.stage import Stage
from chaos.world import World

HEALTHY = 120.0  # seconds for the servers to catch up
log = structlog.get_logger("chaos")


class Faults:
    """`played` counts what was really done, by kind; `left_out` what found nothing to be done to."""

    def __init__(self, world: World, load: Load) -> None:
        self.played: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self._world = world
        self._stage = Stage(world, load)

    @property
    def shown(self) -> list[Shown]:
        """What the sockets of reconnect storms showed."""
        return self._stage.shown

    async def play(self, faults: tuple[Fault, ...]) -> None:
        """All of them; returns when the last one is over."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for fault in faults:
                await asyncio.sleep(max(0.0, began + fault.at - time.monotonic()))
                group.create_task(self._one(fault))

    async def _one(self, fault: Fault) -> None:
        name = f"{fault.kind} {fault.target}".strip()
        log.info("fault", fault=str(fault))
        try:
            done = await DEEDS[fault.kind](self._stage, fault)
        except Exception as error:  # whatever a broken world answers: the run goes on, and the report tells
            log.warning("fault_failed", fault=name, error=repr(error))
            done, name = False, f"{name} ({type(error).__name__})"
        (self.played if done else self.left_out)[name] += 1

    async def calm(self) -> None:
        """Everything runs again, and is as it should be."""
        for process in self._world.processes:
            process.go_on()
        for node in self._world.cluster.nodes:
            if node.paused:
                await node.go_on()
            await node.start()
        await self._world.cluster.healthy(seconds=HEALTHY)
        if self._world.postgres:
            await self._world.postgres.start()
        await self._world.fault()
        await self._world.mend()
