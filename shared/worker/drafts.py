"""Drafts: texts that a model is writing, sent to viewers as they grow, and never stored."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from parley.protocol.server import Delta
from shared.bus import Bus, BusUnavailable

Kind = Literal["plan", "code", "tests", "answer", "verdict", "node"]
Render = Callable[[Mapping[str, Any]], str]


class Drafts:
    """The current draft of each session in this process, published on `delta.<session>.<draft>`."""

    def __init__(self, bus: Bus | None) -> None:
        self._bus = bus
        self._current: dict[str, Delta] = {}

    async def current(self, subject: str, _: bytes) -> bytes | None:
        """Answer `draft.get.<session_id>` with the text so far; None if another process writes it."""
        draft = self._current.get(subject.rsplit(".", 1)[1])
        return draft.model_dump_json().encode() if draft else None

    async def write(self, session_id: str, draft_id: str, kind: Kind, text: str) -> None:
        """Set the draft's whole text, and publish only the change."""
        before = self._current.get(session_id)
        known = before.text if before and before.draft_id == draft_id else ""
        same = _common_prefix(known, text)
        if text == known:
            return
        whole = Delta(session_id=session_id, draft_id=draft_id, kind=kind, offset=0, text=text)
        self._current[session_id] = whole
        delta = whole.model_copy(update={"offset": same, "text": text[same:]})
        if self._bus:
            try:
                await self._bus.publish(f"delta.{session_id}.{draft_id}", delta.model_dump_json().encode())
            except BusUnavailable:
                return  # viewers miss this part; the finished draft is an event

    def discard(self, session_id: str) -> None:
        self._current.pop(session_id, None)


def _common_prefix(old: str, new: str) -> int:
    """The length of the common prefix."""
    if new.startswith(old):
        return len(old)
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
