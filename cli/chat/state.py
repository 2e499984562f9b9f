"""What the chat's screen knows, and what a person is asked for. Frozen; nothing but values."""

from dataclasses import dataclass, field
from typing import Literal

from parley.events import SessionEvent
from parley.events.values import Service, Step, Workflow
from parley.protocol import server as s
from shared.domain.session import Session

Kind = Literal[
    "start",
    "plan",
    "code",
    "feedback",
    "question",
    "actions",
    "rest",
    "stopped",
    "failed",
    "escalated",
    "completed",
    "reason",
]


@dataclass(frozen=True)
class Ask:
    """What a person is asked for. `at`: the newest version when it was asked; `back`: where an empty line leads."""

    kind: Kind
    at: int = 0
    message: s.ServerMessage | None = None
    options: tuple[str, ...] = ()
    actions: tuple[s.ActionView, ...] = ()
    back: "Ask | None" = None


@dataclass(frozen=True)
class Plan:
    version: int
    number: int
    goal: str
    steps: tuple[Step, ...]
    notes: str
    text: str
    hash: str


@dataclass(frozen=True)
class Code:
    version: int
    number: int
    code: str
    hash: str
    explanation: str = ""


@dataclass(frozen=True)
class Draft:
    """What is being written at this moment."""

    id: str
    kind: str
    text: str
    start: int = 0  # characters before `text` that were missed


@dataclass(frozen=True)
class View:
    """`version` is that of the last event seen, `known` of the newest that the gateway spoke of."""

    session_id: str = ""
    version: int = 0
    known: int = 0
    title: str = ""
    workflow: Workflow = "conversation"
    greeting: s.Greeting | None = None
    ask: Ask | None = None
    paused: bool = False
    online: bool = True
    plan: Plan | None = None
    code: Code | None = None
    draft: Draft | None = None
    reviewed: Kind = "plan"  # what was in review last: feedback is about that
    worker: Service | None = None  # who is probably at work, for the progress line
    usage: s.Usage | None = None
    can: tuple[str, ...] = ()
    events: tuple[SessionEvent, ...] = field(default=(), repr=False)
    session: Session = field(default=Session(""), repr=False)  # as the events that were seen left it

    @property
    def working(self) -> bool:
        """Something goes on, and a person is not asked."""
        return self.ask is None and not self.paused
