"""What an offer says, as text. Pure."""

from parley.events import facts
from parley.events.offers import OfferedDraft, OfferedPlan, OfferedTurn
from parley.protocol.words import NOTES
from shared.domain.plan_text import draft_text


def offer_note(draft: OfferedDraft) -> str:
    """A line about the offer, to be read after a name."""
    goal = draft.goal if isinstance(draft, OfferedPlan) else draft.sub_goal if isinstance(draft, OfferedTurn) else ""
    leaves_out = isinstance(draft, OfferedTurn) and not draft.actions
    return NOTES["offered_nothing" if leaves_out else f"offered_{draft.type}"].format(goal=goal)


def offer_text(event: facts.OfferMade) -> str:
    """What was said with the offer, and the whole draft."""
    return "\n\n".join(filter(None, (event.say, draft_text(event.draft))))
