"""The state of the chat, what the user is asked for, and how each message of the gateway changes it. Pure."""

from dataclasses import dataclass, field, replace
from typing import Literal

from parley.client.connection import Received
from parley.client.screen import LiveDraft, Screen
from parley.protocol.screen import (
    ActionSection,
    OfferSection,
    QuestionSection,
    ScreenDelta,
    ScreenEvent,
    ScreenSnapshot,
    ScreenView,
)
from parley.protocol.server import Greeting
from parley.protocol.views import CodeView, PlanView
from parley.protocol.words import REVIEW
from shared.domain.kernel.session import SERVICE_OF

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


def fold(view: ChatView, message: Received, screen: Screen) -> ChatView:
    """The view after this message, which `screen` has processed already."""
    match message:
        case Greeting() if view.session_id:
            return replace(view, greeting=message)
        case Greeting():
            return replace(view, greeting=message, session_id=message.session_id, gateway_request=InputRequest("start"))
        case ScreenDelta():
            return replace(view, draft=screen.draft)
        case ScreenEvent(version=version):
            return _with_sections(replace(view, version=version), screen)
        case ScreenSnapshot():
            return _with_sections(view, screen)
    return view


def _with_sections(view: ChatView, screen: Screen) -> ChatView:
    request = request_in(screen.view) if screen.version else InputRequest("start")
    return replace(
        view,
        newest_version=screen.version,
        sections=screen.view,
        allowed=screen.can,
        draft=screen.draft,
        screen=screen,
        gateway_request=request,
        local_request=view.local_request if request == view.gateway_request else None,
    )


def request_in(sections: ScreenView) -> InputRequest | None:  # noqa: C901, PLR0911  one case per section
    """The request in the sections; None while a service is at work, also on a message about the request.

    An offer comes first: it can be decided on while reads go on.
    """
    if sections.reply:
        return None
    if offer := sections.offer:
        return InputRequest("offer", REVIEW[f"offer_{offer.draft.type}"], version=offer.version, offer=offer)
    if sections.work:
        return None
    if sections.failure:
        return InputRequest("failed", sections.failure.reason)
    if review := sections.review:
        return InputRequest(review.target, review.message, version=review.version)
    if feedback := sections.feedback_request:
        return InputRequest("feedback", feedback.message)
    if question := sections.question:
        return InputRequest("question", question.content, options=question.options, question=question)
    if waiting := sections.approval_request:
        return InputRequest(
            "actions", waiting.message, actions=tuple(sections.actions[name] for name in waiting.actions)
        )
    if sections.escalation:
        return InputRequest("escalated", sections.escalation.message)
    if sections.next:
        kind: Literal["stopped", "rest"] = "stopped" if sections.reason == "stopped" else "rest"
        return InputRequest(kind, sections.next.message, options=sections.next.options)
    return InputRequest("completed") if sections.phase == "resting" else None
