"""The closed list of workflows, and which of them decides about a plan, a turn or an event."""

from parley.events import SessionEvent, facts
from parley.events.values import PlanKind
from shared.domain.kernel.session import Session
from shared.domain.kernel.workflow import Row, Workflow
from shared.domain.workflows.agentflow import AGENTFLOW
from shared.domain.workflows.conversation import CONVERSATION
from shared.domain.workflows.execution_plan import EXECUTION_PLAN
from shared.domain.workflows.flow import FLOW

WORKFLOWS: dict[str, Workflow] = {
    workflow.name: workflow for workflow in (CONVERSATION, AGENTFLOW, FLOW, EXECUTION_PLAN)
}


def workflow_of_plan(session: Session, kind: PlanKind) -> Workflow:
    """The session's own workflow if its plans are of this kind; otherwise the first one with plans of this kind."""
    own = WORKFLOWS.get(session.workflow)
    if own and own.plans == kind:
        return own
    return next((workflow for workflow in WORKFLOWS.values() if workflow.plans == kind), CONVERSATION)


def workflow_of_turn(session: Session, event: facts.TurnPlanned | facts.TurnRequested) -> Workflow:
    """The workflow whose rules this turn follows."""
    if isinstance(event, facts.TurnPlanned):
        for workflow in WORKFLOWS.values():
            if workflow.claims and workflow.claims(event):
                return workflow
    return _session_workflow(session)


def _session_workflow(session: Session) -> Workflow:
    """The session's workflow. A workflow with `claims` owns only the turns it claims; other turns are agentflow's."""
    own = WORKFLOWS.get(session.workflow, AGENTFLOW)
    return AGENTFLOW if own.claims else own


def workflow_of_work(session: Session) -> Workflow:
    """The workflow of the current turn, or else of the session."""
    return WORKFLOWS.get(session.turn.workflow, AGENTFLOW) if session.turn else _session_workflow(session)


def edges_for(session: Session, event: SessionEvent) -> Row:
    """The edges of this event, which the workflow of its plan or turn declares."""
    return owner(session, event).after[event.type]


def owner(session: Session, event: SessionEvent) -> Workflow:
    """The workflow of the plan or turn that the event is about, if it has edges for this event type.

    Otherwise the first workflow that has some: `conversation`, for example, has the edges for code in all workflows.
    """
    about = _subject_workflow(session, event)
    if event.type in about.after:
        return about
    return next(workflow for workflow in WORKFLOWS.values() if event.type in workflow.after)


def _subject_workflow(session: Session, event: SessionEvent) -> Workflow:
    match event:
        case facts.PlanDrafted():
            return workflow_of_plan(session, event.kind)
        case (
            facts.PlanEdited()
            | facts.TurnPlanned(plan_version=int())
            | facts.PlanApproved()
            | facts.PlanRejected()
            | facts.PlanCancelled()
            | facts.PlanDeleted()
        ):
            return workflow_of_plan(session, kind_of_plan(session))
        case facts.TurnPlanned() | facts.TurnRequested():
            return workflow_of_turn(session, event)
        case _:
            return workflow_of_work(session)


def kind_of_plan(session: Session) -> PlanKind:
    """The kind of the session's plan; without a plan, the kind that its workflow makes."""
    if session.plan:
        return session.plan.kind
    own = WORKFLOWS.get(session.workflow)
    return own.plans if own and own.plans else "text"
