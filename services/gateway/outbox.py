"""What is on its way to one client: bounded, so that a slow one costs it its socket and nobody else anything."""

import asyncio
from collections import deque
from typing import NamedTuple

from services.gateway.commands import Shown

MAX_MESSAGES, MAX_SIZE = 2_000, 16 * 1024 * 1024  # size in characters
CALM = 100  # with more messages waiting than this, history is not read on


class Letter(NamedTuple):
    """One message as JSON, and what it puts before the person's eyes."""

    text: str
    session_id: str
    shows: Shown | None = None


class Outbox:
    """A queue with one reader. Once it overflows it takes nothing more: the client would see a hole."""

    def __init__(self, *, messages: int = MAX_MESSAGES, size: int = MAX_SIZE) -> None:
        self.overflowed = asyncio.Event()
        self._messages, self._limit = messages, size
        self._letters: deque[Letter] = deque()
        self._size = 0
        self._arrived = asyncio.Event()
        self._calm = asyncio.Event()
        self._calm.set()

    def put(self, letter: Letter) -> None:
        """Never waits. What does not fit sets `overflowed`."""
        size = self._size + len(letter.text)
        if self.overflowed.is_set() or len(self._letters) >= self._messages or size > self._limit:
            self.overflowed.set()
            return
        self._letters.append(letter)
        self._size = size
        self._arrived.set()
        if len(self._letters) > CALM:
            self._calm.clear()

    @property
    def empty(self) -> bool:
        return not self._letters

    async def get(self) -> Letter:
        while not self._letters:
            self._arrived.clear()
            await self._arrived.wait()
        letter = self._letters.popleft()
        self._size -= len(letter.text)
        if len(self._letters) <= CALM:
            self._calm.set()
        return letter

    async def calm(self) -> None:
        """Wait until the client has taken most of what waits for it."""
        await self._calm.wait()
