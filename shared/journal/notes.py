"""Notes on what users and services did and offered, to be read after their name. They depend on the event alone."""

from parley.events import SessionEvent, facts
from parley.events.offers import OfferedDraft, OfferedPlan, OfferedTurn
from parley.protocol import journal as j
from parley.protocol.words import NOTES, WORKFLOWS
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.plan.text import draft_text
from shared.journal.action_updates import entry_fields

TONES: dict[str, j.Tone] = {"plan.deleted": "bad", "session.completed": "good"}  # by event type


def note(event: SessionEvent) -> j.NoteEntry | None:
    """The note; None for events that the journal shows in another way."""
    text, tone = _line(event)
    if not text:
        return None
    entry = j.NoteEntry(**entry_fields(event, f"note:{event.version}"), tone=tone, text=text)
    return entry.model_copy(update={"by": ""}) if isinstance(event, facts.ApprovalExpired) else entry


def _line(event: SessionEvent) -> tuple[str, j.Tone]:  # noqa: C901, PLR0911  one line a fact
    match event:
        case facts.PlanCancelled():
            return "", "plain"  # a decision, with the same words
        case facts.OfferMade():
            return offer_note(event.draft), "wait"
        case facts.PlanDrafted(offer=int()) | facts.CodeDrafted(offer=int()) | facts.TurnPlanned(offer=int()):
            return NOTES["offer_taken" if event.actor.startswith(USER_PREFIX) else "offer_taken_as_said"], "good"
        case facts.CodeDrafted() if event.disputes:
            return NOTES["disputes"].format(reason=event.disputes), "wait"
        case facts.TurnPlanned(plan_version=int()):
            return NOTES["plan_begun_by_setting"], "plain"
        case facts.SessionStopped():
            return NOTES["stopped_because" if event.reason else "stopped"].format(reason=event.reason), "bad"
        case facts.ApprovalExpired():
            return NOTES["approval_expired" if event.unanswered is None else "question_expired"], "bad"
        case facts.BudgetRaised():
            return _raised(event), "plain"
        case facts.SessionShared():
            return NOTES["shared" if event.role else "unshared"].format(user=event.user, role=event.role), "plain"
        case facts.WorkflowChanged():
            return NOTES["workflow"].format(workflow=WORKFLOWS.get(event.workflow, event.workflow)), "plain"
        case _:
            return NOTES.get(event.type, "").format_map(vars(event)), TONES.get(event.type, "plain")


def _raised(event: facts.BudgetRaised) -> str:
    limits = {"tokens": event.tokens, "cost": event.cost, "calls": event.calls, "seconds": event.seconds}
    limit = next((name for name, more in limits.items() if more), "")
    return NOTES[f"budget_raised_{limit}" if limit else "budget_raised"].format(
        tokens=f"{event.tokens:,}", cost=f"{event.cost:g}", calls=f"{event.calls:,}", seconds=f"{event.seconds:,}"
    )


def offer_note(draft: OfferedDraft) -> str:
    """A line about the offer, to be read after a name."""
    goal = draft.goal if isinstance(draft, OfferedPlan) else draft.sub_goal if isinstance(draft, OfferedTurn) else ""
    leaves_out = isinstance(draft, OfferedTurn) and not draft.actions
    return NOTES["offered_nothing" if leaves_out else f"offered_{draft.type}"].format(goal=goal)


def offer_text(event: facts.OfferMade) -> str:
    """What was said with the offer, and the whole draft."""
    return "\n\n".join(filter(None, (event.say, draft_text(event.draft))))
