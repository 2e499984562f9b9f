"""Which messages about a plan are unanswered, and whether an offer is open: told from the events alone."""

from dataclasses import dataclass, field

from parley.events import SessionEvent, facts
from shared.domain.kernel.session import Session
from shared.domain.transcript.messages import withdraws_message


@dataclass
class Unanswered:
    messages: set[int] = field(default_factory=set)  # versions
    offered: bool = False

    def __bool__(self) -> bool:
        return bool(self.messages) or self.offered

    def follow(self, before: Session, event: SessionEvent) -> None:
        by_user = event.actor.startswith("user:")
        match event:
            case facts.MessageReceived(intent="guidance" | "remark") | facts.QuestionAnswered(kind="request"):
                self.messages.add(event.version)
            case facts.ApprovalDenied() if event.reason:
                self.messages.add(event.version)
            case facts.OfferMade():
                self.offered = True
            case facts.OfferKept() | facts.PlanDrafted():
                self.offered = False
            case facts.SessionStopped() if not withdraws_message(before):
                self.offered = False
        until = 0 if by_user and isinstance(event, facts.PlanDrafted) else _heard_until(before, event)
        self.messages = {version for version in self.messages if version > until}


def _heard_until(before: Session, event: SessionEvent) -> int:
    """The version of the newest message that the event may have been made with."""
    work = before.reply or before.work
    heard = work.version if work else 0
    match event:
        case facts.MessageReceived(intent="request"):
            return event.version
        case facts.PlanEdited():
            return 0 if before.reply else event.version
        case facts.OfferMade() | facts.PlanDrafted() | facts.RemarkAnswered():
            return heard
        case facts.SessionStopped() if withdraws_message(before):
            return event.version
        case facts.SessionStopped():
            return heard if before.reply or before.phase == "planning" else 0
    return 0
