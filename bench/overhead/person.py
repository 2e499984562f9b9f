"""Plays the person of many recorded sessions at once, and notes when the broker stored each event.

The broker's times are used, so that measuring takes no part in them.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg

from bench.overhead.bare import LINE
from bench.overhead.lines import Line, stage
from shared.bus.topology import SESSIONS
from shared.log import guard
from shared.services import WORKERS

PATIENCE = 300.0  # seconds that all sessions of a run may take


class Stage(NamedTuple):
    """A service's part: milliseconds from what made it due to its first append, and to the one that ends its turn."""

    service: str
    exchange: int
    first: float
    whole: float


class Played(NamedTuple):
    stages: list[Stage]
    seconds: float  # from the first word until everything is stored and projected


class Wrong(Exception):
    """A session took another course than the recorded one."""


class Person:
    """`guarded`: with the guard that Parley's log demands; the bare pipeline does without."""

    def __init__(self, client: Client, lines: Sequence[Line], *, guarded: bool) -> None:
        self._client, self._jetstream = client, client.jetstream(timeout=30)
        self._lines, self._guarded = lines, guarded
        self._seen: dict[str, list[str]] = defaultdict(list)  # when each event was stored
        self._waiting: list[str] = []
        self._left = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def play(self, session_ids: Sequence[str], concurrency: int) -> Played:
        """All these sessions, so many at once."""
        feed = await self._client.subscribe("feed.>", cb=self._stored, pending_msgs_limit=-1, pending_bytes_limit=-1)
        await self._client.flush()
        self._left, self._waiting = len(session_ids), list(reversed(session_ids))
        began = time.perf_counter()
        for _ in range(min(concurrency, len(session_ids))):
            self._say(self._waiting.pop(), 0, 0)
        try:
            async with asyncio.timeout(PATIENCE):
                await self._done
        except TimeoutError:
            raise Wrong(f"{self._left} of {len(session_ids)} sessions have not ended") from None
        await self._projected()
        seconds = time.perf_counter() - began
        await feed.unsubscribe()
        return Played([stage for times in self._seen.values() for stage in stages(self._lines, times)], seconds)

    async def _stored(self, message: Msg) -> None:
        _, session_id, _, *kind = message.subject.split(".")
        seen, headers = self._seen[session_id], message.headers or {}
        if ".".join(kind) != self._lines[len(seen)].type:
            self._fail(Wrong(f"{session_id}: {'.'.join(kind)} instead of {self._lines[len(seen)].type}"))
            return
        seen.append(headers["Nats-Time-Stamp"])
        if len(seen) == len(self._lines):
            self._left -= 1
            if self._waiting:
                self._say(self._waiting.pop(), 0, 0)
            elif self._left == 0:
                self._done.set_result(None)
        elif self._lines[len(seen)].is_person:
            self._say(session_id, len(seen), int(headers["Nats-Sequence"]))

    def _say(self, session_id: str, number: int, after: int) -> None:
        task = asyncio.create_task(self._publish(session_id, self._lines[number], number, after))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _publish(self, session_id: str, line: Line, number: int, after: int) -> None:
        headers = guard(session_id, after, f"{session_id}:{number}") if self._guarded else {LINE: str(number)}
        try:
            await self._jetstream.publish(
                line.subject(session_id), line.body_of(session_id), stream=SESSIONS, headers=headers
            )
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self._done.done():
            self._done.set_exception(error)

    async def _projected(self) -> None:
        """Wait until plan_store has acknowledged every event: in Parley all of them are in SQL by then."""
        while True:
            info = await self._jetstream.consumer_info(SESSIONS, "plan_store")
            if not info.num_pending and not info.num_ack_pending:
                return
            await asyncio.sleep(0.01)


def stages(lines: Sequence[Line], times: Sequence[str]) -> Iterator[Stage]:
    """What each service took, from the times at which the events were stored."""
    exchange = 0
    stored = [_seconds(text) for text in times]
    for number, line in enumerate(lines[:-1]):
        exchange += line.type == "message.received"
        if line.due in WORKERS:
            first, last = stored[number + 1], stored[number + len(stage(lines, number))]
            yield Stage(line.due, exchange, 1000 * (first - stored[number]), 1000 * (last - stored[number]))


def _seconds(text: str) -> float:
    """RFC 3339 with nanoseconds; only differences within a run are of interest, to the microsecond."""
    whole, _, rest = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() % 1_000_000 + float(f"0.{rest or 0}")
