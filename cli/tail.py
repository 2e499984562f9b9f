"""`parley tail`: stored events as they come, one line each; of one session from its beginning."""

import asyncio
import sys

from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from cli.chat.text import short
from cli.command import Declined
from cli.gist import cost, gist
from cli.running import bus
from cli.sessions import journal
from cli.visible import print_visible, visible
from parley.events import SessionEvent, dump_event, facts, parse_event
from shared.bus import Bus
from shared.settings import Settings
from shared.store import Store


class Printer:
    """Prints each event once: what was read from the journal is not told again when it comes from the feed."""

    def __init__(self, *, as_json: bool) -> None:
        self._json = as_json
        self._console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
        self._seen: dict[str, int] = {}

    def missed(self, event: SessionEvent) -> bool:
        """Was something between this event and the last one of its session? Only known where that was seen."""
        seen = self._seen.get(event.session_id)
        return seen is not None and event.version > seen + 1

    def seen(self, session_id: str) -> int:
        return self._seen.get(session_id, 0)

    def event(self, event: SessionEvent) -> None:
        if event.version <= self._seen.get(event.session_id, 0):
            return
        self._seen[event.session_id] = event.version
        if self._json:
            print_visible(dump_event(event).decode())
            return
        self._line(
            f"{event.at.astimezone():%H:%M:%S}",
            event.session_id,
            str(event.version),
            event.type,
            event.actor,
            _told(event),
        )

    def unreadable(self, subject: str, body: bytes) -> None:
        """Something on a session's subject that is no event: it will be parked."""
        if not self._json:
            words = short(body[:200].decode(errors="replace"))
            self._line("--:--:--", *subject.split(".")[1:2], "-", "unreadable", visible(subject), words)

    def _line(self, *parts: str) -> None:
        *head, last = parts
        self._console.print(Text.assemble((" ".join(head[:3]), "dim"), f" {' '.join(head[3:])} ", (last, "dim")))
        sys.stdout.flush()


def _told(event: SessionEvent) -> str:
    """What happened, and what model calls it accounts for."""
    if event.usage and not isinstance(event, facts.UsageRecorded):
        return f"{gist(event)} ({cost(event.usage)})"
    return gist(event)


async def tail(settings: Settings, session_id: str = "", *, as_json: bool = False, follow: bool = True) -> int:
    """Until interrupted (or, without `follow`, to the journal's end). Raises Unreachable, Declined."""
    printer = Printer(as_json=as_json)
    async with bus(settings) as found:
        heard: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

        async def hear(subject: str, body: bytes) -> None:
            heard.put_nowait((subject, body))

        # First the subscription, then the journal: nothing falls between them, and what is in both is told once.
        await found.subscribe(f"feed.{session_id or '*'}.>", hear)
        if session_id:
            events = await journal(Store(found), session_id)
            for event in events:
                printer.event(event)
            if not events and not follow:
                raise Declined(f"There is no session {session_id}: `parley sessions` lists those there are.")
            if not events and not as_json:
                print(f"There is no session {session_id} yet: listening. Ctrl-C ends it.", file=sys.stderr)
        if not session_id and not as_json:
            print("Listening. Ctrl-C ends it.", file=sys.stderr)
        while follow:
            await _one(found, printer, *await heard.get())
    return 0


async def _one(found: Bus, printer: Printer, subject: str, body: bytes) -> None:
    try:
        event = parse_event(body)
    except ValidationError:
        printer.unreadable(subject, body)
        return
    if printer.missed(event):  # the feed lost something, as while NATS was away
        for earlier in await journal(Store(found), event.session_id, after=printer.seen(event.session_id)):
            printer.event(earlier)
    printer.event(event)
