"""What a guard does when an event loop is silent: extend its deliveries, and end the process at the limit."""

import asyncio
import re
import signal
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from shared.bus.errors import BusUnavailable
from shared.bus.watchdog_strikes import WatchdogStrikes, connect_guard
from shared.logging import configure_logging
from shared.settings import Settings
from shared.watchdog.memory import NO_DELIVERY, ActiveDelivery
from shared.watchdog.silence import SAMPLE_INTERVAL

if TYPE_CHECKING:
    from shared.watchdog.guard import GuardedProcess

RECORD_TIMEOUT = 5.0  # seconds for recording a strike: without NATS the process must still end
EXIT_TIMEOUT = 2.0  # seconds in which the process exits, or is killed
_ROOT = Path(__file__).parents[2]
_LIBRARIES = {path for name in ("stdlib", "purelib", "platlib") if (path := sysconfig.get_path(name))}
_FRAME = re.compile(r'  File "(.+)", line (\d+) in (.+)')

log = structlog.get_logger("watchdog")


def watch_blocked_process(guarded: "GuardedProcess") -> None:
    """Watch until the event loop runs again or the process has ended."""
    settings = Settings()
    configure_logging(guarded.service, settings.log_level, settings.secrets)
    asyncio.run(_watch(guarded, settings))


async def _watch(guarded: "GuardedProcess", settings: Settings) -> None:
    """Extend the active deliveries meanwhile: otherwise they would block another replica, too."""
    connecting = asyncio.create_task(connect_guard(settings, guarded.service))
    loop, again_at = asyncio.get_running_loop(), 0.0
    log.warning("event_loop_blocked", seconds=guarded.silence.silent, ends_after=settings.watchdog_timeout)
    try:
        while guarded.refresh():
            if not guarded.silence.silent:
                log.warning("event_loop_turns_again")
                return
            if connecting.done() and not connecting.exception() and loop.time() >= again_at:
                again_at = loop.time() + settings.ack_wait / 3
                await _extend_deliveries(connecting.result(), guarded)
            if guarded.silence.blocked >= settings.watchdog_timeout and await _end_process(guarded, connecting):
                return
            await asyncio.sleep(SAMPLE_INTERVAL)
    finally:
        connecting.cancel()


async def _extend_deliveries(strikes: WatchdogStrikes, guarded: "GuardedProcess") -> None:
    try:
        await strikes.answer_deliveries(
            (delivery.reply for delivery in guarded.memory.active_deliveries().values()), b"+WPI"
        )
    except BusUnavailable as error:
        log.warning("deliveries_not_kept", error=str(error))


async def _end_process(guarded: "GuardedProcess", connecting: "asyncio.Task[WatchdogStrikes]") -> bool:
    """Record the strikes and end the process. False if its event loop runs again meanwhile."""
    guarded.request_stacks()
    await asyncio.sleep(SAMPLE_INTERVAL)
    if not guarded.refresh() or not guarded.silence.silent:
        return False
    stacks, seconds, in_hand = guarded.stacks, guarded.silence.silent, guarded.memory.active_deliveries()
    where, struck = innermost_frame(stacks), blocking_replies(guarded.memory.blocking_delivery, in_hand)
    try:
        async with asyncio.timeout(RECORD_TIMEOUT):
            strikes = await asyncio.shield(connecting)
            await strikes.add(struck, where)
            await strikes.add_exit(guarded.service, where)
            replies = [delivery.reply for delivery in in_hand.values()]
            await strikes.answer_deliveries(
                sorted(replies, key=struck.__contains__), b"-NAK"
            )  # release the others first
    except Exception as error:  # the process must end whatever happens
        log.warning("strikes_not_recorded", error=str(error) or "NATS does not answer")
    log.error("ended_by_watchdog", seconds=seconds, where=where, struck=struck, in_hand=len(in_hand), exception=stacks)
    guarded.end()
    await asyncio.sleep(EXIT_TIMEOUT)
    if guarded.refresh():
        guarded.end(signal.SIGKILL)
    return True


def blocking_replies(number: int, active: Mapping[int, ActiveDelivery]) -> list[str]:
    """The acknowledgement subjects of deliveries that may have blocked the loop.

    All running ones if that is unknown; none if no active delivery did: code that a delivery left behind, such as a
    shared connection, still runs under its number after it is done.
    """
    if number == NO_DELIVERY:
        return []
    if number in active:
        return [active[number].reply]
    return [delivery.reply for delivery in active.values() if delivery.is_running]


def innermost_frame(stacks: str) -> str:
    """The innermost frame outside libraries in the loop's thread, such as `shared/bus/bus.py:75 in start`."""
    frames = _FRAME.findall(stacks.partition("Current thread")[2])
    own = [frame for frame in frames if not any(Path(frame[0]).is_relative_to(library) for library in _LIBRARIES)]
    for file, line, function in [*own, *frames][:1]:
        return f"{file.removeprefix(f'{_ROOT}/')}:{line} in {function}"
    return "an unknown place"
