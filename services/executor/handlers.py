"""Executor: run the wave that is ready. Recorded as started before, and as finished after, whatever happens.

Reads run side by side, writes one after the other in the order of the plan. A write that has begun is never cut off:
a stop waits for its outcome, so that the journal tells what happened and not what was meant.
"""

import asyncio
import time
from typing import NamedTuple, Protocol

from services.executor.calling import bounded
from services.executor.keeping import Keeps, fitted
from services.executor.tools import Call, Registry, Result
from shared.domain import commands as c
from shared.domain.errors import OutOfTurn
from shared.domain.state import Action
from shared.domain.waves import CUT_OFF, running
from shared.events.values import Artefact
from shared.log import TooLarge
from shared.worker import Desk


class Begun(NamedTuple):
    """An action that was started. `key` is taken when the wave begins: the session may have moved on when it ends."""

    action: Action
    key: str


class Guide(Protocol):
    """Who knows the ways through flows."""

    async def leads(self, desk: Desk) -> bool:
        """Whether the path was changed, or a person asked, instead of what would begin now."""
        ...


class Executor:
    """The tools of this process, where what is too large for an event is kept, and who leads a path."""

    def __init__(self, registry: Registry, keeps: Keeps, guide: Guide | None = None) -> None:
        self._registry = registry
        self._keeps = keeps
        self._guide = guide

    async def run_wave(self, desk: Desk) -> None:
        """One `actions.started`, then one outcome each.

        A redelivery finds some started already: what may be run again is, of the rest nobody knows what happened.
        """
        if begun := _begun(desk):
            for action, _ in begun:
                if not self._again(action):
                    await desk.record(
                        c.Uncertain(action_id=action.spec.id, reason="the executor was ended while it ran")
                    )
        else:
            if self._guide and desk.session.turn and desk.session.turn.path and await self._guide.leads(desk):
                return
            await desk.record(c.Start())
        reads = [one for one in _begun(desk) if one.action.spec.effect == "read"]
        writes = [one for one in _begun(desk) if one.action.spec.effect != "read"]
        try:
            async with asyncio.TaskGroup() as wave:
                for one in reads:
                    wave.create_task(self._read(desk, one))
                wave.create_task(self._in_order(desk, writes))
        except ExceptionGroup as several:  # whoever called us knows the errors, not the groups
            raise several.exceptions[0] from several

    def _again(self, action: Action) -> bool:
        tool = self._registry.find(action.spec.tool)
        return tool.again if tool else action.spec.effect == "read"

    async def _read(self, desk: Desk, begun: Begun) -> None:
        began = time.monotonic()
        try:
            result = await self._call(desk, begun)
        except asyncio.CancelledError:
            if desk.stopped:
                await self._record(desk, begun, Result(ok=False, error=CUT_OFF), began)
            raise
        await self._record(desk, begun, result, began)

    async def _in_order(self, desk: Desk, writes: list[Begun]) -> None:
        for number, begun in enumerate(writes):
            began = time.monotonic()
            running = asyncio.ensure_future(self._call(desk, begun))
            try:
                result = await asyncio.shield(running)
            except asyncio.CancelledError:
                await self._record(desk, begun, await running, began)
                if desk.stopped:
                    for late in writes[number + 1 :]:
                        untouched = Result(ok=False, error="Stopped by the person before it was run.")
                        await self._record(desk, late, untouched, time.monotonic())
                raise
            await self._record(desk, begun, result, began)

    async def _call(self, desk: Desk, begun: Begun) -> Result:
        spec = begun.action.spec
        tool = self._registry.find(spec.tool)
        if tool is None:
            return Result(ok=False, error=f"There is no tool “{spec.tool}”.")
        call = Call(desk.session, begun.key, spec.arguments, desk, begun.action)
        return await bounded(tool, lambda: tool.run(call))

    async def _record(self, desk: Desk, begun: Begun, result: Result, began: float) -> None:
        spec = begun.action.spec
        if result.unknown and spec.effect != "read":
            await _append(desk, c.Uncertain(action_id=spec.id, reason=result.error[:2000]))
            return
        tool = self._registry.find(spec.tool)
        result, artefact = await fitted(self._keeps, begun.key, result, tool.largest if tool else 0)
        await self._finish(desk, begun.action, result, artefact, began)

    async def _finish(
        self, desk: Desk, action: Action, result: Result, artefact: Artefact | None, began: float
    ) -> None:
        outcome = c.Finish(
            action_id=action.spec.id,
            ok=result.ok,
            result=result.value,
            error=result.error,
            seconds=round(time.monotonic() - began, 3),
            artefact=artefact,
        )
        try:
            await _append(desk, outcome)
        except TooLarge as error:
            told = Result(ok=result.ok, value=None, error=f"The result cannot be kept: {error}")
            await self._finish(desk, action, told, None, began)


async def _append(desk: Desk, outcome: c.Finish | c.Uncertain) -> None:
    try:
        await desk.record(outcome)
    except OutOfTurn:
        return  # another delivery recorded this outcome first


def _begun(desk: Desk) -> tuple[Begun, ...]:
    """What of the turn has started and has no outcome yet."""
    turn = desk.session.turn
    keys = f"{desk.session.id}/{turn.number}" if turn else ""
    return tuple(Begun(action, f"{keys}/{action.spec.id}") for action in running(desk.session))
