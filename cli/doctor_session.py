"""`parley doctor SESSION`: where one session stands, who is due, what keeps them, and what to do about it.

The session is read from the log itself, so that it can be told also while plan_store is away.
"""

import asyncio
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from cli.checks import table
from cli.command import Declined, Unreachable
from cli.diagnosis import Folded, Found, conclusion, examined
from cli.doctor import check_model
from cli.home import attached
from cli.running import bus
from shared.bus import Bus, BusDown, Consumer
from shared.domain.session import Session
from shared.log import Log, LogDown, SessionAtPosition, UpgradeNeeded, accept
from shared.settings import Settings
from shared.store import Store, StoreDown, StoreRefused
from shared.store_api import DEAD_LIST, DeadPage, ListDead

LOOKS, PAUSE = 10, 0.2  # at a consumer that nobody asks anything: a worker with a free hand asks all the time
LETTERS = 1000


async def doctor_session(settings: Settings, session_id: str) -> int:
    """Print what was found; 1 where something keeps the session from going on. Raises Unreachable, Declined."""
    async with bus(settings) as found:
        try:
            folded = await fold(found.log, session_id)
        except LogDown as error:
            raise Unreachable(f"{error} `parley doctor` says more.") from error
        if not folded.session.version and not folded.parked and not folded.newer:
            raise Declined(f"There is no session {session_id}; `parley sessions` lists them.")
        seen = await _look(found, folded, settings)
    checks = examined(seen)
    console = Console(highlight=False)
    console.print(table(checks))
    console.print(Text(f"\n{conclusion(seen)}"))
    return int(any(check.outcome == "fail" for check in checks))


async def fold(log: Log, session_id: str, *, until: int | None = None) -> Folded:
    """The session from its messages (to this version), with those that are none of its events. Raises LogDown."""
    loaded = SessionAtPosition(Session(session_id), 0)
    places: dict[int, tuple[int, datetime]] = {}
    parked: list[tuple[int, str]] = []
    while page := await log.read(session_id, after=loaded.position):
        for raw in page:
            try:
                loaded, event, why = accept(loaded, raw)
            except UpgradeNeeded as newer:
                return Folded(loaded.session, places, tuple(parked), newer)
            if event:
                places[event.version] = (raw.position, raw.at)
            else:
                parked.append((raw.position, why))
            if loaded.session.version == until:
                return Folded(loaded.session, places, tuple(parked))
    return Folded(loaded.session, places, tuple(parked))


async def _look(found: Bus, folded: Folded, settings: Settings) -> Found:
    work = folded.session.work
    consumer = await _consumer(found, work.service) if work else None
    letters, store = await _letters(found, folded.session.id)
    model = await asyncio.to_thread(check_model, attached(settings))
    return Found(folded, consumer, store, letters, model, settings, datetime.now(UTC))


async def _consumer(found: Bus, service: str) -> Consumer | None:
    """How it stands, after a while in which a living service would have asked for something; None: nobody knows."""
    try:
        consumer = await found.consumer(service)
        for _ in range(LOOKS):
            if consumer.asking:
                break
            await asyncio.sleep(PAUSE)
            consumer = await found.consumer(service)
    except BusDown:
        return None
    return consumer


async def _letters(found: Bus, session_id: str) -> tuple[tuple[str, ...], str]:
    """Why deliveries of this session were given up, the newest first; and why plan_store does not answer."""
    try:
        answer = await Store(found, wait=3).ask(DEAD_LIST.name, **ListDead(limit=LETTERS).model_dump())
    except (StoreDown, StoreRefused) as error:
        return (), str(error)
    page = DeadPage.model_validate(answer)
    return tuple(f"{one.consumer}: {one.reason}" for one in page.dead if one.session_id == session_id), ""
