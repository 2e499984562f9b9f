"""What a service and its guard share: written by the one without a system call, read by the other when it is silent."""

import mmap
import os
import struct
from typing import NamedTuple

NO_DELIVERY, UNKNOWN = -1, -2  # values of `blamed`: a request or a task of the service's own; nobody could tell
SLOTS, LONGEST = 256, 246  # deliveries that are recorded at once, and bytes of an acknowledgement subject
_BEAT, _BLAMED, _NUMBER = struct.Struct("=Q"), struct.Struct("=q"), struct.Struct("=q")
_ENTRY = struct.Struct(f"=q?B{LONGEST}s")
_BLAMED_AT = _BEGUN_AT = 8
_ENTRIES_AT = 16
SIZE = _ENTRIES_AT + SLOTS * _ENTRY.size


def create() -> int:
    """The descriptor of an empty memory. Linux only."""
    memory = os.memfd_create("watchdog")
    os.ftruncate(memory, SIZE)
    return memory


class InHand(NamedTuple):
    """A delivery that the service has not answered: its acknowledgement subject, and whether its handler has begun."""

    reply: str
    begun: bool


class Memory:
    """A heartbeat, the delivery that runs when the guard asks, and those in hand."""

    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, SIZE)
        self._free = list(range(_ENTRIES_AT, SIZE, _ENTRY.size))
        self._taken: dict[int, int] = {}
        self._number = 0

    @property
    def beat(self) -> int:
        """It changes with every heartbeat; 0 while nobody is to watch."""
        return int(_BEAT.unpack_from(self._map)[0])

    @beat.setter
    def beat(self, number: int) -> None:
        _BEAT.pack_into(self._map, 0, number)

    @property
    def blamed(self) -> int:
        """The number of the delivery whose code ran when the guard asked, NO_DELIVERY or UNKNOWN."""
        return int(_BLAMED.unpack_from(self._map, _BLAMED_AT)[0])

    @blamed.setter
    def blamed(self, number: int) -> None:
        _BLAMED.pack_into(self._map, _BLAMED_AT, number)

    def take(self, reply: str) -> int:
        """Record a delivery by its acknowledgement subject; the number it gets, also where there is no room for it."""
        self._number += 1
        name = reply.encode()
        if self._free and len(name) <= LONGEST:
            at = self._taken[self._number] = self._free.pop()
            _ENTRY.pack_into(self._map, at, self._number, False, len(name), name)
        return self._number

    def begin(self, number: int) -> None:
        """Its handler begins."""
        if at := self._taken.get(number):
            self._map[at + _BEGUN_AT] = True

    def give_back(self, number: int) -> None:
        """It is done."""
        if at := self._taken.pop(number, 0):
            _NUMBER.pack_into(self._map, at, 0)
            self._free.append(at)

    def in_hand(self) -> dict[int, InHand]:
        """Every delivery in hand, by its number."""
        entries = (_ENTRY.unpack_from(self._map, at) for at in range(_ENTRIES_AT, SIZE, _ENTRY.size))
        return {number: InHand(name[:length].decode(), begun) for number, begun, length, name in entries if number}
