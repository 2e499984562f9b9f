"""The last calls, so that a test can prove when the model was asked and how it ended."""

import time
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
