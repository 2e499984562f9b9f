"""What a client of protocol 2 keeps of a session: the newest view, the draft, and the journal by key.

It concludes nothing: every rule of the session is in what Parley sends.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from parley.protocol.journal import AnyEntry, Kept, keep, read
from parley.protocol.screen import ScreenDelta, ScreenEvent, ScreenSnapshot, ScreenView


@dataclass(frozen=True)
class Draft:
    """What is being written at this moment, for the work that began with version `work`."""

    id: str
    kind: str
    text: str
    work: int
    start: int = 0  # characters before `text` that were missed


class Screen:
    """`take` every snapshot, event and delta of one session, in order."""

    def __init__(self) -> None:
        self.version = 0
        self.can: tuple[str, ...] = ()
        self.draft: Draft | None = None
        self.journal: Kept = {}
        self._view: dict[str, Any] = {}

    @property
    def view(self) -> ScreenView:
        """Where the session stands. Only after the first snapshot or event."""
        return ScreenView.model_validate(self._view)

    def entry(self, key: str) -> AnyEntry | None:
        """The journal's entry with this key as it is now."""
        found = self.journal.get(key)
        return read(found) if found else None

    def entries(self) -> Iterator[AnyEntry]:
        """The whole journal, in the order in which it came."""
        return map(read, self.journal.values())

    def take(self, message: ScreenSnapshot | ScreenEvent | ScreenDelta) -> None:
        match message:
            case ScreenDelta():
                self._write(message)
            case ScreenSnapshot():
                self._view = message.view.model_dump(mode="json", by_alias=True)
                self.can, self.version, self.draft = message.can, message.version or 0, None
                if message.draft:
                    self._write(message.draft)
            case ScreenEvent():
                self._happened(message)

    def _happened(self, message: ScreenEvent) -> None:
        keep(self.journal, message.entries)
        self._change(message.changed)
        self.can = self.can if message.can is None else message.can
        self.version = max(self.version, message.event.version)
        work = self._view.get("work")
        if message.ends_draft or not work or (self.draft and self.draft.work != work["version"]):
            self.draft = None

    def _change(self, changed: Mapping[str, Any]) -> None:
        actions = changed.get("actions", {})
        kept = {**self._view.get("actions", {}), **actions}
        self._view |= changed
        self._view["actions"] = {name: one for name, one in kept.items() if one is not None}

    def _write(self, piece: ScreenDelta) -> None:
        """Where what came before the piece was missed, the draft begins with it."""
        draft = self.draft
        if draft and draft.id == piece.draft_id and draft.start <= piece.offset <= draft.start + len(draft.text):
            self.draft = replace(draft, text=draft.text[: piece.offset - draft.start] + piece.text)
        else:
            self.draft = Draft(piece.draft_id, piece.kind, piece.text, piece.work, piece.offset)
