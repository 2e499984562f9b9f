"""What sockets showed of a session, exactly as it came over the wire; the invariants judge it later."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]


@dataclass
class Shown:
    """What one socket showed of a session since it was attached: it should be every event after version `after`."""

    session_id: str
    after: int
    events: list[Json] = field(default_factory=list)


class Recorder:
    """A connection's tap. Each time the socket is attached to the session, another Shown begins."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.shown: list[Shown] = []
        self.errors: Counter[str] = Counter()
        self._here: Shown | None = None
        self._resume: Json | None = None  # sent, while its snapshot has not come
        self._resume_id = ""

    def __call__(self, direction: Literal["sent", "received"], frame: str | bytes) -> None:
        message = json.loads(frame)
        if direction == "sent":
            self._sent(message)
        elif message["type"] == "greeting":
            self._here, self._resume = Shown(self.session_id, 0), None
        elif message["type"] == "error":
            self._refused(message)
        elif message["session_id"] == self.session_id:
            self._received(message)

    def _sent(self, message: Json) -> None:
        """Ignore what comes before the answer to a resume: it may have gaps, as the socket is not attached yet."""
        if message["type"] == "resume":
            self._here, self._resume, self._resume_id = None, message, message["id"]

    def _refused(self, error: Json) -> None:
        """A resume that fails detaches the socket from the session."""
        self.errors[error["code"]] += 1
        if error["reply_to"] == self._resume_id:
            self._here = self._resume = None

    def _received(self, message: Json) -> None:
        if message["type"] == "snapshot":
            after = self._resume["after"] if self._resume else message["version"]
            self._here, self._resume = Shown(self.session_id, after), None
        elif message["type"] == "event" and self._here:
            if not self._here.events:
                self.shown.append(self._here)
            self._here.events.append(message["event"])
