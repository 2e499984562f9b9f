"""Executor: run the wave that is ready. Recorded as started before, and as finished after, whatever happens.

Reads run side by side, writes one after the other in the order of the plan. A write that has begun is never cut off:
a stop waits for its outcome, so that the journal tells what happened and not what was meant.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import structlog

from services.executor.calling import bounded
from services.executor.keeping import Keeps, fitted
from services.executor.tools import Call, Registry, Result, Tool
from shared.domain import commands as c
from shared.domain import wording
from shared.domain.errors import OutOfTurn
from shared.domain.state import Action
from shared.domain.waves import ready, running
from shared.events import facts
from shared.events.values import Artefact
from shared.log import Unstorable
from shared.telemetry import metrics
from shared.worker import Desk

log = structlog.get_logger("executor")
Tools = Mapping[str, Tool]


class Begun(NamedTuple):
    """An action that was started, and its tool, if there is one.

    `key` is taken when the wave begins: the session may have moved on when it ends.
    """

    action: Action
    key: str
    tool: Tool | None

    @property
    def again(self) -> bool:
        return self.tool.again if self.tool else self.action.spec.effect == "read"


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
        tools = self._registry.all()  # as they are now: what the wave is ruled by is what is called
        if begun := _begun(desk, tools):
            for one in begun:
                if not one.again:
                    reason = "the executor was ended while it ran"
                    await desk.record(c.Uncertain(action_id=one.action.spec.id, reason=reason))
        else:
            if self._guide and desk.session.turn and desk.session.turn.path and await self._guide.leads(desk):
                return
            if not await _started(desk, tools):
                return
        reads = [one for one in _begun(desk, tools) if one.action.spec.effect == "read"]
        writes = [one for one in _begun(desk, tools) if one.action.spec.effect != "read"]
        try:
            async with asyncio.TaskGroup() as wave:
                for one in reads:
                    wave.create_task(self._read(desk, one))
                wave.create_task(self._in_order(desk, writes))
        except ExceptionGroup as several:  # whoever called us knows the errors, not the groups
            raise several.exceptions[0] from several

    async def _read(self, desk: Desk, begun: Begun) -> None:
        began = time.monotonic()
        try:
            result = await self._call(desk, begun)
        except asyncio.CancelledError:
            if desk.stopped:
                await self._record(desk, begun, Result(ok=False, error=wording.CUT_OFF, cause="stopped"), began)
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
                        untouched = Result(ok=False, error=wording.CUT_OFF_BEFORE, cause="stopped")
                        await self._record(desk, late, untouched, time.monotonic())
                raise
            await self._record(desk, begun, result, began)

    async def _call(self, desk: Desk, begun: Begun) -> Result:
        spec, tool = begun.action.spec, begun.tool
        if tool is None:
            return Result(ok=False, error=f"There is no tool “{spec.tool}”.")
        call = Call(desk.session, begun.key, spec.arguments, desk, begun.action)
        return await bounded(tool, lambda: tool.run(call))

    async def _record(self, desk: Desk, begun: Begun, result: Result, began: float) -> None:
        spec = begun.action.spec
        if result.unknown and spec.effect != "read":
            await _append(desk, c.Uncertain(action_id=spec.id, reason=result.error[:2000]))
            return
        largest = begun.tool.largest if begun.tool else 0
        result, artefact = await fitted(self._keeps, begun.key, result, largest)
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
            cause=result.cause,
        )
        try:
            await _append(desk, outcome)
        except Unstorable as error:
            told = Result(ok=result.ok, value=None, error=f"The result cannot be kept: {error}")
            await self._finish(desk, action, told, None, began)


async def _append(desk: Desk, outcome: c.Finish | c.Uncertain) -> None:
    try:
        await desk.record(outcome)
    except OutOfTurn:
        return  # another delivery recorded this outcome first


async def _started(desk: Desk, tools: Tools) -> bool:
    """Whether the wave has started: not if a tool does more than its plan says, or needs a yes that nobody gave."""
    wave = (tools.get(action.spec.tool) for action in ready(desk.session.turn))
    rules = {tool.spec.name: rule for tool in wave if tool and (rule := tool.rule(desk.session))}
    event = await desk.record(c.Start(tools=rules))
    if not isinstance(event, facts.ActionsRuled):
        return True
    for spec in event.actions:
        metrics.RULED.labels(spec.ruling).inc()
        log.warning("action_ruled_again", action_id=spec.id, tool=spec.tool, effect=spec.effect, ruling=spec.ruling)
    return False


def _begun(desk: Desk, tools: Tools) -> tuple[Begun, ...]:
    """What of the turn has started and has no outcome yet."""
    turn = desk.session.turn
    keys = f"{desk.session.id}/{turn.number}" if turn else ""
    return tuple(
        Begun(action, f"{keys}/{action.spec.id}", tools.get(action.spec.tool)) for action in running(desk.session)
    )
