"""What is done to the world under trial: one function a kind of fault. Each says whether there was anything to do."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping

from chaos import broker
from chaos.process import Process
from chaos.schedule import Fault
from chaos.stage import Stage
from chaos.storage import held
from chaos.storm import storm

LURKS = 30.0  # seconds
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
        await asyncio.sleep(fault.seconds)
    return True


async def _database_away(stage: Stage, fault: Fault) -> bool:
    if database := stage.world.postgres:
        await database.stop()
        await asyncio.sleep(fault.seconds)
        await database.start()
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
    "storm": _storm,
    "model": _model,
}
