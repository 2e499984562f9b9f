"""What a person has said in a session and what became of it, judged by the events. Pure.

No change may begin while a message is unanswered or an offer is open.
"""

from collections import Counter
from dataclasses import dataclass, field

from parley.events import SessionEvent, facts
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.kernel.session import Session
from shared.domain.turn.batches import find_action

ANSWERS_DENIALS = ("execution_plan", "flow")  # workflows in which the words of a denial are a message


@dataclass
class Conversation:
    """`unanswered`: versions of messages that no service has taken in. `offer`: the version of the open offer.

    `early` are the changes that began although something was open.
    """

    unanswered: set[int] = field(default_factory=set)
    offer: int | None = None
    messages: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)  # of messages and offers
    changes: int = 0
    early: list[str] = field(default_factory=list)

    def add(self, event: SessionEvent, after: Session) -> None:
        """Add the next event, which led to the session `after`."""
        self._check_changes(event, after)
        self._count(event)
        match event:
            case facts.MessageReceived(intent="request") | facts.QuestionAnswered(kind="continue"):
                self._end_all()
            case facts.SessionStopped():
                self._end_all()
            case facts.MessageReceived() | facts.QuestionAnswered(kind="request"):
                self._say(event.version)
            case facts.ApprovalDenied() if event.reason and after.workflow in ANSWERS_DENIALS:
                self._say(event.version)
            case facts.RemarkAnswered() | facts.QuestionAsked(kind="request"):
                self._take_in(event)
            case facts.OfferMade():
                self._take_in(event)
                self.offer = event.version
            case facts.PlanDrafted() | facts.CodeDrafted() | facts.TurnPlanned(plan_version=None):
                self._take_in(event)
                self.offer = None
            case facts.OfferKept():
                self.offer = None
        if after.phase in ("planning", "coding"):  # the draft to come replaces what was offered
            self.offer = None

    def _count(self, event: SessionEvent) -> None:
        match event:
            case facts.RemarkAnswered():
                self.outcomes["answered in words"] += 1
            case facts.OfferMade():
                self.outcomes["offered"] += 1
            case facts.OfferKept():
                self.outcomes["kept"] += 1
            case facts.PlanDrafted(offer=int()) | facts.CodeDrafted(offer=int()) | facts.TurnPlanned(offer=int()):
                self.outcomes["taken"] += 1

    def _say(self, version: int) -> None:
        self.messages += 1
        self.unanswered.add(version)

    def _take_in(self, event: SessionEvent) -> None:
        """The service has read all messages up to `read_until`, or else up to the work that its event's id names.

        A user has taken an offer.
        """
        if not event.actor.startswith(USER_PREFIX):
            read = event.read_until or int(event.id.split(":")[1])
            self.unanswered = {version for version in self.unanswered if version > read}

    def _end_all(self) -> None:
        self.unanswered, self.offer = set(), None

    def _check_changes(self, event: SessionEvent, after: Session) -> None:
        started = [action.action_id for action in event.actions] if isinstance(event, facts.ActionsStarted) else []
        for action_id in (*event.begins, *started):
            action = find_action(after, action_id)
            if action is None or action.spec.effect == "read":
                continue
            self.changes += 1
            if self.unanswered or self.offer is not None:
                what = f"offer {self.offer}" if self.offer is not None else f"message {min(self.unanswered)}"
                self.early.append(f"{action_id} ({action.spec.tool}) began at version {event.version} before {what}")
