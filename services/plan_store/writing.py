"""What was folded into SQL: one transaction at a time, for every session that has something new by then.

A session's row is moved only from the position and digest it is known to have: of several plan_stores that fold the
same messages, whoever commits first has projected them, and the others begin again from the row.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from sqlalchemy import Connection, Table, Update, bindparam, delete, update

from services.plan_store import parking
from services.plan_store.change import Change, Patch, Put, Remove, Values
from services.plan_store.database import Database, DatabaseDown, count, put_rows
from services.plan_store.folded import Folded, row, sealed
from services.plan_store.tables import journal, parked_messages, sessions, usage
from shared.log import UpgradeNeeded
from shared.telemetry import metrics

AT_ONCE = 200  # sessions in one transaction
GATHERS, MANY = 0.01, 4  # seconds that a transaction waits for so many sessions, where nobody waits for the rows
ALONE = (journal, usage)  # tables whose rows nothing changes later: those of all sessions go in together
Moved = Callable[[Folded, Folded], Awaitable[None]]


class Held:
    """A session in memory: as its row has it, as the log has it, and what that changes."""

    def __init__(self, stored: Folded) -> None:
        self.stored = self.newest = stored
        self.newer: UpgradeNeeded | None = None  # why this release folds no further
        self.changes: list[Change] = []
        self.lost = False  # the row is somewhere else: nothing of this can be written
        self.fault: Exception | None = None  # why it could not be written, alone of all
        self.folding = asyncio.Lock()
        self._moves: asyncio.Future[None] | None = None  # at the next move, if anybody waits for it

    def move(self, after: Folded, changes: Sequence[Change]) -> None:
        """One message further."""
        self.newest = after
        self.changes += changes
        if self._moves:
            self._moves.set_result(None)
            self._moves = None

    async def comes_to(self, position: int, seconds: float) -> None:
        """Wait a little for a message that is on its way."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.newest.position < position:
                    self._moves = self._moves or asyncio.get_running_loop().create_future()
                    await asyncio.shield(self._moves)

    @property
    def id(self) -> str:
        return self.newest.session.id


class Move(NamedTuple):
    """A row from what it is known to be to what it becomes."""

    held: Held
    known: Folded
    after: Folded
    changes: Sequence[Change]


class Writer:
    """The one who writes for this process; `on_moved` is told a session before and after, once that is stored."""

    def __init__(self, database: Database) -> None:
        self.on_moved: Moved | None = None
        self._database = database
        self._waiting: dict[str, Held] = {}
        self._next: asyncio.Future[None] | None = None  # ends with the transaction that has not begun yet
        self._now: asyncio.Future[None] | None = None  # with the one under way
        self._working: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    async def stored(self, held: Held, *, hurry: bool = False) -> bool:
        """Wait until all that is folded by now is stored; False if it is lost. Raises DatabaseDown.

        `hurry`: somebody waits for the rows.
        """
        position = held.newest.position
        while held.stored.position < position and not held.lost:
            self._waiting[held.id] = held
            if hurry or len(self._waiting) >= MANY:
                self._hurry.set()
            if self._next is None:
                self._next = asyncio.get_running_loop().create_future()
            if self._working is None:
                self._working = asyncio.create_task(self._work())
            await asyncio.shield(self._next)
            if held.fault:
                held.lost = True  # whoever tries again begins with the row
                raise held.fault
        return not held.lost

    async def settled(self) -> None:
        """Wait for the transaction that is under way, if one is."""
        if self._now:
            await asyncio.wait({self._now})

    async def _work(self) -> None:
        while self._next:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), GATHERS)
            self._hurry.clear()
            self._now, self._next = self._next, None
            waiting, self._waiting = [held for _, held in sorted(self._waiting.items())], {}  # no two writers deadlock
            try:
                for start in range(0, len(waiting), AT_ONCE):
                    await self._write([_move(held) for held in waiting[start : start + AT_ONCE] if not held.lost])
            except Exception as error:
                self._now.set_exception(error)
                self._now.exception()  # whoever waited for it may have left
            else:
                self._now.set_result(None)
            self._now = None
        self._working = None

    async def _write(self, moves: Sequence[Move]) -> None:
        """All together, or, where one of them cannot be written, each alone. Raises DatabaseDown."""
        try:
            await self._database.work(partial(apply, moves))
        except DatabaseDown:
            raise
        except Exception as error:
            if len(moves) > 1:
                for move in moves:
                    await self._write([move])
            elif isinstance(error, _Contested):
                moves[0].held.lost = True
            else:
                moves[0].held.fault = error
            return
        for move in moves:
            move.held.stored = move.after
            del move.held.changes[: len(move.changes)]
        metrics.EVENTS_REFUSED.inc(sum(_is_parked(change) for move in moves for change in move.changes))
        if self.on_moved:
            await asyncio.gather(*(self.on_moved(move.known, move.after) for move in moves))


def _is_parked(change: Change) -> bool:
    return isinstance(change, Put) and change.table is parked_messages


def _move(held: Held) -> Move:
    return Move(held, held.stored, sealed(held.newest), tuple(held.changes))


# --- in the transaction


class _Contested(Exception):
    """Not all of the rows were where they are known to be."""


def apply(moves: Sequence[Move], tx: Connection) -> None:
    """Write them all, many rows with one statement. Raises _Contested; then nothing is written.

    The claims come first: SQLite then never has to turn a reader into a writer.
    """
    if _claims(tx, moves) != len(moves):
        raise _Contested
    for table in ALONE:
        rows = [c.values for move in moves for c in move.changes if isinstance(c, Put) and c.table is table]
        put_rows(tx, table, rows)
    others = [[c for c in m.changes if not (isinstance(c, Put) and c.table in ALONE)] for m in moves]
    for row_of_changes in zip_longest(*others):  # those of one session in their order; sessions do not touch each other
        _together(tx, [change for change in row_of_changes if change])


_MOVE = update(sessions).where(
    sessions.c.id == bindparam("known_id"),
    sessions.c.position == bindparam("known_position"),
    sessions.c.snapshot_digest == bindparam("known_digest"),
)


def _claims(tx: Connection, moves: Sequence[Move]) -> int:
    """Move the rows from the position and digest that were known; how many were there, or not yet."""
    made = [row(move.after) for move in moves if move.known.times is None]
    moved = [
        row(m.after) | {"known_id": m.held.id, "known_position": m.known.position, "known_digest": m.known.digest}
        for m in moves
        if m.known.times is not None
    ]
    return parking.insert_new(tx, made) + count(tx, _MOVE, moved)


def _together(tx: Connection, changes: Sequence[Change]) -> None:
    """Changes of as many sessions: those of one form in one statement."""
    puts: dict[tuple[Table, *tuple[str, ...]], list[Values]] = defaultdict(list)
    patches: dict[tuple[Update, *tuple[str, ...]], list[Values]] = defaultdict(list)
    for change in changes:
        match change:
            case Put(table, values):
                puts[table, *values].append(values)
            case Patch(statement, values):
                patches[statement, *values].append(values)
            case Remove():
                tx.execute(delete(change.table).where(change.where))
    for (table, *_), rows in puts.items():
        put_rows(tx, table, rows)
    for (statement, *_), rows in patches.items():
        tx.execute(statement, rows)
