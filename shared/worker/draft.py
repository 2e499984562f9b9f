"""What a service is writing right now, told to whoever watches, token by token; never stored."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from parley.protocol.server import Delta
from shared.bus import Bus, BusDown

Kind = Literal["plan", "code", "tests", "answer", "verdict", "node"]
Render = Callable[[Mapping[str, Any]], str]


class Drafts:
    """The drafts this process has in hand, by session, and their subject on the bus."""

    def __init__(self, bus: Bus | None) -> None:
        self._bus = bus
        self._current: dict[str, Delta] = {}

    async def so_far(self, subject: str, _: bytes) -> bytes | None:
        """For `draft.get.<session_id>`: the text so far, where this process is the one that writes."""
        draft = self._current.get(subject.rsplit(".", 1)[1])
        return draft.model_dump_json().encode() if draft else None

    async def write(self, session_id: str, draft_id: str, kind: Kind, text: str) -> None:
        """The draft's whole text as it is now; only what is new travels."""
        before = self._current.get(session_id)
        known = before.text if before and before.draft_id == draft_id else ""
        same = _common(known, text)
        if text == known:
            return
        whole = Delta(session_id=session_id, draft_id=draft_id, kind=kind, offset=0, text=text)
        self._current[session_id] = whole
        delta = whole.model_copy(update={"offset": same, "text": text[same:]})
        if self._bus:
            try:
                await self._bus.publish(f"delta.{session_id}.{draft_id}", delta.model_dump_json().encode())
            except BusDown:
                return  # nobody can watch now; the finished draft is an event

    def forget(self, session_id: str) -> None:
        self._current.pop(session_id, None)


def _common(old: str, new: str) -> int:
    """How many characters both begin with."""
    if new.startswith(old):
        return len(old)
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
