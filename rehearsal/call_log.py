"""A log of model calls, so that tests can check when the model was called and how each call ended."""

import json
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from uuid import uuid4

REMEMBERED = 1000


@dataclass
class ModelCallRecord:
    """One request for a completion. `outcome` is `running`, `ok`, `cancelled` or the name of its fault.

    Tokens are those of the complete reply, however much of it was sent.
    """

    role: str
    task: str
    model: str
    outcome: str = "running"
    at: float = field(default_factory=time.time)  # Unix time of its start
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    id: str = field(default_factory=lambda: uuid4().hex)


class CallLog:
    """Keeps the last calls in memory, and appends each change of a call to the ledger file, if there is one."""

    def __init__(self, ledger: Path | None = None) -> None:
        self.recent: deque[ModelCallRecord] = deque(maxlen=REMEMBERED)
        self._ledger = ledger

    def begin(self, record: ModelCallRecord) -> ModelCallRecord:
        self.recent.append(record)
        self.save(record)
        return record

    def save(self, record: ModelCallRecord) -> None:
        """Append a line of JSON; the last one of an `id` is valid. After this returns, a kill cannot lose it."""
        if self._ledger:
            with self._ledger.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(record)) + "\n")
