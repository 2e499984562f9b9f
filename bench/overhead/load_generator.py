"""Load generator: plays the user of many recorded sessions concurrently, and collects when each event was stored.

Times are the broker's, so that this process does not distort them.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg

from bench.overhead.bare_nats import EVENT_NUMBER_HEADER
from bench.overhead.recorded_events import RecordedEvent, stage_events
from shared.bus.topology import SESSIONS
from shared.log import guard_headers
from shared.services import WORKERS

RUN_TIMEOUT = 300.0  # seconds that all sessions of a run may take


class StageTime(NamedTuple):
    """Milliseconds from the event that made a service due to its first append, and to the last of this stage."""

    service: str
    exchange: int
    first_append_ms: float
    total_ms: float


class LoadResult(NamedTuple):
    stages: list[StageTime]
    seconds: float  # from the first message until everything is stored and projected


class DivergedFromRecording(Exception):
    """A session took another course than the recorded one."""


class LoadGenerator:
    """`guarded`: append with the version guard that Parley's log requires; bare NATS does without."""

    def __init__(self, client: Client, events: Sequence[RecordedEvent], *, guarded: bool) -> None:
        self._client, self._jetstream = client, client.jetstream(timeout=30)
        self._lines, self._guarded = events, guarded
        self._stored_at: dict[str, list[str]] = defaultdict(list)  # when each event was stored
        self._waiting: list[str] = []
        self._unfinished = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self, session_ids: Sequence[str], concurrency: int) -> LoadResult:
        """Run all sessions, `concurrency` at a time. Raises DivergedFromRecording."""
        feed = await self._client.subscribe("feed.>", cb=self._on_event, pending_msgs_limit=-1, pending_bytes_limit=-1)
        await self._client.flush()
        self._unfinished, self._waiting = len(session_ids), list(reversed(session_ids))
        began = time.perf_counter()
        for _ in range(min(concurrency, len(session_ids))):
            self._start_publish(self._waiting.pop(), 0, 0)
        try:
            async with asyncio.timeout(RUN_TIMEOUT):
                await self._done
        except TimeoutError:
            raise DivergedFromRecording(f"{self._unfinished} of {len(session_ids)} sessions have not ended") from None
        await self._wait_until_projected()
        seconds = time.perf_counter() - began
        await feed.unsubscribe()
        return LoadResult(
            [stage for times in self._stored_at.values() for stage in stage_times(self._lines, times)], seconds
        )

    async def _on_event(self, message: Msg) -> None:
        _, session_id, _, *kind = message.subject.split(".")
        stored_at, headers = self._stored_at[session_id], message.headers or {}
        if ".".join(kind) != self._lines[len(stored_at)].type:
            self._fail(
                DivergedFromRecording(f"{session_id}: {'.'.join(kind)} instead of {self._lines[len(stored_at)].type}")
            )
            return
        stored_at.append(headers["Nats-Time-Stamp"])
        if len(stored_at) == len(self._lines):
            self._unfinished -= 1
            if self._waiting:
                self._start_publish(self._waiting.pop(), 0, 0)
            elif self._unfinished == 0:
                self._done.set_result(None)
        elif self._lines[len(stored_at)].is_by_user:
            self._start_publish(session_id, len(stored_at), int(headers["Nats-Sequence"]))

    def _start_publish(self, session_id: str, number: int, after: int) -> None:
        task = asyncio.create_task(self._publish(session_id, self._lines[number], number, after))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _publish(self, session_id: str, event: RecordedEvent, number: int, after: int) -> None:
        headers = (
            guard_headers(session_id, after, f"{session_id}:{number}")
            if self._guarded
            else {EVENT_NUMBER_HEADER: str(number)}
        )
        try:
            await self._jetstream.publish(
                event.subject(session_id), event.body_of(session_id), stream=SESSIONS, headers=headers
            )
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self._done.done():
            self._done.set_exception(error)

    async def _wait_until_projected(self) -> None:
        """Wait until plan_store has acknowledged every event; in Parley, all of them are in SQL by then."""
        while True:
            info = await self._jetstream.consumer_info(SESSIONS, "plan_store")
            if not info.num_pending and not info.num_ack_pending:
                return
            await asyncio.sleep(0.01)


def stage_times(events: Sequence[RecordedEvent], times: Sequence[str]) -> Iterator[StageTime]:
    """The time of each stage, from the times at which the events were stored."""
    exchange = 0
    stored = [_seconds(text) for text in times]
    for number, event in enumerate(events[:-1]):
        exchange += event.type == "message.received"
        if event.due in WORKERS:
            first, last = stored[number + 1], stored[number + len(stage_events(events, number))]
            yield StageTime(event.due, exchange, 1000 * (first - stored[number]), 1000 * (last - stored[number]))


def _seconds(text: str) -> float:
    """Seconds of an RFC 3339 time with nanoseconds, precise to the microsecond; only differences are meaningful."""
    whole, _, rest = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() % 1_000_000 + float(f"0.{rest or 0}")
