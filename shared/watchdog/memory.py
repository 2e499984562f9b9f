"""Memory shared by a service, which writes it without system calls, and its guard, which reads it."""

import mmap
import os
import struct
from typing import NamedTuple

NO_DELIVERY, UNKNOWN = -1, -2  # values of `blamed`: no delivery was running; unknown
MAX_DELIVERIES, MAX_SUBJECT_BYTES = (
    256,
    246,
)  # recorded at once; bytes of an acknowledgement subject
_BEAT, _BLAMED, _NUMBER = struct.Struct("=Q"), struct.Struct("=q"), struct.Struct("=q")
_ENTRY = struct.Struct(f"=q?B{MAX_SUBJECT_BYTES}s")
_BLAMED_AT = _BEGUN_AT = 8
_ENTRIES_AT = 16
SIZE = _ENTRIES_AT + MAX_DELIVERIES * _ENTRY.size


def create_memory() -> int:
    """The file descriptor of new shared memory. Linux only."""
    memory = os.memfd_create("watchdog")
    os.ftruncate(memory, SIZE)
    return memory


class ActiveDelivery(NamedTuple):
    """A delivery without an answer: its acknowledgement subject, and whether its handler is running."""

    reply: str
    is_running: bool


class SharedMemory:
    """The heartbeat, the delivery that blocks the loop, and the active deliveries."""

    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, SIZE)
        self._free = list(range(_ENTRIES_AT, SIZE, _ENTRY.size))
        self._taken: dict[int, int] = {}
        self._number = 0

    @property
    def beat(self) -> int:
        """A number that changes with every heartbeat; 0 while the process is not watched."""
        return int(_BEAT.unpack_from(self._map)[0])

    @beat.setter
    def beat(self, number: int) -> None:
        _BEAT.pack_into(self._map, 0, number)

    @property
    def blocking_delivery(self) -> int:
        """The number of the delivery whose code ran when the guard asked; or NO_DELIVERY, UNKNOWN."""
        return int(_BLAMED.unpack_from(self._map, _BLAMED_AT)[0])

    @blocking_delivery.setter
    def blocking_delivery(self, number: int) -> None:
        _BLAMED.pack_into(self._map, _BLAMED_AT, number)

    def add(self, reply: str) -> int:
        """Add a delivery by its acknowledgement subject, if there is room. Returns its number."""
        self._number += 1
        name = reply.encode()
        if self._free and len(name) <= MAX_SUBJECT_BYTES:
            at = self._taken[self._number] = self._free.pop()
            _ENTRY.pack_into(self._map, at, self._number, False, len(name), name)
        return self._number

    def mark_running(self, number: int) -> None:
        """Record that the delivery's handler is running."""
        if at := self._taken.get(number):
            self._map[at + _BEGUN_AT] = True

    def remove(self, number: int) -> None:
        """Remove a delivery that was answered."""
        if at := self._taken.pop(number, 0):
            _NUMBER.pack_into(self._map, at, 0)
            self._free.append(at)

    def active_deliveries(self) -> dict[int, ActiveDelivery]:
        """The active deliveries by number."""
        entries = (_ENTRY.unpack_from(self._map, at) for at in range(_ENTRIES_AT, SIZE, _ENTRY.size))
        return {
            number: ActiveDelivery(name[:length].decode(), begun) for number, begun, length, name in entries if number
        }
