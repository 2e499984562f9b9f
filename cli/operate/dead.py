"""`parley dead`: lists quarantined messages and dead letters, dismisses them, and retries failed stages."""

import re

from rich.console import Console
from rich.text import Text

from cli.bus_client import LOCAL_USER, command_of, connect_bus, query_store
from cli.command import Declined, Unreachable
from cli.text import print_visible, short, visible
from shared.bus.topology import SESSIONS
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import CommandRefused
from shared.log import LogUnavailable, commit
from shared.settings import Settings
from shared.store import PlanStoreClient, StoreRefused, StoreUnavailable
from shared.store_api import DEAD_DISMISS, DEAD_LIST, DeadPage, DeadRecord, DismissDead, ListDead, ParkedRecord

DISMISS_HINT = "`parley dead` lists such messages; --dismiss removes one from the list."

NAME = re.compile(r"(?P<stream>[A-Z_]{1,64})#(?P<seq>[1-9][0-9]{0,14})")


async def dead(settings: Settings, *, as_json: bool = False, limit: int = 100, dismissed: bool = False) -> int:
    """List what has not been dismissed, or with `dismissed` what has. Raises Unreachable, Declined."""
    async with connect_bus(settings) as bus:
        page = await query_store(PlanStoreClient(bus), DEAD_LIST, ListDead(limit=limit, dismissed=dismissed))
    if as_json:
        print_visible(page.model_dump_json(indent=1))
        return 0
    _show(
        Console(highlight=False),
        page,
        "No message was dismissed." if dismissed else "There are no dead letters and no parked messages.",
    )
    return 0


def _show(console: Console, page: DeadPage, empty_text: str) -> None:
    if not page.dead_total and not page.parked_total:
        console.print(empty_text)
        return
    if page.dead:
        console.print(Text(f"Dead letters: messages that no service could process ({page.dead_total})", style="bold"))
    for letter in page.dead:
        console.print(_letter_text(letter))
    if page.parked:
        console.print(Text(f"Parked messages: not events of their session ({page.parked_total})", style="bold"))
    for message in page.parked:
        console.print(_parked_text(message))


def _letter_text(letter: DeadRecord) -> Text:
    return Text.assemble(
        (f"{letter.at:%Y-%m-%d %H:%M:%S} {letter.stream}#{letter.stream_seq} ", "dim"),
        (f"{letter.consumer} ", "cyan"),
        f"{visible(letter.subject)}\n    {visible(letter.reason)}\n",
        (f"    {_dismissal(letter) or _advice(letter)}", "dim"),
    )


def _advice(letter: DeadRecord) -> str:
    """What the user can do: retry the stage if its session has failed, otherwise dismiss the letter."""
    dismissal = f"parley dead --dismiss {letter.stream}#{letter.stream_seq}"
    if letter.phase == "failed":
        again = f"parley dead --retry {visible(letter.session_id)}"
        return f"Look at the log of {letter.consumer}; after a fix: {again}\n    To dismiss it: {dismissal}"
    if letter.phase:
        return f"Its session does not wait for it (it is {letter.phase}). To dismiss it: {dismissal}"
    return f"No session waits for it. To dismiss it: {dismissal}"


def _parked_text(message: ParkedRecord) -> Text:
    dismissal = f"To dismiss it: parley dead --dismiss {SESSIONS}#{message.position}"
    todo = f"It has no effect and blocks nothing. {dismissal}\n    How to write an event: parley publish --help"
    return Text.assemble(
        (f"{message.at:%Y-%m-%d %H:%M:%S} {SESSIONS}#{message.position} ", "dim"),
        f"{visible(message.subject)}\n    {visible(message.reason)}\n    {short(message.preview, 100)}\n",
        (f"    {_dismissal(message) or todo}", "dim"),
    )


def _dismissal(record: DeadRecord | ParkedRecord) -> str:
    if record.dismissed_at is None:
        return ""
    return f"Dismissed by {visible(record.dismissed_by or '')} on {record.dismissed_at:%Y-%m-%d %H:%M:%S}."


async def dismiss(settings: Settings, name: str) -> int:
    """Dismiss all entries of the message `STREAM#NUMBER`. Raises Unreachable, Declined."""
    match = NAME.fullmatch(name)
    if match is None:
        raise Declined(f"{name} names no message: take its name from `parley dead`, like {SESSIONS}#12.")
    request = DismissDead(stream=match["stream"], stream_seq=int(match["seq"]), user=LOCAL_USER)
    async with connect_bus(settings) as bus:
        dismissed = await query_store(PlanStoreClient(bus), DEAD_DISMISS, request)
    print(f"Dismissed {name}: {dismissed.entries} {'entry' if dismissed.entries == 1 else 'entries'}.")
    return 0


async def retry(settings: Settings, session_id: str) -> int:
    """Retry the session's failed stage. Raises Unreachable, Declined."""
    async with connect_bus(settings) as bus:
        meta = command_of(LOCAL_USER)
        try:
            loaded = await PlanStoreClient(bus).load(session_id)
            if not loaded.session.version:
                raise Declined(f"There is no session {session_id}, so there is nothing to retry. {DISMISS_HINT}")
            _, event = await commit(bus.log, loaded, c.Retry(), meta)
        except CommandRefused as error:
            state = f"Session {session_id} is {loaded.session.phase}: only a failed or stopped one can be retried."
            raise Declined(f"{error} {state} {DISMISS_HINT}") from error
        except StoreRefused as error:
            raise Declined(
                f"{error} {DISMISS_HINT}" if error.code in ("purged", "bad_request") else str(error)
            ) from error
        except (StoreUnavailable, LogUnavailable) as error:
            raise Unreachable(f"{error} `parley doctor` says more.") from error
    print(f"{session_id} tries again: version {event.version}.")
    return 0
