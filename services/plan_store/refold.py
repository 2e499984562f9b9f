"""All sessions folded from the whole log in its own order, hundreds of them with one transaction."""

from collections.abc import AsyncIterator, Collection, Sequence
from functools import partial

import structlog
from cachetools import LRUCache
from sqlalchemy import Connection, RowMapping, select

from services.plan_store.database import Database, DatabaseDown, put_rows
from services.plan_store.folded import Folded, from_row, moved, sealed, size_of, unknown
from services.plan_store.history import Step, StoreLog, fold_one
from services.plan_store.parking import bounded, is_session_id
from services.plan_store.rows import changes, parked
from services.plan_store.shadow import reached
from services.plan_store.tables import parked_messages, sessions, waiting_for_upgrade
from services.plan_store.writing import Held, Move, apply
from shared.domain.session import Session
from shared.log import LogDown, SessionAtPosition, StoredMessage, UpgradeNeeded, follows
from shared.retry import retry_while_unavailable

PAGE = 1000  # messages read at once
MESSAGES, BYTES = 5_000, 16_000_000  # of one transaction, at most and a page
REMEMBERED = 32_000_000  # bytes of folded sessions
PATIENCE = 60.0  # seconds that a log which does not answer is asked again
ASKED = 500  # ids in one query
log = structlog.get_logger("rebuild")


class Refold:
    """Takes messages in the log's order; what it remembers is bounded, and the rest is in the rows."""

    def __init__(self, source: StoreLog, database: Database, purged: Collection[str]) -> None:
        self._log = source
        self._database = database
        self._purged = purged
        self._known: LRUCache[str, Folded] = LRUCache(maxsize=REMEMBERED, getsizeof=size_of)
        self._held: dict[str, Held] = {}
        self._parked: list[dict[str, object]] = []
        self._given_up: set[str] = set()
        self._newer: dict[str, dict[str, object]] = {}  # rows of sessions that a newer release has continued

    async def run(self, position: int) -> AsyncIterator[int]:
        """Fold everything after this position; yields the position that is stored. Raises LogDown, DatabaseDown."""
        self._newer = {row["session_id"]: dict(row) for row in await self._database.work(_waiting)}
        messages, size = 0, 0
        while page := await self._page(position):
            await self._fetch(page)
            for raw in page:
                await self._take(raw)
            position = page[-1].position
            messages, size = messages + len(page), size + sum(len(raw.data) for raw in page)
            if messages >= MESSAGES or size >= BYTES:
                await self._store(position)
                yield position
                messages, size = 0, 0
        await self._store(position)
        yield position

    @retry_while_unavailable(LogDown, patience=PATIENCE)
    async def _page(self, after: int) -> list[StoredMessage]:
        """A replica may lag: the leader alone knows that there is nothing more."""
        page = await self._log.read_all(after=after, limit=PAGE)
        return page or await self._log.read_all(after=after, limit=PAGE, leader=True)

    async def _fetch(self, page: Sequence[StoredMessage]) -> None:
        """The rows of the page's sessions that are not at hand."""
        begun = {raw.subject.split(".")[1] for raw in page if not follows(raw, 0)}
        missing = sorted(one for one in begun if one not in self._held and one not in self._known)
        for start in range(0, len(missing), ASKED):
            for found in await self._database.work(partial(_rows, missing[start : start + ASKED])):
                if (known := from_row(found)) is None:
                    raise RuntimeError(f"The row of {found['id']} is not what this release has written.")
                self._held[known.session.id] = Held(known)

    async def _take(self, raw: StoredMessage) -> None:
        session_id = raw.subject.split(".")[1]
        if not is_session_id(session_id):
            self._park(raw, session_id, "not the id of a session")
        elif session_id in self._purged:
            self._park(raw, session_id, "the session was purged")
        elif session_id not in self._given_up:
            held = self._held.get(session_id)
            if held is None:
                held = self._held[session_id] = Held(self._known.get(session_id) or unknown(session_id))
            if raw.position > held.newest.position:  # else it was stored before a crash
                self._fold(held, raw)

    def _fold(self, held: Held, raw: StoredMessage) -> None:
        """Fold the message, unless a newer release has continued the session: then only its position is noted."""
        if held.id in self._newer:
            self._newer[held.id]["position"] = raw.position
            return
        try:
            step = fold_one(held.newest.loaded, raw)
        except UpgradeNeeded as newer:
            row = {"session_id": held.id, "position": raw.position, "needs": newer.needs, "rules": newer.rules}
            self._newer[held.id] = row | {"at": raw.at}
        else:
            held.move(moved(held.newest, step), list(changes(step)))

    def _park(self, raw: StoredMessage, session_id: str, reason: str) -> None:
        shown = bounded(session_id)
        nothing = SessionAtPosition(Session(shown), 0)
        self._parked.append(parked(Step(nothing, raw, None, reason, nothing), shown).values)

    async def _store(self, position: int) -> None:
        moves = [_move(held) for held in self._held.values() if held.changes]
        rows, self._parked, self._held = self._parked, [], {}
        newer = list(self._newer.values())
        try:
            await self._database.work(partial(_write, moves, rows, newer, position))
        except DatabaseDown:
            raise
        except Exception:
            for move in moves:
                await self._alone(move)
            await self._database.work(partial(_write, (), rows, newer, position))
        for move in moves:
            if move.held.id not in self._given_up and move.after.size <= REMEMBERED:
                self._known[move.held.id] = move.after

    async def _alone(self, move: Move) -> None:
        """One that cannot be written keeps no other from its rows."""
        try:
            await self._database.work(partial(apply, (move,)))
        except DatabaseDown:
            raise
        except Exception as error:
            self._given_up.add(move.held.id)
            log.error("session_not_rebuilt", session=move.held.id, error=str(error)[:500])


def _move(held: Held) -> Move:
    return Move(held, held.stored, sealed(held.newest), held.changes)


def _rows(ids: Sequence[str], tx: Connection) -> Sequence[RowMapping]:
    return tx.execute(select(sessions).where(sessions.c.id.in_(ids))).mappings().all()


def _waiting(tx: Connection) -> Sequence[RowMapping]:
    return tx.execute(select(waiting_for_upgrade)).mappings().all()


type Rows = Sequence[dict[str, object]]


def _write(moves: Sequence[Move], rows: Rows, newer: Rows, position: int, tx: Connection) -> None:
    apply(moves, tx)
    put_rows(tx, parked_messages, rows)
    put_rows(tx, waiting_for_upgrade, newer)
    reached(tx, position)
