"""The command `parley chat`, from its options to the exit code."""

import asyncio
import contextlib
import signal
import sys

from cli.chat.chat_session import ChatSession
from cli.chat.first_request import UNCHANGED, FirstRequest
from cli.chat.pipe import PipeFrontend
from cli.chat.terminal import TerminalFrontend
from cli.gateway import explain, find_gateway
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
    first: FirstRequest = UNCHANGED,
) -> int:
    """Run until the user leaves. Exit codes: 0 fine, 1 failed, 3 a user was needed but not there."""
    gateway = find_gateway(settings, url)
    try:
        async with (
            Parley(gateway.url, token=gateway.token, timeout=0) as parley,
            parley.connect(session_id, view=2) as connection,
        ):
            await connection.open()
            talk, code = await _run_session(parley, connection, request, yes=yes, first=first)
    except ParleyError as error:
        print(f"parley chat: {explain(error)}", file=sys.stderr)
        return 1
    if talk.view.version:
        again = f"parley chat --session {talk.view.session_id}" + (f" --url {url}" if url else "")
        print(TERMINAL["session_stays"].format(command=again), file=sys.stderr)
    return code


async def _run_session(
    parley: Parley, connection: Connection, request: str, *, yes: bool, first: FirstRequest
) -> tuple[ChatSession, int]:
    if sys.stdin.isatty() and sys.stdout.isatty():
        screen = TerminalFrontend(connection.url)
        talk = ChatSession(parley, connection, screen, yes=yes, first=first)
        screen.on_interrupt = talk.interrupt
        return talk, await talk.run(request)
    script = PipeFrontend([request] if request else [], read_stdin=not (yes and request))
    talk = ChatSession(parley, connection, script, yes=yes, scripted=True, first=first)
    return talk, await _run_interruptible(talk)


async def _run_interruptible(talk: ChatSession) -> int:
    """Run the chat. An interrupt stops the current work; a second one, or one without work, ends the chat."""
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
