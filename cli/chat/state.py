"""The state of the chat, and what the user is asked for. Frozen values only."""

from dataclasses import dataclass, field
from typing import Literal

from parley.client.screen import LiveDraft, Screen
from parley.events import SessionEvent
from parley.protocol.screen import ActionSection, OfferSection, QuestionSection, ScreenView
from parley.protocol.server import Greeting
from parley.protocol.views import CodeView, PlanView
from shared.domain.session import SERVICE_OF

RequestKind = Literal[
    "start",
    "plan",
    "code",
    "feedback",
    "question",
    "actions",
    "offer",
    "rest",
    "stopped",
    "failed",
    "escalated",
    "completed",
    "reason",
]


@dataclass(frozen=True)
class InputRequest:
    """What the user is asked for; `message` says it. An empty line returns to `previous`."""

    kind: RequestKind
    message: str = ""
    version: int = 0  # of the plan or code in review
    options: tuple[str, ...] = ()
    actions: tuple[ActionSection, ...] = ()
    question: QuestionSection | None = None
    offer: OfferSection | None = None
    previous: "InputRequest | None" = None

    @property
    def takes_several(self) -> bool:
        """Whether more than one of the options may be chosen."""
        return self.question is not None and self.question.several


@dataclass(frozen=True)
class ChatView:
    """`version` is that of the last received event, `newest_version` the highest that the gateway has mentioned.

    `gateway_request` is what the gateway asks for, `local_request` what this client asks for before it answers.
    `is_answering`: the answer is on its way. `sections` is the session as the gateway presents it.
    """

    session_id: str = ""
    version: int = 0
    newest_version: int = 0
    greeting: Greeting | None = None
    sections: ScreenView | None = None
    allowed: tuple[str, ...] = ()
    gateway_request: InputRequest | None = None
    local_request: InputRequest | None = None
    is_answering: bool = False
    is_online: bool = True
    draft: LiveDraft | None = None
    events: tuple[SessionEvent, ...] = field(default=(), repr=False, compare=False)
    screen: Screen = field(default_factory=Screen, repr=False, compare=False)

    @property
    def request(self) -> InputRequest | None:
        """What the next line answers; None while events that led to it are still missing."""
        return (
            None
            if self.is_answering or self.version < self.newest_version
            else self.local_request or self.gateway_request
        )

    @property
    def is_paused(self) -> bool:
        return self.sections is not None and self.sections.paused

    @property
    def is_working(self) -> bool:
        """Whether work goes on and the user is not asked."""
        return self.request is None and not self.is_paused

    @property
    def worker(self) -> str:
        """The service at work; "" if there is none."""
        work = (self.sections.work or self.sections.reply) if self.sections else None
        return work.service if work else ""

    @property
    def is_replying(self) -> bool:
        """Whether a service answers a message, beside whatever else goes on."""
        return self.sections is not None and self.sections.reply is not None

    @property
    def holds_changes(self) -> bool:
        """Whether changes wait for the reply."""
        waiting = self.sections and (self.sections.approval_request or self.sections.phase in ("executing", "waiting"))
        return self.is_replying and bool(waiting)

    @property
    def stop_withdraws(self) -> bool:
        """Whether a stop only withdraws the message that is being answered."""
        return self.is_replying and self.sections is not None and self.sections.phase not in SERVICE_OF

    @property
    def plan(self) -> PlanView | None:
        return self.sections.plan if self.sections else None

    @property
    def code(self) -> CodeView | None:
        return self.sections.code if self.sections else None

    @property
    def actions(self) -> tuple[ActionSection, ...]:
        """The actions of the current turn, in order."""
        turn = self.sections.turn if self.sections else None
        return tuple(self.sections.actions[name] for name in turn.actions) if self.sections and turn else ()
