"""What a client of protocol 2 keeps of a session: the newest view, and the journal by key. It concludes nothing."""

from collections.abc import Mapping
from typing import Any

from parley.protocol.journal import EntryUpdate
from parley.protocol.screen import ScreenEvent, ScreenSnapshot, ScreenView


class Screen:
    """`take` every snapshot and event of one session, in order."""

    def __init__(self) -> None:
        self.version = 0
        self.can: tuple[str, ...] = ()
        self.journal: dict[str, dict[str, Any]] = {}  # by key, in the order in which they came
        self._view: dict[str, Any] = {}

    @property
    def view(self) -> ScreenView:
        """Where the session stands. Only after the first snapshot."""
        return ScreenView.model_validate(self._view)

    def take(self, message: ScreenSnapshot | ScreenEvent) -> None:
        if isinstance(message, ScreenSnapshot):
            self._view = message.view.model_dump(mode="json", by_alias=True)
            self.can, self.version = message.can, message.version or 0
            return
        for entry in message.entries:
            if not isinstance(entry, EntryUpdate):
                self.journal[entry.key] = entry.model_dump(mode="json")
            elif entry.key in self.journal:
                self.journal[entry.key] |= entry.set
        self._change(message.changed)
        self.can = self.can if message.can is None else message.can
        self.version = max(self.version, message.event.version)

    def _change(self, changed: Mapping[str, Any]) -> None:
        actions = changed.get("actions", {})
        kept = {**self._view.get("actions", {}), **actions}
        self._view |= changed
        self._view["actions"] = {name: one for name, one in kept.items() if one is not None}
