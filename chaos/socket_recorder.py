"""Records the events that sockets received of a session, exactly as sent, for the invariants."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]


@dataclass
class SocketRecord:
    """The events that one socket received since it was attached: they should be all those after version `after`."""

    session_id: str
    after: int
    events: list[Json] = field(default_factory=list)


class SocketRecorder:
    """A connection's tap. Each time the socket is attached to the session, it begins another SocketRecord."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.records: list[SocketRecord] = []
        self.errors: Counter[str] = Counter()
        self._current: SocketRecord | None = None
        self._resume: Json | None = None  # sent, until its snapshot arrives
        self._resume_id = ""

    def __call__(self, direction: Literal["sent", "received"], frame: str | bytes) -> None:
        message = json.loads(frame)
        if direction == "sent":
            self._on_sent(message)
        elif message["type"] == "greeting":
            self._current, self._resume = SocketRecord(self.session_id, 0), None
        elif message["type"] == "error":
            self._on_error(message)
        elif message["session_id"] == self.session_id:
            self._on_received(message)

    def _on_sent(self, message: Json) -> None:
        """Ignore events before the answer to a resume: the socket is not attached yet, so they may have gaps."""
        if message["type"] == "resume":
            self._current, self._resume, self._resume_id = None, message, message["id"]

    def _on_error(self, error: Json) -> None:
        """A resume that fails detaches the socket from the session."""
        self.errors[error["code"]] += 1
        if error["reply_to"] == self._resume_id:
            self._current = self._resume = None

    def _on_received(self, message: Json) -> None:
        if message["type"] == "snapshot":
            after = self._resume["after"] if self._resume else message["version"]
            self._current, self._resume = SocketRecord(self.session_id, after), None
        elif message["type"] == "event" and self._current:
            if not self._current.events:
                self.records.append(self._current)
            self._current.events.append(message["event"])
