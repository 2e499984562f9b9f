"""Injects the faults of a schedule at their times, and restores the deployment at the end."""

import asyncio
import time
from collections import Counter

import structlog

from chaos.deployment import Deployment
from chaos.faults import INJECTORS, FaultContext
from chaos.load import Load
from chaos.schedule import ScheduledFault
from chaos.socket_recorder import SocketRecord

HEALTHY_TIMEOUT = 120.0  # seconds for the servers to catch up
log = structlog.get_logger("chaos")


class FaultRunner:
    """`injected` counts faults by kind and target; `skipped` those that had no target or failed."""

    def __init__(self, deployment: Deployment, load: Load) -> None:
        self.injected: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self._deployment = deployment
        self._context = FaultContext(deployment, load)

    @property
    def socket_records(self) -> list[SocketRecord]:
        """What the sockets of reconnect storms received."""
        return self._context.socket_records

    async def run(self, faults: tuple[ScheduledFault, ...]) -> None:
        """Inject all faults. Returns when the last one is over."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for fault in faults:
                await asyncio.sleep(max(0.0, began + fault.at - time.monotonic()))
                group.create_task(self._inject(fault))

    async def _inject(self, fault: ScheduledFault) -> None:
        name = f"{fault.kind} {fault.target}".strip()
        log.info("fault", fault=str(fault))
        try:
            done = await INJECTORS[fault.kind](self._context, fault)
        except Exception as error:  # the deployment is broken on purpose: go on, and count it as skipped
            log.warning("fault_failed", fault=name, error=repr(error))
            done, name = False, f"{name} ({type(error).__name__})"
        (self.injected if done else self.skipped)[name] += 1

    async def restore(self) -> None:
        """Resume and start everything, disarm model faults and repair streams and consumers."""
        for process in self._deployment.processes:
            await process.resume()
        for node in self._deployment.cluster.nodes:
            await node.start()
        await self._deployment.cluster.wait_until_healthy(seconds=HEALTHY_TIMEOUT)
        if self._deployment.postgres:
            await self._deployment.postgres.start()
        await self._deployment.arm_model_fault()
        await self._deployment.repair()
