"""What the chat's screen knows, and what a person is asked for. Frozen; nothing but values."""

from dataclasses import dataclass, field
from typing import Literal

from parley.client.screen import Draft, Screen
from parley.events import SessionEvent
from parley.protocol.screen import ActionSection, QuestionSection, ScreenView
from parley.protocol.server import Greeting
from parley.protocol.views import CodeView, PlanView

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
    """What a person is asked for, in the words of `message`. `back`: where an empty line leads."""

    kind: Kind
    message: str = ""
    version: int = 0  # of the plan or code in review
    options: tuple[str, ...] = ()
    actions: tuple[ActionSection, ...] = ()
    question: QuestionSection | None = None
    back: "Ask | None" = None


@dataclass(frozen=True)
class View:
    """`version` is that of the last event heard, `known` of the newest that Parley spoke of.

    `asked` is what Parley asks, `own` what this terminal asks before it answers. `answering`: the answer is on its way.
    """

    session_id: str = ""
    version: int = 0
    known: int = 0
    greeting: Greeting | None = None
    stands: ScreenView | None = None
    can: tuple[str, ...] = ()
    asked: Ask | None = None
    own: Ask | None = None
    answering: bool = False
    online: bool = True
    draft: Draft | None = None
    events: tuple[SessionEvent, ...] = field(default=(), repr=False, compare=False)
    screen: Screen = field(default_factory=Screen, repr=False, compare=False)

    @property
    def ask(self) -> Ask | None:
        """What the next line answers; None as long as not all has been heard that led to it."""
        return None if self.answering or self.version < self.known else self.own or self.asked

    @property
    def paused(self) -> bool:
        return self.stands is not None and self.stands.paused

    @property
    def working(self) -> bool:
        """Something goes on, and a person is not asked."""
        return self.ask is None and not self.paused

    @property
    def worker(self) -> str:
        """The service at work, "" if none is."""
        return self.stands.work.service if self.stands and self.stands.work else ""

    @property
    def plan(self) -> PlanView | None:
        return self.stands.plan if self.stands else None

    @property
    def code(self) -> CodeView | None:
        return self.stands.code if self.stands else None

    @property
    def actions(self) -> tuple[ActionSection, ...]:
        """Those of the turn at hand, in order."""
        turn = self.stands.turn if self.stands else None
        return tuple(self.stands.actions[name] for name in turn.actions) if self.stands and turn else ()
