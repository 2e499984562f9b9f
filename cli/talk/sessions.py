"""`parley sessions`: lists, shows, exports and purges sessions."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.bus_client import LOCAL_USER, connect_bus, query_store
from cli.command import Declined
from cli.gateway import explain, find_gateway
from cli.talk.journal_lines import journal_line, read_entries, visible_entries
from cli.text import print_visible, short, visible
from parley.client import Parley, ParleyError
from parley.client.client import ExportFormat
from parley.events import SessionEvent, dump_event
from parley.protocol.words import TERMINAL
from shared.settings import Settings
from shared.store import PlanStoreClient, StoreRefused
from shared.store_api import (
    JOURNAL_READ,
    SESSION_GET,
    SESSION_LIST,
    SESSION_PURGE,
    GetSession,
    ListSessions,
    PurgeSession,
    ReadJournal,
    SessionSummary,
)


async def list_sessions(settings: Settings, *, words: str = "", limit: int = 50, as_json: bool = False) -> int:
    """List sessions that contain every word of `words`, newest first."""
    async with connect_bus(settings) as bus:
        page = await query_store(PlanStoreClient(bus), SESSION_LIST, ListSessions(query=words, limit=limit))
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
    table.add_column("session", overflow="fold", max_width=36)  # an external program's id may be longer
    table.add_column("state", overflow="fold")
    if not narrow:
        table.add_column("changed", no_wrap=True)
    table.add_column("title", ratio=1)
    for session in sessions:
        cells = [session.id, session.word, *([] if narrow else [ago(session.updated_at)])]
        table.add_row(*(Text(visible(cell)) for cell in cells), Text(short(session.title or session.request)))
    return table


def ago(moment: datetime, now: datetime | None = None) -> str:
    """The time since `moment` in one unit, like "12 min ago"."""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


async def read_journal(store: PlanStoreClient, session_id: str, *, after: int = 0) -> list[SessionEvent]:
    """All events of a session after this version. Raises Unreachable, Declined."""
    events: list[SessionEvent] = []
    while True:
        page = await query_store(store, JOURNAL_READ, ReadJournal(session_id=session_id, after=after, limit=500))
        events += page.events
        if not page.events or page.events[-1].version >= page.version:
            return events
        after = page.events[-1].version


async def show_session(settings: Settings, session_id: str, *, as_json: bool = False) -> int:
    """Show a session and its journal."""
    async with connect_bus(settings) as bus:
        store = PlanStoreClient(bus)
        session = await query_store(store, SESSION_GET, GetSession(session_id=session_id))
        events = await read_journal(store, session_id)
    if as_json:
        print_visible("[\n" + ",\n".join(dump_event(event).decode() for event in events) + "\n]")
        return 0
    console = Console(highlight=False)
    console.print(Text(visible(session.title or session.request), style="bold"))
    console.print(f"{session.workflow} · {session.word} · version {session.version} · of {session.owner}", markup=False)
    for entry in visible_entries(read_entries(events)):
        console.print(Text.assemble((f"{entry.version:>4} {entry.at:%m-%d %H:%M:%S} ", "dim"), journal_line(entry)))
    console.print(TERMINAL["resume_with"].format(session=session.id), style="dim", markup=False)
    return 0


async def export_session(settings: Settings, session_id: str, form: ExportFormat, *, url: str = "") -> int:
    """Write the session to stdout as the gateway exports it. Raises Declined."""
    gateway = find_gateway(settings, url)
    try:
        async with Parley(gateway.url, token=gateway.token, timeout=3) as parley:
            print_visible(await parley.session(session_id).export(form), end="")
    except ParleyError as error:
        raise Declined(explain(error)) from error
    return 0


async def purge_session(settings: Settings, session_id: str, *, yes: bool = False, force: bool = False) -> int:
    """Delete a session for good (log, rows and files) after confirmation.

    `force`: also one that this release cannot read, because a newer one, or a forged event, has continued it.
    """
    async with connect_bus(settings) as bus:
        store = PlanStoreClient(bus)
        try:
            session = await query_store(store, SESSION_GET, GetSession(session_id=session_id))
            owner, title = session.owner, short(session.title or session.request)
            print(f"{session.id}: {title} ({session.version} events, {session.word})", file=sys.stderr)
        except Declined as error:
            if not isinstance(refused := error.__cause__, StoreRefused) or refused.code != "upgrade_needed":
                raise
            if not force:
                raise Declined(f"{error} To remove it all the same: --force.") from error
            owner = LOCAL_USER
            print(f"{session_id}: {error}", file=sys.stderr)
        if not yes and not _confirm():
            print("Nothing was removed.", file=sys.stderr)
            return 1
        await query_store(store, SESSION_PURGE, PurgeSession(session_id=session_id, user=owner, force=force))
    print(f"Removed {session_id}.")
    return 0


def _confirm() -> bool:
    if not sys.stdin.isatty():
        raise Declined("Purging needs a confirmation: use --yes.")
    print("This cannot be undone. Type yes to remove it: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() == "yes"
