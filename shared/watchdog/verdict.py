"""What a guard does about a silent event loop: it keeps the deliveries in hand, and at the limit ends the process."""

import asyncio
import re
import signal
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from shared.bus.errors import BusDown
from shared.bus.strikes import Strikes, connect_guard
from shared.logging import configure_logging
from shared.settings import Settings
from shared.watchdog.memory import NO_DELIVERY, InHand
from shared.watchdog.silence import LOOK

if TYPE_CHECKING:
    from shared.watchdog.guard import Guarded

RECORD = 5.0  # seconds that recording a strike may take: a service that hangs is not left hanging for want of NATS
ENDS = 2.0  # seconds in which the process is gone
_ROOT = Path(__file__).parents[2]
_LIBRARIES = {path for name in ("stdlib", "purelib", "platlib") if (path := sysconfig.get_path(name))}
_FRAME = re.compile(r'  File "(.+)", line (\d+) in (.+)')

log = structlog.get_logger("watchdog")


def look_into(guarded: "Guarded") -> None:
    """Return when the event loop turns again, or the process has ended."""
    settings = Settings()
    configure_logging(guarded.service, settings.log_level, settings.secrets)
    asyncio.run(_look_into(guarded, settings))


async def _look_into(guarded: "Guarded", settings: Settings) -> None:
    """Meanwhile the deliveries in hand are kept, or another replica would be given what blocks this one."""
    connecting = asyncio.create_task(connect_guard(settings, guarded.service))
    loop, again_at = asyncio.get_running_loop(), 0.0
    log.warning("event_loop_blocked", seconds=guarded.silence.silent, ends_after=settings.watchdog_timeout)
    try:
        while guarded.look():
            if not guarded.silence.silent:
                log.warning("event_loop_turns_again")
                return
            if connecting.done() and not connecting.exception() and loop.time() >= again_at:
                again_at = loop.time() + settings.ack_wait / 3
                await _keep(connecting.result(), guarded)
            if guarded.silence.blocked >= settings.watchdog_timeout and await _end(guarded, connecting):
                return
            await asyncio.sleep(LOOK)
    finally:
        connecting.cancel()


async def _keep(strikes: Strikes, guarded: "Guarded") -> None:
    try:
        await strikes.tell((delivery.reply for delivery in guarded.memory.in_hand().values()), b"+WPI")
    except BusDown as error:
        log.warning("deliveries_not_kept", error=str(error))


async def _end(guarded: "Guarded", connecting: "asyncio.Task[Strikes]") -> bool:
    """Record whom it happened with, and end the process; False where it beats again at the last moment."""
    guarded.ask()
    await asyncio.sleep(LOOK)
    if not guarded.look() or not guarded.silence.silent:
        return False
    stacks, seconds, in_hand = guarded.stacks, guarded.silence.silent, guarded.memory.in_hand()
    where, struck = place(stacks), blamed(guarded.memory.blamed, in_hand)
    try:
        async with asyncio.timeout(RECORD):
            strikes = await asyncio.shield(connecting)
            await strikes.add(struck, where)
            await strikes.add_exit(guarded.service, where)
            replies = [delivery.reply for delivery in in_hand.values()]
            await strikes.tell(sorted(replies, key=struck.__contains__), b"-NAK")  # the others need not wait for it
    except Exception as error:  # whatever it is: the process must end
        log.warning("strikes_not_recorded", error=str(error) or "NATS does not answer")
    log.error("ended_by_watchdog", seconds=seconds, where=where, struck=struck, in_hand=len(in_hand), exception=stacks)
    guarded.end()
    await asyncio.sleep(ENDS)
    if guarded.look():
        guarded.end(signal.SIGKILL)
    return True


def blamed(number: int, in_hand: Mapping[int, InHand]) -> list[str]:
    """The delivery that blocked the loop; each one begun where nobody can tell, none where it was none of them.

    What a delivery leaves behind, as a connection that others use, still runs in its name when it is done.
    """
    if number == NO_DELIVERY:
        return []
    if number in in_hand:
        return [in_hand[number].reply]
    return [delivery.reply for delivery in in_hand.values() if delivery.begun]


def place(stacks: str) -> str:
    """As `shared/bus/bus.py:75 in start`: the innermost frame that is no library's, in the thread of the loop."""
    frames = _FRAME.findall(stacks.partition("Current thread")[2])
    own = [frame for frame in frames if not any(Path(frame[0]).is_relative_to(library) for library in _LIBRARIES)]
    for file, line, function in [*own, *frames][:1]:
        return f"{file.removeprefix(f'{_ROOT}/')}:{line} in {function}"
    return "an unknown place"
