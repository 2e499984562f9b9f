"""What a workflow is, as data: where its events lead, and the rules of its plans and turns.

Each workflow has a file in `workflows/`. The rest of the domain names none of them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from parley.events import facts
from parley.events.values import ActionSpec, PlanKind, SessionSettings
from shared.domain.session import MAX_REPAIRS, Phase, Rest, Session, with_words
from shared.domain.state import PLAIN, Plan, TurnRules

Test = Callable[[Session, Any], bool]  # of the session before an event, and of the event


def always(session: Session, event: Any) -> bool:
    """True of every event."""
    return True


class Edge(NamedTuple):
    """Where an event leads if `when` holds, and no edge before this one does.

    "wave": the turn says where: it runs its next actions, asks for approval, or is judged. `rests` is the reason that
    a session rests for; None keeps the reason that it has.
    """

    to: Phase | Literal["wave"]
    when: Test = always
    rests: Rest | None = None

    @property
    def label(self) -> str:
        """The condition in words; "" where there is none."""
        return "" if self.when is always else self.when.__name__.replace("_", " ")


type Edges = Mapping[str, tuple[Edge, ...]]  # by type of event


class Workflow(NamedTuple):
    """`after` lists the edges; the first whose test holds is taken.

    plans: the kind of its plans, if it has any; `noun` is what people call one.
    claims: whether a planned turn belongs to it, in whatever session; None: the turns of its own sessions do.
    steps_call: whether the steps of its plans name tools, or nodes.
    turn: the rules of its turns.
    asks_models: the phases whose work may ask a model, so the budget is looked at before they begin.
    actions: the steps of a plan as actions of the turn with this number.
    takes_in: the session whose new plan has taken the person's feedback in.
    edited: the plan as its new steps leave it.
    approves_itself: whether, by these settings, a plan is approved without a person.
    judged: the session after a verdict on its turn, but for the phase.
    """

    name: str
    after: Edges
    plans: PlanKind | None = None
    noun: str = "plan"
    steps_call: bool = True
    claims: Callable[[facts.TurnPlanned], bool] | None = None
    turn: TurnRules = PLAIN
    asks_models: frozenset[Phase] = frozenset({"planning", "coding", "verifying", "answering"})
    actions: Callable[[Plan, int], tuple[ActionSpec, ...]] = lambda _plan, _turn: ()
    takes_in: Callable[[Session], Session] = lambda session: with_words(session, feedback=())
    edited: Callable[[Plan], Plan] = lambda plan: plan
    approves_itself: Callable[[SessionSettings], bool] = lambda _settings: False
    judged: Callable[[Session, facts.TurnVerified], Session] = lambda session, _event: session


# --- tests that several workflows name


def unread(session: Session, event: Any) -> bool:
    """The person said something that no draft has taken in."""
    return bool(session.words.unread)


def unread_while_drafting(session: Session, event: Any) -> bool:
    """The same, while a service drafted this."""
    return isinstance(event, facts.PlanDrafted | facts.CodeDrafted) and bool(session.words.unread)


def unread_while_planning(session: Session, event: facts.TurnPlanned) -> bool:
    """The same, and the planner's turn does not take it in: it is planned anew instead of carried out."""
    return session.phase == "planning" and bool(session.words.unread)


def repairable(session: Session, event: facts.CodeVerified) -> bool:
    """A check failed, and the generator may still mend its own code."""
    code = session.code
    mendable = code is not None and code.by == "generator" and code.repairs < MAX_REPAIRS
    return mendable and any(check.ok is False for check in event.checks)


def replans(session: Session, event: facts.PlanRejected | facts.CodeRejected) -> bool:
    """Something else is wanted instead."""
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
