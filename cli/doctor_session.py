"""`parley doctor SESSION`: the state of one session, which service is due, what blocks it, and what to do.

It reads the session from the log itself, so it works while plan_store is down.
"""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from cli.bus_client import connect_bus
from cli.command import Declined, Unreachable
from cli.diagnosis import Findings, FoldedSession, StoreAnswer, checks_for, conclusion
from cli.doctor import check_model
from cli.doctor_check import check_table
from cli.home import use_running_nats
from shared.bus import Bus, BusUnavailable, ConsumerState
from shared.domain.session import Session
from shared.log import LogUnavailable, SessionAtPosition, SessionLog, UpgradeNeeded, accept
from shared.settings import Settings
from shared.store import PlanStoreClient, StoreRefused, StoreUnavailable
from shared.store_api import DEAD_LIST, DeadPage, ListDead

# An idle worker keeps requesting messages, so one of these checks of its consumer sees a request.
CONSUMER_CHECKS = 10
CHECK_INTERVAL = 0.2  # seconds
MAX_LETTERS = 1000


async def doctor_session(settings: Settings, session_id: str) -> int:
    """Print the diagnosis. Exit code 1 if something blocks the session. Raises Unreachable, Declined."""
    async with connect_bus(settings) as bus:
        store = await _ask_store(bus, session_id)  # before the log, which must then have all that the database has
        try:
            folded = await fold_session(bus.log, session_id)
        except LogUnavailable as error:
            raise Unreachable(f"{error} `parley doctor` says more.") from error
        if not folded.session.version and not folded.parked and not folded.upgrade_needed and not store.version:
            raise Declined(f"There is no session {session_id}; `parley sessions` lists them.")
        findings = await _collect_findings(bus, folded, store, settings)
    checks = checks_for(*findings)
    console = Console(highlight=False)
    console.print(check_table(checks))
    console.print(Text(f"\n{conclusion(*findings)}"))
    return int(any(check.outcome == "fail" for check in checks))


async def fold_session(log: SessionLog, session_id: str, *, until: int | None = None) -> FoldedSession:
    """Fold the session from its messages, up to version `until` if given. Raises LogUnavailable."""
    loaded = SessionAtPosition(Session(session_id), 0)
    positions: dict[int, tuple[int, datetime]] = {}
    quarantined: list[tuple[int, str]] = []
    while page := await log.read(session_id, after=loaded.position, leader=True):
        for raw in page:
            try:
                loaded, event, why = accept(loaded, raw)
            except UpgradeNeeded as newer:
                return FoldedSession(loaded.session, positions, tuple(quarantined), newer)
            if event:
                positions[event.version] = (raw.position, raw.at)
            else:
                quarantined.append((raw.position, why))
            if loaded.session.version == until:
                return FoldedSession(loaded.session, positions, tuple(quarantined))
    return FoldedSession(loaded.session, positions, tuple(quarantined))


async def _collect_findings(bus: Bus, folded: FoldedSession, store: StoreAnswer, settings: Settings) -> list[Findings]:
    """The findings about each piece of due work; without any, those about the session."""
    model = await asyncio.to_thread(check_model, use_running_nats(settings))
    now = datetime.now(UTC)
    return [
        Findings(folded, work, await _consumer(bus, work.service) if work else None, store, model, settings, now)
        for work in folded.session.works or (None,)
    ]


async def _consumer(bus: Bus, service: str) -> ConsumerState | None:
    """The consumer, after waiting long enough for an idle worker to request messages; None if it does not exist."""
    try:
        consumer = await bus.consumer_state(service)
        for _ in range(CONSUMER_CHECKS):
            if consumer.has_waiting_pull:
                break
            await asyncio.sleep(CHECK_INTERVAL)
            consumer = await bus.consumer_state(service)
    except BusUnavailable:
        return None
    return consumer


async def _ask_store(bus: Bus, session_id: str) -> StoreAnswer:
    client = PlanStoreClient(bus, wait=3)
    try:
        page = DeadPage.model_validate(await client.ask(DEAD_LIST.name, **ListDead(limit=MAX_LETTERS).model_dump()))
        letters = tuple(f"{dead.consumer}: {dead.reason}" for dead in page.dead if dead.session_id == session_id)
        with suppress(StoreRefused, UpgradeNeeded):  # purged, or waiting for a newer release
            return StoreAnswer(letters, (await client.load(session_id)).session.version)
    except (StoreUnavailable, StoreRefused) as error:
        return StoreAnswer(problem=str(error))
    return StoreAnswer(letters)
