"""`parley chat` from the command line's words to an exit code."""

import asyncio
import contextlib
import signal
import sys

from cli.chat.first import AS_IT_IS, First
from cli.chat.screen import Screen
from cli.chat.script import Script
from cli.chat.talk import Talk
from cli.gateway import explained, find_gateway
from parley.client import Connection, Parley, ParleyError
from parley.protocol.words import TERMINAL
from shared.settings import Settings

INTERRUPTED = 130


async def chat(  # noqa: PLR0913  the command's options
    settings: Settings,
    *,
    request: str = "",
    session_id: str | None = None,
    url: str = "",
    yes: bool = False,
    first: First = AS_IT_IS,
) -> int:
    """Talk until the person leaves; the exit code: 0 fine, 1 failed, 3 a person was needed and none was there."""
    gateway = find_gateway(settings, url)
    try:
        async with (
            Parley(gateway.url, token=gateway.token, patience=0) as parley,
            parley.connect(session_id, view=2) as connection,
        ):
            await connection.open()
            talk, code = await _talk(parley, connection, request, yes=yes, first=first)
    except ParleyError as error:
        print(f"parley chat: {explained(error)}", file=sys.stderr)
        return 1
    if talk.view.version:
        again = f"parley chat --session {talk.view.session_id}" + (f" --url {url}" if url else "")
        print(TERMINAL["session_stays"].format(command=again), file=sys.stderr)
    return code


async def _talk(parley: Parley, connection: Connection, request: str, *, yes: bool, first: First) -> tuple[Talk, int]:
    if sys.stdin.isatty() and sys.stdout.isatty():
        screen = Screen(connection.url)
        talk = Talk(parley, connection, screen, yes=yes, first=first)
        screen.on_interrupt = talk.interrupt
        return talk, await talk.run(request)
    script = Script([request] if request else [], more=not (yes and request))
    talk = Talk(parley, connection, script, yes=yes, scripted=True, first=first)
    return talk, await _interruptible(talk)


async def _interruptible(talk: Talk) -> int:
    """Run it; an interrupt stops what goes on, the second one, or one when nothing does, ends it."""
    task = asyncio.create_task(talk.run())

    def interrupted() -> None:
        if talk.interrupt():
            task.cancel()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        await asyncio.wait({task})
        return INTERRUPTED if task.cancelled() else task.result()
    finally:
        with contextlib.suppress(ValueError):
            loop.remove_signal_handler(signal.SIGINT)
