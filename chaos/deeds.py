"""What is done to the world under trial: one function a kind of fault. Each says whether there was anything to do."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping

from chaos import broker
from chaos.cut_service import Cut
from chaos.process import LOOK, Process
from chaos.schedule import Fault
from chaos.stage import Stage
from chaos.storage import held
from chaos.storm import storm

LURKS = 30.0  # seconds
KILLED = 0.7  # of those who wait for a database
AT_IT = 1.0  # seconds that work takes, or so


# --- services


def _victim(stage: Stage, fault: Fault) -> Process | None:
    able = [process for process in stage.world.of(fault.target) if not process.busy]
    return able[int(fault.of * len(able))] if able else None


async def _kill(stage: Stage, fault: Fault) -> bool:
    if process := _victim(stage, fault):
        process.kill()
    return process is not None


async def _ambush(stage: Stage, fault: Fault) -> bool:
    """Kill who has just been given something to do, while it is at it."""
    service, _, event = fault.target.partition(" ")
    async with asyncio.timeout(LURKS):
        while not _victim(stage, fault._replace(target=service)):  # noqa: ASYNC110  processes tell nobody
            await asyncio.sleep(AT_IT)
        await stage.load.sees(event)
    await asyncio.sleep(fault.of * AT_IT)
    return await _kill(stage, fault._replace(target=service))


async def _cut(stage: Stage, fault: Fault) -> bool:
    """End whoever is next at such an append, right before it or right after it is stored."""
    service, when, words = fault.target.split(maxsplit=2)
    armed = stage.world.armed(service)
    async with stage.cutting[service], asyncio.timeout(LURKS):
        Cut(1, "before" if when == "before" else "after", words).arm(armed)
        try:
            while armed.exists():  # noqa: ASYNC110  processes tell nobody
                await asyncio.sleep(LOOK)
        finally:
            armed.unlink(missing_ok=True)
    return True


async def _terminate(stage: Stage, fault: Fault) -> bool:
    if process := _victim(stage, fault):
        process.terminate()
    return process is not None


async def _pause(stage: Stage, fault: Fault) -> bool:
    process = _victim(stage, fault)
    if process:
        process.pause()
        await asyncio.sleep(fault.seconds)
        process.go_on()
    return process is not None


# --- databases, people, models


async def _locked(stage: Stage, fault: Fault) -> bool:
    async with held(stage.world.folder / fault.target):
        await _waits(stage, fault)
    return True


async def _waits(stage: Stage, fault: Fault) -> None:
    """Whoever writes there has to. Mostly it is killed with all that it could not write: that comes again."""
    await asyncio.sleep(fault.seconds / 2)
    if fault.of < KILLED:
        await _kill(stage, fault._replace(target="executor" if fault.target.startswith("retail") else "plan_store"))
    await asyncio.sleep(fault.seconds / 2)


async def _database_away(stage: Stage, fault: Fault) -> bool:
    if database := stage.world.postgres:
        away = {"stopped": database.stop, "killed": database.kill, "paused": database.pause}[fault.target]
        async with stage.database:
            await away()
            await asyncio.sleep(fault.seconds)
            await database.start()
    return database is not None


async def _disconnected(stage: Stage, _: Fault) -> bool:
    async with stage.database:
        return bool(stage.world.postgres and await stage.world.postgres.disconnect())


async def _table_held(stage: Stage, fault: Fault) -> bool:
    if database := stage.world.postgres:
        async with stage.database, database.held(fault.target):
            await _waits(stage, fault)
    return database is not None


async def _storm(stage: Stage, fault: Fault) -> bool:
    shown = await storm(stage.load, stage.world.gateway_urls, random.Random(fault.of))
    stage.shown += shown
    return bool(shown)


async def _model(stage: Stage, fault: Fault) -> bool:
    times = 1 + int(fault.of * 4)
    if fault.target == "slow":
        await stage.world.fault(token_delay=0.2, times=times)
    else:
        await stage.world.fault(fault=fault.target, times=times)
    return True


DEEDS: Mapping[str, Callable[[Stage, Fault], Awaitable[bool]]] = {
    "kill": _kill,
    "ambush": _ambush,
    "cut": _cut,
    "terminate": _terminate,
    "pause": _pause,
    "nats_kill": broker.nats_kill,
    "nats_stop": broker.nats_stop,
    "nats_pause": broker.nats_pause,
    "leader_kill": broker.leader_kill,
    "leader_pause": broker.leader_pause,
    "step_down": broker.step_down,
    "redeliver": broker.redeliver,
    "consumer_deleted": broker.consumer_deleted,
    "stream_changed": broker.stream_changed,
    "poison": broker.poisoned,
    "no_room": broker.no_room,
    "locked": _locked,
    "database_away": _database_away,
    "disconnected": _disconnected,
    "table_held": _table_held,
    "storm": _storm,
    "model": _model,
}
