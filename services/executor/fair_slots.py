"""Slots for batches of tool calls, which no user can take from the others."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairSlots:
    """At most `total` batches run at once, and a user's next one only while more slots are free than the user holds.

    So one user alone gets half of the slots, and a slot stays free for the next user until many hold some. Batches
    start in the order of their arrival, except that one of a user who holds too many lets others pass.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._held: Counter[str] = Counter()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, user: str) -> AsyncIterator[None]:
        """Waits until the user's batch may run, and holds its slot meanwhile."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((user, turn))
        self._start_waiting()
        try:
            await turn
            yield
        finally:
            if (user, turn) in self._waiting:
                self._waiting.remove((user, turn))
            else:
                self._held -= Counter([user])
            self._start_waiting()

    def _start_waiting(self) -> None:
        for entry in list(self._waiting):
            user, turn = entry
            if not turn.cancelled() and self._held[user] < self._total - self._held.total():
                self._waiting.remove(entry)
                self._held[user] += 1
                turn.set_result(None)
