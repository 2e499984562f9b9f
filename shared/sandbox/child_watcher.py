"""Waits until a child ends, its time is up or it exceeds a limit."""

import asyncio
import os
from functools import partial

from shared.sandbox.child import Child
from shared.sandbox.model import Ending, Limits
from shared.sandbox.scratch import exceeds

_CHUNK = 65_536
_DISK_INTERVAL = 0.025  # seconds between two measurements: a disk writes about a gigabyte per second


class Capture:
    """The output of one stream, at most `limit` bytes."""

    def __init__(self, descriptor: int, limit: int) -> None:
        self.descriptor = descriptor
        self.data = bytearray()
        self.truncated = False
        self._most = limit

    def read(self) -> bool:
        """Read at most one chunk. False if there is no more, for now or for ever."""
        room = self._most - len(self.data)
        try:
            chunk = os.read(self.descriptor, min(_CHUNK, room + 1))
        except BlockingIOError:
            return False
        self.truncated = self.truncated or len(chunk) > room
        self.data += chunk[:room]
        return bool(chunk) and not self.truncated

    def read_rest(self) -> None:
        """Read the rest of a stream whose writer has ended."""
        while not self.truncated and self.read():
            pass

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")


async def wait_readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


class ChildWatcher:
    """Watches one child. `wait()` returns why the run is over; the caller kills the child."""

    def __init__(self, child: Child, limits: Limits, streams: list[Capture]) -> None:
        self._child = child
        self._limits = limits
        self._streams = streams
        self._loop = asyncio.get_running_loop()
        self._why: asyncio.Future[Ending] = self._loop.create_future()
        self._disk_timer: asyncio.TimerHandle | None = None

    async def wait(self) -> Ending:
        clock = self._loop.call_later(self._limits.wall, self._settle, "timeout")
        self._loop.add_reader(self._child.ended, self._settle, "exited")
        for stream in self._streams:
            self._loop.add_reader(stream.descriptor, self._read_stream, stream)
        self._check_disk()
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

    def _read_stream(self, stream: Capture) -> None:
        if stream.read():
            return
        if stream.truncated:
            self._settle("output_limit")
        else:
            self._loop.remove_reader(stream.descriptor)

    def _check_disk(self) -> None:
        """Measure in a thread: a program can make a measurement slow, which would block the event loop."""
        child, most = self._child, self._limits.disk
        look = self._loop.run_in_executor(None, partial(exceeds, child.scratch, limit=most, pid=child.process.pid))
        look.add_done_callback(self._disk_checked)

    def _disk_checked(self, look: "asyncio.Future[bool]") -> None:
        if self._why.done():
            look.exception()  # the folder may be removed meanwhile
        elif look.result():
            self._settle("disk_limit")
        else:
            self._disk_timer = self._loop.call_later(_DISK_INTERVAL, self._check_disk)
