"""Waits for a child: whatever comes first of its end, the clock and the limits."""

import asyncio
import os
from functools import partial

from shared.sandbox.child import Child
from shared.sandbox.model import Ending, Limits
from shared.sandbox.scratch import exceeds

_CHUNK = 65_536
_LOOK_AT_DISK = 0.025  # seconds between two looks: a disk takes about a gigabyte a second


class Capture:
    """What one stream has said, never more than `most` bytes."""

    def __init__(self, descriptor: int, most: int) -> None:
        self.descriptor = descriptor
        self.data = bytearray()
        self.truncated = False
        self._most = most

    def read(self) -> bool:
        """Takes what there is, at most one chunk. False at the end of the stream, for now or for ever."""
        room = self._most - len(self.data)
        try:
            chunk = os.read(self.descriptor, min(_CHUNK, room + 1))
        except BlockingIOError:
            return False
        self.truncated = self.truncated or len(chunk) > room
        self.data += chunk[:room]
        return bool(chunk) and not self.truncated

    def read_rest(self) -> None:
        """For a stream whose writer is dead."""
        while not self.truncated and self.read():
            pass

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")


async def readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    seen = asyncio.Event()
    loop.add_reader(descriptor, seen.set)
    try:
        await seen.wait()
    finally:
        loop.remove_reader(descriptor)


class Watch:
    """One wait for a child. `ended()` returns why it should be over; the caller ends it."""

    def __init__(self, child: Child, limits: Limits, streams: list[Capture]) -> None:
        self._child = child
        self._limits = limits
        self._streams = streams
        self._loop = asyncio.get_running_loop()
        self._why: asyncio.Future[Ending] = self._loop.create_future()
        self._disk_timer: asyncio.TimerHandle | None = None

    async def ended(self) -> Ending:
        clock = self._loop.call_later(self._limits.wall, self._settle, "timeout")
        self._loop.add_reader(self._child.ended, self._settle, "exited")
        for stream in self._streams:
            self._loop.add_reader(stream.descriptor, self._take, stream)
        self._look_at_disk()
        try:
            return await self._why
        finally:
            clock.cancel()
            if self._disk_timer:
                self._disk_timer.cancel()
            for descriptor in (self._child.ended, *(stream.descriptor for stream in self._streams)):
                self._loop.remove_reader(descriptor)

    def _settle(self, why: Ending) -> None:
        if not self._why.done():
            self._why.set_result(why)

    def _take(self, stream: Capture) -> None:
        if stream.read():
            return
        if stream.truncated:
            self._settle("output_limit")
        else:
            self._loop.remove_reader(stream.descriptor)

    def _look_at_disk(self) -> None:
        """In a thread: a program can make each look take milliseconds, and this loop carries other work, too."""
        child, most = self._child, self._limits.disk
        look = self._loop.run_in_executor(None, partial(exceeds, child.scratch, most=most, pid=child.process.pid))
        look.add_done_callback(self._looked)

    def _looked(self, look: "asyncio.Future[bool]") -> None:
        if self._why.done():
            look.exception()  # the folder may have gone under it
        elif look.result():
            self._settle("disk_limit")
        else:
            self._disk_timer = self._loop.call_later(_LOOK_AT_DISK, self._look_at_disk)
