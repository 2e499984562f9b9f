"""The last calls, so that a test can prove when the model was asked and how it ended; in a file, all of them."""

import json
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from uuid import uuid4

REMEMBERED = 1000


@dataclass
class CallRecord:
    """One request for a completion; `outcome` is `running`, `ok`, `cancelled` or the name of its fault.

    Tokens are those of the reply that was made for it, however much of it was sent.
    """

    role: str
    task: str
    model: str
    outcome: str = "running"
    at: float = field(default_factory=time.time)  # unix time at which it began
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    id: str = field(default_factory=lambda: uuid4().hex)


class Calls:
    """Remembers the last calls, and appends each to the ledger, if there is one, whenever something becomes of it."""

    def __init__(self, ledger: Path | None = None) -> None:
        self.last: deque[CallRecord] = deque(maxlen=REMEMBERED)
        self._ledger = ledger

    def begin(self, record: CallRecord) -> CallRecord:
        self.last.append(record)
        self.note(record)
        return record

    def note(self, record: CallRecord) -> None:
        """A line of JSON; the newest one of an `id` holds. Once this returns it outlives a kill of this program."""
        if self._ledger:
            with self._ledger.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(record)) + "\n")
