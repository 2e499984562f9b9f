"""The fault injectors, one for each kind of fault. Each returns whether it had a target."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping

from chaos import broker_faults
from chaos.crashing_service import CrashPoint
from chaos.fault_context import FaultContext
from chaos.process import POLL_INTERVAL, ServiceProcess
from chaos.reconnect_storm import reconnect_storm
from chaos.schedule import ScheduledFault
from chaos.storage_faults import database_locked

AMBUSH_TIMEOUT = 30.0  # seconds to wait for the event or append
WRITER_KILL_SHARE = 0.7  # of processes that wait for a locked database
WORK_SECONDS = 1.0  # about how long a service works on an event


# --- services


def _victim(context: FaultContext, fault: ScheduledFault) -> ServiceProcess | None:
    candidates = [process for process in context.deployment.replicas_of(fault.target) if not process.is_disturbed]
    return candidates[int(fault.choice * len(candidates))] if candidates else None


async def _kill(context: FaultContext, fault: ScheduledFault) -> bool:
    if process := _victim(context, fault):
        process.kill()
    return process is not None


async def _kill_at_work(context: FaultContext, fault: ScheduledFault) -> bool:
    """Kill a service shortly after the event that gives it work."""
    service, _, event = fault.target.partition(" ")
    async with asyncio.timeout(AMBUSH_TIMEOUT):
        while not _victim(context, fault._replace(target=service)):  # noqa: ASYNC110  processes send no notification
            await asyncio.sleep(WORK_SECONDS)
        await context.load.wait_for_event(event)
    await asyncio.sleep(fault.choice * WORK_SECONDS)
    return await _kill(context, fault._replace(target=service))


async def _crash_at_append(context: FaultContext, fault: ScheduledFault) -> bool:
    """Crash the next process that makes such an append, right before it or right after it is stored."""
    service, when, words = fault.target.split(maxsplit=2)
    armed = context.deployment.crash_file(service)
    async with context.crash_locks[service], asyncio.timeout(AMBUSH_TIMEOUT):
        CrashPoint(1, "before" if when == "before" else "after", words).arm(armed)
        try:
            while armed.exists():  # noqa: ASYNC110  processes send no notification
                await asyncio.sleep(POLL_INTERVAL)
        finally:
            armed.unlink(missing_ok=True)
    return True


async def _terminate(context: FaultContext, fault: ScheduledFault) -> bool:
    if process := _victim(context, fault):
        process.terminate()
    return process is not None


async def _pause(context: FaultContext, fault: ScheduledFault) -> bool:
    process = _victim(context, fault)
    if process:
        process.pause()
        await asyncio.sleep(fault.seconds)
        process.resume()
    return process is not None


# --- databases, users, models


async def _lock_sqlite(context: FaultContext, fault: ScheduledFault) -> bool:
    async with database_locked(context.deployment.folder / fault.target):
        await _hold_lock(context, fault)
    return True


async def _hold_lock(context: FaultContext, fault: ScheduledFault) -> None:
    """Keep the lock, and mostly kill the service that waits for it. Its writes are redelivered."""
    await asyncio.sleep(fault.seconds / 2)
    if fault.choice < WRITER_KILL_SHARE:
        await _kill(context, fault._replace(target="executor" if fault.target.startswith("retail") else "plan_store"))
    await asyncio.sleep(fault.seconds / 2)


async def _interrupt_database(context: FaultContext, fault: ScheduledFault) -> bool:
    if database := context.deployment.postgres:
        interrupt = {"stopped": database.stop, "killed": database.kill, "paused": database.pause}[fault.target]
        async with context.database_lock:
            await interrupt()
            await asyncio.sleep(fault.seconds)
            await database.start()
    return database is not None


async def _disconnect_clients(context: FaultContext, _: ScheduledFault) -> bool:
    async with context.database_lock:
        return bool(context.deployment.postgres and await context.deployment.postgres.disconnect())


async def _lock_table(context: FaultContext, fault: ScheduledFault) -> bool:
    if database := context.deployment.postgres:
        async with context.database_lock, database.lock_table(fault.target):
            await _hold_lock(context, fault)
    return database is not None


async def _reconnect_storm(context: FaultContext, fault: ScheduledFault) -> bool:
    records = await reconnect_storm(context.load, context.deployment.gateway_urls, random.Random(fault.choice))
    context.socket_records += records
    return bool(records)


async def _arm_model_fault(context: FaultContext, fault: ScheduledFault) -> bool:
    times = 1 + int(fault.choice * 4)
    if fault.target == "slow":
        await context.deployment.arm_model_fault(token_delay=0.2, times=times)
    else:
        await context.deployment.arm_model_fault(fault=fault.target, times=times)
    return True


INJECTORS: Mapping[str, Callable[[FaultContext, ScheduledFault], Awaitable[bool]]] = {
    "kill": _kill,
    "ambush": _kill_at_work,
    "cut": _crash_at_append,
    "terminate": _terminate,
    "pause": _pause,
    "nats_kill": broker_faults.nats_kill,
    "nats_stop": broker_faults.nats_stop,
    "nats_pause": broker_faults.nats_pause,
    "leader_kill": broker_faults.leader_kill,
    "leader_pause": broker_faults.leader_pause,
    "step_down": broker_faults.step_down,
    "redeliver": broker_faults.redeliver,
    "consumer_deleted": broker_faults.delete_consumer,
    "stream_changed": broker_faults.change_stream,
    "poison": broker_faults.send_poison_message,
    "no_room": broker_faults.fill_storage,
    "locked": _lock_sqlite,
    "database_away": _interrupt_database,
    "disconnected": _disconnect_clients,
    "table_held": _lock_table,
    "storm": _reconnect_storm,
    "model": _arm_model_fault,
}
