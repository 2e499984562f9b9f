"""A turn as the planner proposes it, and the verifier's verdict on it."""

from parley.events import SessionEvent, facts
from shared.domain import commands as c
from shared.domain.commands import By
from shared.domain.errors import Invalid, OutOfTurn, need
from shared.domain.memory import SUB_GOALS
from shared.domain.policy import ruled
from shared.domain.said import begins_round, drafting
from shared.domain.session import Session
from shared.domain.stamp import stamp
from shared.domain.sub_goals import TURN_SUB_GOALS, of_turn, sub_goals_of
from shared.domain.waves import new_actions
from shared.domain.workflows import WORKFLOWS


def plan_turn(session: Session, command: c.PlanTurn, by: By) -> SessionEvent:
    """The turn with the domain's ruling of each action. Raises Refused for a turn that cannot be taken."""
    need(_plans_turns(session), "In a conversation only approved code is run, when a person asks.")
    if len(command.sub_goals) > SUB_GOALS:
        raise Invalid(f"A turn names at most {SUB_GOALS} sub-goals.")
    drafted_in = drafting(session)
    actions = tuple(ruled(drafted_in, spec) for spec in new_actions(drafted_in, command.actions))
    if len(sub_goals_of(command.sub_goal, actions)) > TURN_SUB_GOALS:
        raise Invalid(f"A turn works on at most {TURN_SUB_GOALS} sub-goals: leave the others to the next turn.")
    told = dict(command) | {"actions": actions, "begins_round": begins_round(session)}
    needs = {"needs": 2} if any(spec.sub_goal for spec in actions) else {}
    envelope = stamp(session, by, "turn.planned") | needs
    return facts.TurnPlanned(**envelope, turn=session.counts.turns + 1, **told)


def _plans_turns(session: Session) -> bool:
    own = WORKFLOWS.get(session.workflow)
    return own is None or ("turn.planned" in own.after and not own.turn.by_step)


def verify_turn(session: Session, command: c.VerifyTurn, by: By) -> SessionEvent:
    """The verdict. Raises Refused if there is no turn, or if it speaks of other sub-goals than the turn's."""
    if session.turn is None:
        raise OutOfTurn("There is no turn to verify now: the code is.")
    judged, sub_goals = [one.sub_goal for one in command.sub_goals], of_turn(session.turn)
    if judged and sorted(judged) != sorted(sub_goals):
        raise Invalid(f"Give one verdict on each sub-goal of the turn: {'; '.join(sub_goals)}.")
    needs = {"needs": 2} if judged else {}
    envelope = stamp(session, by, "turn.verified") | needs
    return facts.TurnVerified(**envelope, turn=session.turn.number, **dict(command))
