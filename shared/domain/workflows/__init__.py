"""The workflows there are, a closed list, and which of them says where an event leads."""

from parley.events import SessionEvent, facts
from parley.events.values import PlanKind
from shared.domain.session import Session
from shared.domain.workflow import Edge, Workflow
from shared.domain.workflows.agentflow import AGENTFLOW
from shared.domain.workflows.conversation import CONVERSATION
from shared.domain.workflows.execution_plan import EXECUTION_PLAN
from shared.domain.workflows.flow import FLOW

WORKFLOWS: dict[str, Workflow] = {one.name: one for one in (CONVERSATION, AGENTFLOW, FLOW, EXECUTION_PLAN)}


def of_plan(session: Session, kind: PlanKind) -> Workflow:
    """The session's own workflow if its plans are of this kind; otherwise the first one with plans of this kind."""
    own = WORKFLOWS.get(session.workflow)
    if own and own.plans == kind:
        return own
    return next((one for one in WORKFLOWS.values() if one.plans == kind), CONVERSATION)


def of_turn(session: Session, event: facts.TurnPlanned | facts.TurnRequested) -> Workflow:
    """The workflow by whose rules this turn is carried out."""
    if isinstance(event, facts.TurnPlanned):
        for one in WORKFLOWS.values():
            if one.claims and one.claims(event):
                return one
    return _own(session)


def _own(session: Session) -> Workflow:
    """The session's workflow. One with `claims` owns only the turns that it claims: any other turn is one of tools."""
    own = WORKFLOWS.get(session.workflow, AGENTFLOW)
    return AGENTFLOW if own.claims else own


def of_work(session: Session) -> Workflow:
    """The workflow of the turn at hand, or else of the session."""
    return WORKFLOWS.get(session.turn.workflow, AGENTFLOW) if session.turn else _own(session)


def edge(session: Session, event: SessionEvent) -> Edge:
    """Where this event leads."""
    return next(each for each in owner(session, event).after[event.type] if each.when(session, event))


def owner(session: Session, event: SessionEvent) -> Workflow:
    """The workflow of the plan or turn that this event is about, if it has edges for this type of event.

    Otherwise the first workflow that has: code, for example, is reviewed by the edges of `conversation` everywhere.
    """
    about = _about(session, event)
    if event.type in about.after:
        return about
    return next(one for one in WORKFLOWS.values() if event.type in one.after)


def _about(session: Session, event: SessionEvent) -> Workflow:
    match event:
        case facts.PlanDrafted():
            return of_plan(session, event.kind)
        case (
            facts.PlanEdited()
            | facts.TurnPlanned(plan_version=int())
            | facts.PlanApproved()
            | facts.PlanRejected()
            | facts.PlanCancelled()
            | facts.PlanDeleted()
        ):
            return of_plan(session, kind_of_plan(session))
        case facts.TurnPlanned() | facts.TurnRequested():
            return of_turn(session, event)
        case _:
            return of_work(session)


def kind_of_plan(session: Session) -> PlanKind:
    """The kind of the session's plan; without one, of those that its workflow makes."""
    if session.plan:
        return session.plan.kind
    own = WORKFLOWS.get(session.workflow)
    return own.plans if own and own.plans else "text"
