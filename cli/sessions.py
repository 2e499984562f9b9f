"""`parley sessions`: list, show, export and purge what is stored."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.chat.text import short
from cli.command import Declined
from cli.export import CannotExport, Format, export, newest_code
from cli.gist import line
from cli.running import bus, query
from cli.visible import print_visible, visible
from parley.events import SessionEvent
from parley.protocol.words import TERMINAL
from shared.settings import Settings
from shared.store import Store
from shared.store_api import (
    CODE_VERSIONS,
    JOURNAL_READ,
    SESSION_GET,
    SESSION_LIST,
    SESSION_PURGE,
    CodeVersions,
    GetSession,
    ListSessions,
    PurgeSession,
    ReadJournal,
    SessionSummary,
)


async def listing(settings: Settings, *, words: str = "", limit: int = 50, as_json: bool = False) -> int:
    """Newest first, with every word of `words` in the title or a request."""
    async with bus(settings) as found:
        page = await query(Store(found), SESSION_LIST, ListSessions(query=words, limit=limit))
    if as_json:
        print_visible(page.model_dump_json(indent=1))
        return 0
    console = Console(highlight=False)
    if not page.sessions:
        console.print(
            "No session has these words." if words else "There are no sessions yet: `parley chat` begins one."
        )
        return 0
    console.print(_table(page.sessions, narrow=console.width < 70))
    if page.total > len(page.sessions):
        console.print(f"{len(page.sessions)} of {page.total}: --limit shows more.", style="dim")
    return 0


def _table(sessions: Sequence[SessionSummary], *, narrow: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("session", overflow="fold", max_width=36)  # an outside program's id may be longer
    table.add_column("state", overflow="fold")
    if not narrow:
        table.add_column("changed", no_wrap=True)
    table.add_column("title", ratio=1)
    for one in sessions:
        cells = [one.id, one.word, *([] if narrow else [ago(one.updated_at)])]
        table.add_row(*(Text(visible(cell)) for cell in cells), Text(short(one.title or one.request)))
    return table


def ago(moment: datetime, now: datetime | None = None) -> str:
    """How long ago, in one unit: "12 min ago"."""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


async def journal(store: Store, session_id: str, *, after: int = 0) -> list[SessionEvent]:
    """All events of a session after this version. Raises Unreachable, Declined."""
    events: list[SessionEvent] = []
    while True:
        page = await query(store, JOURNAL_READ, ReadJournal(session_id=session_id, after=after, limit=500))
        events += page.events
        if not page.events or page.events[-1].version >= page.version:
            return events
        after = page.events[-1].version


async def show(settings: Settings, session_id: str, *, as_json: bool = False) -> int:
    """What a session is about, and its journal."""
    async with bus(settings) as found:
        store = Store(found)
        one = await query(store, SESSION_GET, GetSession(session_id=session_id))
        events = await journal(store, session_id)
    if as_json:
        print_visible(export(events, "json"), end="")
        return 0
    console = Console(highlight=False)
    console.print(Text(visible(one.title or one.request), style="bold"))
    console.print(f"{one.workflow} · {one.word} · version {one.version} · of {one.owner}", markup=False)
    for event in events:
        console.print(Text.assemble((f"{event.version:>4} {event.at:%m-%d %H:%M:%S} ", "dim"), line(event)))
    console.print(TERMINAL["resume_with"].format(session=one.id), style="dim", markup=False)
    return 0


async def save(settings: Settings, session_id: str, form: Format) -> int:
    """The session on stdout as Markdown, JSON, or its newest program."""
    async with bus(settings) as found:
        store = Store(found)
        events = await journal(store, session_id)
        if form == "py" and not newest_code(events):  # a fork's program may be its parent's
            codes = (await query(store, CODE_VERSIONS, CodeVersions(session_id=session_id))).codes
            if codes:
                print_visible(codes[-1].code.rstrip())
                return 0
    try:
        print_visible(export(events, form), end="")
    except CannotExport as error:
        raise Declined(str(error)) from error
    return 0


async def purge(settings: Settings, session_id: str, *, yes: bool = False) -> int:
    """Remove a session for good: log, rows and files; asks first."""
    async with bus(settings) as found:
        store = Store(found)
        one = await query(store, SESSION_GET, GetSession(session_id=session_id))
        print(f"{one.id}: {short(one.title or one.request)} ({one.version} events, {one.word})", file=sys.stderr)
        if not yes and not _confirmed():
            print("Nothing was removed.", file=sys.stderr)
            return 1
        await query(store, SESSION_PURGE, PurgeSession(session_id=session_id, user=one.owner))
    print(f"Removed {session_id}.")
    return 0


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        raise Declined("Nobody is there to confirm: say --yes.")
    print("This cannot be undone. Type yes to remove it: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() == "yes"
