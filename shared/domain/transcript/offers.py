"""Decides about drafts that stand beside what waits or runs: offered, taken, or turned down."""

from typing import Any, assert_never

from parley.events import SessionEvent, facts
from parley.events.offers import OfferedCode, OfferedDraft, OfferedPlan, OfferedTurn
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import OutOfTurn, Stale, require
from shared.domain.kernel.session import Session
from shared.domain.plan.policy import with_ruling
from shared.domain.rules.event_meta import event_meta
from shared.domain.steps.plan_steps import changed_begun_steps, task_of
from shared.domain.transcript.dialogue import Offer
from shared.domain.transcript.messages import drafts_at_once
from shared.domain.turn.commands import new_actions
from shared.domain.workflows import workflow_of_plan

DraftEvent = facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned
NO_OFFER = "No offer is open."
OTHER_OFFER = "That offer is no longer open; another one is. Look at it and decide again."
GONE_ON = "The plan has gone on since the offer was made: {problems} Go on with the old one, and ask again."


def offered(session: Session, event: DraftEvent, meta: CommandMeta) -> SessionEvent:
    """The worker's draft; or an OfferMade that holds it, if it replies to a message while something else waits or runs.

    A turn without actions is an offer too: taken, it leaves out what waits.
    """
    if session.reply is None or meta.work != session.reply or drafts_at_once(session):
        return event
    made = event_meta(session, meta, facts.OfferMade)
    return facts.OfferMade(**made, say=event.say, draft=offered_draft(event))


def offered_draft(event: DraftEvent) -> OfferedDraft:
    match event:
        case facts.PlanDrafted():
            return OfferedPlan(**_fields(event, OfferedPlan))
        case facts.CodeDrafted():
            return OfferedCode(**_fields(event, OfferedCode))
        case facts.TurnPlanned():
            return OfferedTurn(**_fields(event, OfferedTurn))
    assert_never(event)


def _fields(holder: object, kind: type[OfferedPlan | OfferedCode | OfferedTurn]) -> dict[str, Any]:
    return {name: getattr(holder, name) for name in kind.model_fields if name != "type"}


def take_offer(session: Session, version: int | None, meta: CommandMeta) -> DraftEvent:
    """The offered draft, in the place of what waits or runs. Raises OutOfTurn, Stale, Invalid."""
    offer = _open_offer(session, version)
    match offer.draft:
        case OfferedPlan() as plan:
            acts = workflow_of_plan(session, plan.kind).turn.by_step
            if acts and (problems := changed_begun_steps(session, plan.steps)):
                raise Stale(GONE_ON.format(problems=" ".join(problems)))
            return facts.PlanDrafted(
                **event_meta(session, meta, facts.PlanDrafted),
                **_fields(plan, OfferedPlan),
                task=task_of(session) if acts else None,
                offer=offer.version,
            )
        case OfferedCode() as code:
            if session.plan is None or session.plan.version > offer.version:
                raise Stale("The plan has changed since this program was offered: turn it down, and ask again.")
            return facts.CodeDrafted(
                **event_meta(session, meta, facts.CodeDrafted),
                **_fields(code, OfferedCode),
                plan_version=session.plan.version,
                offer=offer.version,
            )
        case OfferedTurn() as turn:
            fields = _fields(turn, OfferedTurn)
            fields["actions"] = tuple(with_ruling(session, spec) for spec in new_actions(session, turn.actions))
            return facts.TurnPlanned(
                **event_meta(session, meta, facts.TurnPlanned),
                **fields,
                turn=session.counts.turns + 1,
                offer=offer.version,
            )
    assert_never(offer.draft)


def accept_offer(session: Session, say: str, meta: CommandMeta) -> DraftEvent:
    """The draft that the service has offered, because the person agrees in words. Raises OutOfTurn, Stale, Invalid."""
    is_own = session.offer is None or meta.work is None or meta.work.service == session.offer.by
    require(is_own, "Only the service that offered it takes the offer.")
    return take_offer(session, None, meta).model_copy(update={"say": say})


def keep_offer(session: Session, version: int | None, meta: CommandMeta) -> facts.OfferKept:
    """The person declines the offer: what is there stays. Raises OutOfTurn if none is open, Stale if another one is."""
    offer = _open_offer(session, version)
    return facts.OfferKept(**event_meta(session, meta, facts.OfferKept), offer=offer.version)


def check_taken(session: Session, event: DraftEvent) -> str:
    """Why the event's draft differs from the open offer; "" if it is the same."""
    offer = session.offer
    if offer is None or offer.version != event.offer:
        return f"no offer of version {event.offer} is open"
    same = _content(offered_draft(event)) == _content(offer.draft)
    return "" if same else f"it is not what was offered in version {event.offer}"


def _content(draft: OfferedDraft) -> dict[str, Any]:
    """The draft's fields that this release knows, without what is set when it is taken: the ids of actions, what they
    depend on, and their rulings."""
    content = draft.model_dump(mode="json", include=set(type(draft).model_fields))
    for action in content.get("actions", ()):
        for name in ("id", "depends_on", "decision", "decision_reason", "approval_reason"):
            action.pop(name, None)
    return content


def _open_offer(session: Session, version: int | None) -> Offer:
    if session.offer is None:
        raise OutOfTurn(NO_OFFER)
    if version not in (None, session.offer.version):
        raise Stale(OTHER_OFFER)
    return session.offer
