"""A protocol 2 client's copy of a session: its view, the current draft, and the journal by key.

It contains no rules of its own: everything comes from Parley's messages.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from parley.protocol.journal import AnyEntry, EntriesByKey, apply_entries, read_entry
from parley.protocol.screen import ScreenDelta, ScreenEvent, ScreenSnapshot, ScreenView


@dataclass(frozen=True)
class LiveDraft:
    """The draft that is being written, for the work that began with version `work`.

    `waits_until`: the model's server asks to wait until then, by this machine's clock.
    """

    id: str
    kind: str
    text: str
    work: int
    start: int = 0  # characters before `text`, which were missed
    waits_until: datetime | None = None

    @property
    def remaining_wait(self) -> int:
        """Seconds until the draft goes on; 0: the model is at work."""
        return max(ceil((self.waits_until - datetime.now(UTC)).total_seconds()), 0) if self.waits_until else 0


class Screen:
    """The state of a screen. `apply` every snapshot, event and delta of one session, in order."""

    def __init__(self) -> None:
        self.version = 0
        self.can: tuple[str, ...] = ()
        self.draft: LiveDraft | None = None
        self.journal: EntriesByKey = {}
        self._view: dict[str, Any] = {}

    @property
    def view(self) -> ScreenView:
        """The session's view. Available after the first snapshot or event."""
        return ScreenView.model_validate(self._view)

    def entry(self, key: str) -> AnyEntry | None:
        """The current journal entry with this key."""
        data = self.journal.get(key)
        return read_entry(data) if data else None

    def entries(self) -> Iterator[AnyEntry]:
        """The whole journal, in order of arrival."""
        return map(read_entry, self.journal.values())

    def take(self, message: ScreenSnapshot | ScreenEvent | ScreenDelta) -> None:
        match message:
            case ScreenDelta():
                self._apply_delta(message)
            case ScreenSnapshot():
                self._view = message.view.model_dump(mode="json", by_alias=True)
                self.can, self.version, self.draft = message.can, message.version or 0, None
                if message.draft:
                    self._apply_delta(message.draft)
            case ScreenEvent():
                self._apply_event(message)

    def _apply_event(self, message: ScreenEvent) -> None:
        apply_entries(self.journal, message.entries)
        replied_to = self._work("reply")
        self._apply_changes(message.changed)
        self.can = self.can if message.can is None else message.can
        self.version = max(self.version, message.version)
        reply = self._work("reply")
        ends_reply = replied_to is not None and reply is None
        if self.draft and self.draft.work in (reply, self._work("work")):
            # an event of the work goes past the draft of a reply beside it, and the other way round
            self.draft = None if message.ends_draft and self.draft.work != reply and not ends_reply else self.draft
        else:
            self.draft = None

    def _work(self, section: str) -> int | None:
        """The version of the work in this section, `work` or `reply`."""
        work = self._view.get(section)
        return work["version"] if work else None

    def _apply_changes(self, changed: Mapping[str, Any]) -> None:
        actions = changed.get("actions", {})
        merged = {**self._view.get("actions", {}), **actions}
        self._view |= changed
        self._view["actions"] = {name: action for name, action in merged.items() if action is not None}

    def _apply_delta(self, piece: ScreenDelta) -> None:
        """Add a piece to the draft. If earlier pieces were missed, the draft begins with this one."""
        waits_until = datetime.now(UTC) + timedelta(seconds=piece.wait) if piece.wait else None
        draft = self.draft
        if draft and draft.work == self._work("reply") != piece.work:
            return  # the reply to the person is shown, and not what is written beside it
        if draft and draft.id == piece.draft_id and draft.start <= piece.offset <= draft.start + len(draft.text):
            text = draft.text[: piece.offset - draft.start] + piece.text
            self.draft = replace(draft, text=text, waits_until=waits_until)
        else:
            self.draft = LiveDraft(piece.draft_id, piece.kind, piece.text, piece.work, piece.offset, waits_until)
