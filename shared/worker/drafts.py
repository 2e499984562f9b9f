"""Drafts: texts that a model is writing, sent to viewers as they grow, and never stored."""

import time
from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, Literal, NamedTuple

from parley.protocol.server import Delta
from shared.bus import Bus, BusUnavailable

Kind = Literal["plan", "code", "tests", "answer", "verdict", "node"]
Render = Callable[[Mapping[str, Any]], str]


class _Draft(NamedTuple):
    """The whole draft, and until when (`time.monotonic()`) the model's server asks to wait; 0: it does not."""

    whole: Delta
    wait_ends: float = 0.0

    def from_offset(self, offset: int) -> bytes:
        """The delta from this character on."""
        wait = max(ceil(self.wait_ends - time.monotonic()), 0) if self.wait_ends else None
        text = self.whole.text[offset:]
        return self.whole.model_copy(update={"offset": offset, "text": text, "wait": wait}).model_dump_json().encode()


class Drafts:
    """The current draft of each session in this process, published on `delta.<session>.<draft>`."""

    def __init__(self, bus: Bus | None) -> None:
        self._bus = bus
        self._current: dict[str, _Draft] = {}

    async def current(self, subject: str, _: bytes) -> bytes | None:
        """Answer `draft.get.<session_id>` with the text so far; None if another process writes it."""
        draft = self._current.get(subject.rsplit(".", 1)[1])
        return draft.from_offset(0) if draft else None

    async def write(self, session_id: str, draft_id: str, kind: Kind, text: str) -> None:
        """Set the draft's whole text, and publish only the change."""
        known = self._text(session_id, draft_id)
        if text != known:
            draft = _Draft(Delta(session_id=session_id, draft_id=draft_id, kind=kind, offset=0, text=text))
            await self._publish(draft, offset=_common_prefix(known, text))

    async def wait(self, session_id: str, draft_id: str, kind: Kind, seconds: float) -> None:
        """Publish that the model's server asks to wait before the draft goes on; 0 seconds: it goes on."""
        text = self._text(session_id, draft_id)
        whole = Delta(session_id=session_id, draft_id=draft_id, kind=kind, offset=0, text=text)
        await self._publish(_Draft(whole, time.monotonic() + seconds if seconds else 0.0), offset=len(text))

    def _text(self, session_id: str, draft_id: str) -> str:
        draft = self._current.get(session_id)
        return draft.whole.text if draft and draft.whole.draft_id == draft_id else ""

    async def _publish(self, draft: _Draft, *, offset: int) -> None:
        """Keep the draft, and publish it from this character on."""
        session_id, draft_id = draft.whole.session_id, draft.whole.draft_id
        self._current[session_id] = draft
        if self._bus:
            try:
                await self._bus.publish(f"delta.{session_id}.{draft_id}", draft.from_offset(offset))
            except BusUnavailable:
                return  # viewers miss this part; the finished draft is an event

    def discard(self, session_id: str) -> None:
        self._current.pop(session_id, None)


def _common_prefix(old: str, new: str) -> int:
    """The length of the common prefix."""
    if new.startswith(old):
        return len(old)
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
