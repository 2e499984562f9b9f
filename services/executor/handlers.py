"""Executor: run the wave that is ready. Recorded as started before, and as finished after, whatever happens."""

import asyncio
import time

import structlog

from services.executor.tools import TOOLS, Result
from shared.domain import commands as c
from shared.domain.errors import OutOfTurn
from shared.domain.state import Action
from shared.log import TooLarge
from shared.worker import Desk

log = structlog.get_logger("executor")


async def run_wave(desk: Desk) -> None:
    """One `actions.started`, the actions side by side, one outcome each.

    A redelivery finds some started already: what may be run again is, of the rest nobody knows what happened.
    """
    if started := _started(desk):
        for action in started:
            if not _again(action):
                await desk.record(c.Uncertain(action_id=action.spec.id, reason="the executor was ended while it ran"))
    else:
        await desk.record(c.Start())
    try:
        async with asyncio.TaskGroup() as wave:
            for action in _started(desk):
                wave.create_task(_run(desk, action))
    except ExceptionGroup as several:  # whoever called us knows the errors, not the groups
        raise several.exceptions[0] from several


def _started(desk: Desk) -> tuple[Action, ...]:
    turn = desk.session.turn
    return tuple(action for action in turn.actions if action.status == "started") if turn else ()


def _again(action: Action) -> bool:
    tool = TOOLS.get(action.spec.tool)
    return tool is None or tool.again


async def _run(desk: Desk, action: Action) -> None:
    began = time.monotonic()
    try:
        result = await _call(desk, action)
    except asyncio.CancelledError:
        if desk.stopped:
            await _finish(desk, action, Result(ok=False, error="Stopped by the person."), began)
        raise
    await _finish(desk, action, result, began)


async def _call(desk: Desk, action: Action) -> Result:
    tool = TOOLS.get(action.spec.tool)
    if tool is None:
        return Result(ok=False, error=f"There is no tool “{action.spec.tool}”.")
    try:
        return await tool.run(desk.session, action.spec.arguments)
    except Exception as error:
        log.exception("tool_failed", tool=action.spec.tool, action_id=action.spec.id)
        return Result(ok=False, error=f"{type(error).__name__}: {error}"[:2000])


async def _finish(desk: Desk, action: Action, result: Result, began: float) -> None:
    outcome = c.Finish(
        action_id=action.spec.id,
        ok=result.ok,
        result=result.value,
        error=result.error,
        seconds=round(time.monotonic() - began, 3),
    )
    try:
        await desk.record(outcome)
    except TooLarge as error:
        await _finish(desk, action, Result(ok=False, error=f"The result cannot be kept: {error}"), began)
    except OutOfTurn:
        return  # another delivery recorded this outcome first
