"""A workflow as data: which phase follows which event, and the rules of its plans and turns.

Each workflow has a file in `workflows/`; `workflows/phases.py` has the edges of the events that all workflows share.
The rest of the domain names no workflow and sets no phase.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from parley.events import facts
from parley.events.values import ActionSpec, PlanKind, SessionSettings
from shared.domain.kernel.session import MAX_REPAIRS, Phase, RestReason, Session
from shared.domain.kernel.state import DEFAULT_RULES, Plan, TurnRules

Test = Callable[[Session, Any], bool]  # of a session and the event
PhaseOf = Callable[[Session, Any], Phase | None]
Change = Callable[[Session, Any], Session]
RowName = Literal["first_batch", "batch", "decided", "goes_on", "resumed", "beside", "replied", "read_first"]
type Target = Phase | RowName | PhaseOf | None


def always(session: Session, event: Any) -> bool:
    """True for every event."""
    return True


class Edge(NamedTuple):
    """The phase that an event leads to if `when` is true and no earlier edge matches.

    to: a phase, a function that names it, or a row of further edges; None: the phase stays as it is.
    rests: the session's new `rest_reason`; None keeps the current one.
    resumes: the phase that a retry or an answer enters again.
    first: what changes in the session before it enters the phase or the row's edges are tested.
    then: what follows, given the version of the event: a service answers messages.
    """

    to: Target
    when: Test = always
    rests: RestReason | None = None
    resumes: Target = None
    first: Change | None = None
    then: Callable[[Session, int], Session] | None = None

    @property
    def label(self) -> str:
        """The condition in words; "" if there is none."""
        return "" if self.when is always else self.when.__name__.replace("_", " ")


type Row = tuple[Edge, ...]  # the last one has no condition
type Edges = Mapping[str, Row]  # by event type


class Workflow(NamedTuple):
    """`after` lists the edges; the first whose test holds is taken.

    plans: the kind of its plans, if it has any; `noun` is the word for one in texts.
    steps_call: whether the steps of its plans name tools or nodes.
    claims: whether a planned turn belongs to this workflow in any session; None: it owns its own sessions' turns.
    turn: the rules of its turns.
    asks_models: the phases whose work may call a model, so the budget is checked before they begin.
    actions: converts a plan's steps to the actions of the turn with this number.
    edited: adapts a plan that the user edited.
    approves_itself: whether these settings approve plans without the user.
    judged: applies a verdict to the session, except for the phase.
    """

    name: str
    after: Edges
    plans: PlanKind | None = None
    noun: str = "plan"
    steps_call: bool = True
    claims: Callable[[facts.TurnPlanned], bool] | None = None
    turn: TurnRules = DEFAULT_RULES
    asks_models: frozenset[Phase] = frozenset({"planning", "coding", "verifying", "answering"})
    actions: Callable[[Plan, int], tuple[ActionSpec, ...]] = lambda _plan, _turn: ()
    edited: Callable[[Plan], Plan] = lambda plan: plan
    approves_itself: Callable[[SessionSettings], bool] = lambda _settings: False
    judged: Callable[[Session, facts.TurnVerified], Session] = lambda session, _event: session


# --- conditions that several workflows share


def unread(session: Session, event: Any) -> bool:
    """There are messages that no draft has taken in, and that are not to be answered beside the work."""
    return bool(session.words.unread) and session.reply is None


def unread_while_drafting(session: Session, event: Any) -> bool:
    """Messages came while a service drafted this plan or code."""
    return isinstance(event, facts.PlanDrafted | facts.CodeDrafted) and unread(session, event)


def unread_while_planning(session: Session, event: facts.TurnPlanned) -> bool:
    """Messages came while the planner planned this turn, so it is planned again instead of carried out."""
    return (session.phase == "planning" or event.begins_round) and unread(session, event)


def repairable(session: Session, event: facts.CodeVerified) -> bool:
    """A check failed, and the generator may repair its own code once more."""
    code = session.code
    mendable = code is not None and code.by == "generator" and code.repairs < MAX_REPAIRS
    return mendable and any(check.ok is False for check in event.checks)


def replans(session: Session, event: facts.PlanRejected | facts.CodeRejected) -> bool:
    """The user wants another draft."""
    return event.replan


def at_rest(session: Session, event: Any) -> bool:
    """The session rests already."""
    return session.phase == "resting"


PUT_ASIDE = (Edge("resting", at_rest), Edge("resting", rests="stopped"))
PLAN_REVIEW: Edges = {
    "plan.drafted": (Edge("planning", unread_while_drafting), Edge("awaiting_approval")),
    "plan.edited": (Edge("awaiting_approval"),),
    "plan.rejected": (Edge("planning", replans), Edge("awaiting_input")),
    "plan.cancelled": PUT_ASIDE,
    "plan.deleted": PUT_ASIDE,
}
