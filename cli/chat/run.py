"""`parley chat` from the command line's words to an exit code."""

import asyncio
import contextlib
import signal
import sys
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from cli.chat.first import AS_IT_IS, First
from cli.chat.rest import Rest
from cli.chat.screen import Screen
from cli.chat.script import Script
from cli.chat.talk import Front, Talk
from cli.client import Client, GatewayDown
from cli.home import running
from shared.settings import Settings

INTERRUPTED = 130


class Gateway(NamedTuple):
    """Where the gateway's WebSocket is, and the token it lets us in with ("" for none)."""

    url: str
    token: str


def find_gateway(settings: Settings, url: str = "") -> Gateway:
    """The given one; else that of the `parley up` which runs on this home; else where the settings say."""
    token = settings.parley_token.get_secret_value()
    found = running(settings.parley_home)
    page = urlsplit(found.page) if found else None
    if page and (not url or urlsplit(url).netloc == page.netloc):
        token = token or parse_qs(page.query).get("token", [""])[0]
    if url:
        return Gateway(url, token)
    named = {"agent_host", "agent_port"} & settings.model_fields_set and settings.agent_port  # 0 names no port
    if page and not named:
        return Gateway(f"ws://{page.netloc}/ws", token)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.agent_host, settings.agent_host)  # noqa: S104
    return Gateway(f"ws://{f'[{host}]' if ':' in host else host}:{settings.agent_port}/ws", token)


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
        async with Client(gateway.url, token=gateway.token, session_id=session_id) as client:
            rest = Rest(gateway.url, gateway.token)
            talk, code = await _talk(client, rest, request, yes=yes, first=first)
    except GatewayDown as error:
        print(f"parley chat: {error}", file=sys.stderr)
        return 1
    if talk.view.version:
        again = f"parley chat --session {talk.view.session_id}" + (f" --url {url}" if url else "")
        print(f"The session stays: {again}", file=sys.stderr)
    return code


async def _talk(client: Client, rest: Rest, request: str, *, yes: bool, first: First) -> tuple[Talk, int]:
    if sys.stdin.isatty() and sys.stdout.isatty():
        screen = Screen(client.url)
        talk = Talk(client, screen, rest, yes=yes, first=first)
        screen.on_interrupt = talk.interrupt
        return talk, await talk.run(request)
    script = Script([request] if request else [], more=not (yes and request))
    talk = Talk(client, script, rest, yes=yes, scripted=True, first=first)
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


__all__ = ["First", "Front", "Gateway", "chat", "find_gateway"]
