"""`parley tail`: prints stored events as they come, one line each; those of one session from its beginning."""

import asyncio
import sys

from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from cli.bus_client import connect_bus
from cli.command import Declined
from cli.talk.journal_lines import MAX_LINE
from cli.talk.sessions import read_journal
from cli.text import counted, print_visible, short, visible
from parley.events import SessionEvent, dump_event, parse_event
from parley.events.values import ModelCall
from shared.bus import Bus
from shared.journal.lines import event_lines
from shared.settings import Settings
from shared.store import PlanStoreClient


class Printer:
    """Prints each event once, whether it comes from the journal or from the feed."""

    def __init__(self, *, as_json: bool) -> None:
        self._json = as_json
        self._console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
        self._seen: dict[str, int] = {}

    def has_gap_before(self, event: SessionEvent) -> bool:
        """Whether events between the last printed one of the session and this one are missing."""
        version = self._seen.get(event.session_id)
        return version is not None and event.version > version + 1

    def last_version(self, session_id: str) -> int:
        return self._seen.get(session_id, 0)

    def print_event(self, event: SessionEvent) -> None:
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
            _summary(event),
        )

    def print_unreadable(self, subject: str, body: bytes) -> None:
        """Print a message on a session's subject that is not an event."""
        if not self._json:
            preview = short(body[:200].decode(errors="replace"))
            self._line("--:--:--", *subject.split(".")[1:2], "-", "unreadable", visible(subject), preview)

    def _line(self, *parts: str) -> None:
        *head, last = parts
        self._console.print(Text.assemble((" ".join(head[:3]), "dim"), f" {' '.join(head[3:])} ", (last, "dim")))
        sys.stdout.flush()


def _summary(event: SessionEvent) -> str:
    """The journal's lines about the event, and what its model calls have used."""
    lines = (*event_lines(event), *map(_used, event.usage))
    return " · ".join(short(line, MAX_LINE) for line in lines)


def _used(call: ModelCall) -> str:
    tokens = counted(call.prompt_tokens + call.completion_tokens, "token")
    spent = f"{tokens} of {call.model}, ${call.cost:.4f}, {call.latency:.1f} s"
    return spent if call.outcome == "ok" else f"{spent} ({call.outcome})"


async def tail(settings: Settings, session_id: str = "", *, as_json: bool = False, follow: bool = True) -> int:
    """Print events until interrupted, or without `follow` to the journal's end. Raises Unreachable, Declined."""
    printer = Printer(as_json=as_json)
    async with connect_bus(settings) as bus:
        messages: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

        async def enqueue(subject: str, body: bytes) -> None:
            messages.put_nowait((subject, body))

        # Subscribe before reading the journal, so that no event is missed; those in both are printed once.
        await bus.subscribe(f"feed.{session_id or '*'}.>", enqueue)
        if session_id:
            events = await read_journal(PlanStoreClient(bus), session_id)
            for event in events:
                printer.print_event(event)
            if not events and not follow:
                raise Declined(f"There is no session {session_id}: `parley sessions` lists those there are.")
            if not events and not as_json:
                print(f"There is no session {session_id} yet: listening. Ctrl-C ends it.", file=sys.stderr)
        if not session_id and not as_json:
            print("Listening. Ctrl-C ends it.", file=sys.stderr)
        while follow:
            await _print_message(bus, printer, *await messages.get())
    return 0


async def _print_message(bus: Bus, printer: Printer, subject: str, body: bytes) -> None:
    try:
        event = parse_event(body)
    except ValidationError:
        printer.print_unreadable(subject, body)
        return
    if printer.has_gap_before(event):  # the feed lost messages, for example while NATS was down
        for earlier in await read_journal(
            PlanStoreClient(bus), event.session_id, after=printer.last_version(event.session_id)
        ):
            printer.print_event(earlier)
    printer.print_event(event)
