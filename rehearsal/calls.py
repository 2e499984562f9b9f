"""The last calls, so that a test can prove when the model was asked and how it ended."""

import time
from collections import deque
from dataclasses import dataclass, field

REMEMBERED = 1000


@dataclass
class CallRecord:
    """One request for a completion; `outcome` is `running`, `ok`, `cancelled` or the name of its fault."""

    role: str
    task: str
    model: str
    outcome: str = "running"
    at: float = field(default_factory=time.time)  # unix time at which it began


class CallLog:
    """A bounded list of records, oldest first."""

    def __init__(self) -> None:
        self._records: deque[CallRecord] = deque(maxlen=REMEMBERED)

    def begin(self, role: str, task: str, model: str) -> CallRecord:
        """Note a call that begins now."""
        record = CallRecord(role, task, model)
        self._records.append(record)
        return record

    def all(self) -> list[CallRecord]:
        """Every call that is still remembered."""
        return list(self._records)
