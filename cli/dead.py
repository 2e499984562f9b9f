"""`parley dead`: messages that were put aside, why, and what to do about them."""

import uuid
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from cli.chat.text import short
from cli.command import Declined, Unreachable
from cli.running import LOCAL_USER, bus, query
from cli.visible import print_visible, visible
from shared.domain import commands as c
from shared.domain.commands import By
from shared.domain.errors import Refused
from shared.log import LogDown, commit
from shared.settings import Settings
from shared.store import Store, StoreDown, StoreRefused
from shared.store_api import DEAD_LIST, DeadPage, DeadRecord, ListDead, ParkedRecord


async def dead(settings: Settings, *, as_json: bool = False, limit: int = 100) -> int:
    """List them. Raises Unreachable, Declined."""
    async with bus(settings) as found:
        page = await query(Store(found), DEAD_LIST, ListDead(limit=limit))
    if as_json:
        print_visible(page.model_dump_json(indent=1))
        return 0
    _show(Console(highlight=False), page)
    return 0


def _show(console: Console, page: DeadPage) -> None:
    if not page.dead_total and not page.parked_total:
        console.print("Nothing was put aside.")
        return
    if page.dead:
        console.print(Text(f"Deliveries that were given up ({page.dead_total})", style="bold"))
    for letter in page.dead:
        console.print(_letter(letter))
    if page.parked:
        console.print(Text(f"Messages that are no events of their session ({page.parked_total})", style="bold"))
    for message in page.parked:
        console.print(_parked(message))


def _letter(letter: DeadRecord) -> Text:
    todo = f"Look at the log of {letter.consumer}; once mended: parley dead --retry {letter.session_id}"
    return Text.assemble(
        (f"{letter.at:%Y-%m-%d %H:%M:%S} {letter.stream}#{letter.stream_seq} ", "dim"),
        (f"{letter.consumer} ", "cyan"),
        f"{visible(letter.subject)}\n    {visible(letter.reason)}\n",
        (f"    {todo if letter.session_id else 'No session waits for it: nothing to do.'}", "dim"),
    )


def _parked(message: ParkedRecord) -> Text:
    return Text.assemble(
        (f"{message.at:%Y-%m-%d %H:%M:%S} #{message.position} ", "dim"),
        f"{visible(message.subject)}\n    {visible(message.reason)}\n    {short(message.preview, 100)}\n",
        ("    It changed nothing and blocks nothing. How to write an event: parley publish --help", "dim"),
    )


async def retry(settings: Settings, session_id: str) -> int:
    """Have the stage done again that failed. Raises Unreachable, Declined."""
    async with bus(settings) as found:
        by = By(actor=f"user:{LOCAL_USER}", at=datetime.now(UTC), id=uuid.uuid4().hex)
        try:
            loaded = await Store(found).load(session_id)
            if not loaded.session.version:
                raise Declined(f"There is no session {session_id}.")
            _, event = await commit(found.log, loaded, c.Retry(), by)
        except Refused as error:
            raise Declined(f"{error} The session is {loaded.session.phase}.") from error
        except StoreRefused as error:
            raise Declined(str(error)) from error
        except (StoreDown, LogDown) as error:
            raise Unreachable(f"{error} `parley doctor` says more.") from error
    print(f"{session_id} tries again: version {event.version}.")
    return 0
