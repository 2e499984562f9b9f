"""The conditions of the rows in `phases.py` that carry a turn on, and what changes with them.

They test the session with the event's changes.
"""

from typing import Any

from shared.domain.kernel import wording
from shared.domain.kernel.commands import Work
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Phase, Session, undecided_actions
from shared.domain.kernel.state import Action
from shared.domain.steps.references import awaits_values
from shared.domain.transcript.dialogue import OpenQuestion
from shared.domain.turn.batches import (
    actions_to_start,
    change_actions,
    dead_actions,
    leave_turn,
    mark_actions,
    next_batch,
    reads_first,
    revive_actions,
    running_actions,
)


def runs(session: Session, event: Any) -> bool:
    """Actions of the turn run."""
    return bool(running_actions(session))


def _unclear_actions(session: Session) -> list[Action]:
    actions = session.turn.actions if session.turn else ()
    return [action for action in actions if action.status == "uncertain" and not action.left]


def is_uncertain(session: Session, event: Any) -> bool:
    """Nobody can tell whether an action took effect."""
    return bool(_unclear_actions(session))


def ask_what_happened(session: Session, event: Any) -> Session:
    action = _unclear_actions(session)[0]
    text = f"“{action.spec.tool}” was started, and nobody can tell whether it took effect. What happened?"
    return replace(session, question=OpenQuestion(action.spec.id, "uncertain", text, wording.UNCERTAIN_OPTIONS))


def is_out_of_budget(session: Session, event: Any) -> bool:
    """The budget of tool calls is spent."""
    return session.turn is not None and any(action.is_out_of_budget for action in session.turn.actions)


def ask_for_budget(session: Session, event: Any) -> Session:
    question = OpenQuestion(f"budget-{event.version}", "budget", wording.BUDGET_SPENT, wording.BUDGET_OPTIONS)
    return replace(session, question=question)


def is_superseded(session: Session, event: Any) -> bool:
    """A message for the next turn has ended the actions of this one."""
    actions = session.turn.actions if session.turn else ()
    return session.turn_yields and any(action.end_reason == "superseded" for action in actions)


def only_waits(session: Session, event: Any) -> bool:
    """Steps wait for a time or condition, none can begin, and none is dead: a dead one is for the verifier to see."""
    turn = session.turn
    return turn is not None and not next_batch(turn) and bool(session.waiting_actions) and not dead_actions(turn)


def nothing_can_begin(session: Session, event: Any) -> bool:
    """No action of the turn can begin."""
    return not next_batch(session.turn)


def awaits_approval(session: Session, event: Any) -> bool:
    """The user has to decide about an action, no action of the batch awaits values, and no read comes first."""
    turn, batch = session.turn, next_batch(session.turn)
    undecided = undecided_actions(turn)
    fills = turn and any(awaits_values(turn, action.spec) for action in batch)
    return any(action in batch for action in undecided) and not fills and not reads_first(batch, undecided)


def message_precedes_batch(session: Session, event: Any) -> bool:
    """A message is unread that the next turn takes in, and the batch would begin with a change."""
    work = None if session.paused else Work(service="executor", version=event.version)
    return session.turn_yields and not actions_to_start(replace(session, work=work))


def message_precedes_changes(session: Session, event: Any) -> bool:
    """A message is unread that the next turn takes in, nothing runs, and a change would begin next."""
    idle = session.phase == "executing" and not running_actions(session) and not actions_to_start(session)
    return session.turn_yields and idle


def without_turn(session: Session, event: Any) -> Session:
    return leave_turn(session)


def is_undecided(session: Session, event: Any) -> bool:
    """The user has to decide about other actions, or reads come first that run beside the decision."""
    if session.phase != "executing":
        return bool(undecided_actions(session.turn))
    return bool(running_actions(session) or actions_to_start(session))


def is_held_up(session: Session, event: Any) -> bool:
    """The verifier or generator has waited for the reply."""
    return session.work is None and session.phase in ("verifying", "answering")


def turn_is_stalled(session: Session, event: Any) -> bool:
    """The turn has to be looked at again: it waits, or the executor has nothing to do.

    A step failed, an action needs the user's approval, or a remark or a pause has taken the work.
    """
    blocked = session.work is None or not (running_actions(session) or actions_to_start(session))
    return session.phase == "waiting" or (session.phase == "executing" and blocked)


def question_can_wait(session: Session, event: Any) -> bool:
    """A step's question to the user is open, and another step can begin."""
    turn, question = session.turn, session.question
    if turn is None or not turn.rules.by_step or question is None or question.about != "action":
        return False
    return any(action.spec.waits_for != "person" for action in next_batch(turn))


def ask_later(session: Session, event: Any) -> Session:
    """The step is planned again, and asks its question afterwards."""
    return mark_actions(session, [session.question.action_id], "planned") if session.question else session


def turn_was_interrupted(session: Session, event: Any) -> bool:
    phases = ("executing", "awaiting_approval", "awaiting_input")
    return session.turn is not None and session.resume_phase in phases


def turn_still_runs(session: Session, event: Any) -> bool:
    """The interrupted turn has actions that run."""
    return turn_was_interrupted(session, event) and bool(running_actions(session))


def take_up_actions(session: Session, event: Any) -> Session:
    """Actions that were stopped are planned again, and the next executor takes up those that run."""
    running = [action.spec.id for action in running_actions(session)]
    return change_actions(revive_actions(session), running, lambda action: replace(action, began=event.version))


def interrupted_phase(session: Session, event: Any) -> Phase:
    return session.resume_phase or "planning"
