"""The conditions of the edges in `phases.py`, and what changes with them.

First those on the session before the event, then those on the session with the event's changes.
"""

from typing import Any

from parley.events import facts
from shared.domain.kernel import wording
from shared.domain.kernel.commands import Work
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import (
    SERVICE_OF,
    Phase,
    Session,
    review_target,
    undecided_actions,
    with_answer,
    with_code,
    with_plan,
)
from shared.domain.kernel.state import Action
from shared.domain.steps.plan_steps import is_unfinished
from shared.domain.steps.references import awaits_values
from shared.domain.transcript.dialogue import OpenQuestion
from shared.domain.transcript.messages import asks_for_budget, withdraws_message
from shared.domain.transcript.questions import next_question
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

# --- the session before the event


def brings_plan(session: Session, event: facts.MessageReceived) -> bool:
    """The plan follows without a planner."""
    return event.intent == "request" and event.brings_plan


def begins_request(session: Session, event: facts.MessageReceived) -> bool:
    return event.intent == "request"


def answers_question(session: Session, event: facts.MessageReceived) -> bool:
    return event.intent == "feedback" and session.question is not None


def revises_code(session: Session, event: facts.MessageReceived) -> bool:
    return event.intent == "feedback" and session.phase != "escalated" and review_target(session) == "code"


def gives_feedback(session: Session, event: facts.MessageReceived) -> bool:
    return event.intent == "feedback"


def answered_beside(session: Session, event: facts.RemarkAnswered) -> bool:
    """The message was answered beside what waits or runs."""
    return session.reply is not None


def unread_at_turn_limit(session: Session, event: facts.QuestionAsked) -> bool:
    """The person has just said something, so the turns that may be taken are counted anew."""
    return event.kind == "turns" and bool(session.words.unread)


def has_no_question(session: Session, event: facts.QuestionAnswered) -> bool:
    return session.question is None


def wants_to_continue(session: Session, event: facts.QuestionAnswered) -> bool:
    return session.question is not None and session.question.about == "continue"


def about_an_action(session: Session, event: facts.QuestionAnswered) -> bool:
    return session.question is not None and session.question.about in ("action", "uncertain")


def wants_answer_now(session: Session, event: facts.QuestionAnswered) -> bool:
    """The user wants an answer with what there is, instead of going on."""
    return event.key == "answer" and not asks_for_budget(session)


def asks_further(session: Session, event: facts.QuestionAnswered) -> bool:
    """Several questions were asked together, and one is left."""
    return not asks_for_budget(session) and next_question(session, event) is not None


def has_no_turn(session: Session, event: facts.TurnChanged) -> bool:
    return session.turn is None


def replans_path(session: Session, event: facts.ApprovalDenied) -> bool:
    """The words of the denial lead to a new path."""
    return bool(event.reason) and session.turn is not None and session.turn.rules.one_by_one


def objects_to_step(session: Session, event: facts.ApprovalDenied) -> bool:
    """The words of the denial are a message about the plan that is carried out."""
    return bool(event.reason) and session.turn is not None and session.turn.rules.by_step


def ends_nothing(session: Session, event: facts.ApprovalExpired) -> bool:
    """What expired was the approval of a plan or code, so no action ends."""
    return not event.unanswered and not event.denied


def executes(session: Session, event: facts.ActionsWaiting) -> bool:
    return session.phase == "executing"


def ends_wait(session: Session, event: facts.ActionWaited) -> bool:
    return event.end is not None


def moves_turn(session: Session, event: Any) -> bool:
    """An action of the turn ended while the session carries it out, or asks the user about this action."""
    ids = {outcome.action_id for outcome in event.outcomes} if event.type == "actions.finished" else {event.action_id}
    question = session.question
    asked = question is not None and question.about in ("uncertain", "action") and question.action_id in ids
    live = session.phase in ("executing", "awaiting_approval", "waiting") or asked
    return live and session.turn is not None and any(action.spec.id in ids for action in session.turn.actions)


def needs_no_budget(session: Session, event: facts.BudgetRaised) -> bool:
    """Nothing waits for the budget."""
    return not asks_for_budget(session)


def asked_beside(session: Session, event: facts.BudgetRaised) -> bool:
    """The budget is for the reply to a message, while nothing was at work."""
    return session.asked_beside is not None


def withdraws_question(session: Session, event: facts.SessionStopped) -> bool:
    """The stop only withdraws the question about a message, because nothing is at work."""
    return session.asked_beside is not None


def withdraws_only_message(session: Session, event: facts.SessionStopped) -> bool:
    """The stop only withdraws the message that is to be answered, because nothing is at work."""
    return withdraws_message(session)


def halted_phase(session: Session, event: facts.SessionStopped) -> Phase | None:
    """The interrupted phase, or the one that asked the open question."""
    asked_by_a_phase = session.question is not None and session.question.about not in ("action", "uncertain")
    return session.resume_phase if asked_by_a_phase else session.phase


def waits_for_service(session: Session, event: facts.SessionResumed) -> bool:
    """The pause has kept a service from its work."""
    return session.phase in SERVICE_OF and session.work is None


def plan_is_unfinished(session: Session, event: facts.SessionRetried) -> bool:
    """A plan was interrupted in its steps, not after them."""
    return is_unfinished(session) and session.resume_phase not in ("verifying", "answering")


def forks_plan(session: Session, event: facts.SessionForked) -> bool:
    return event.carried.plan is not None


def own_phase(session: Session, event: Any) -> Phase:
    """The phase that the session is in."""
    return session.phase


# --- the session with the event's changes


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
    """Steps wait for a time or condition, and none can begin or has failed: a failed one waits for the user."""
    turn = session.turn
    return turn is not None and not next_batch(turn) and bool(session.waiting_actions) and not dead_actions(turn)


def is_over(session: Session, event: Any) -> bool:
    """No action of the turn can begin."""
    return not next_batch(session.turn)


def awaits_approval(session: Session, event: Any) -> bool:
    """The user has to decide about an action whose values are known, and no read comes first."""
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


def step_may_begin(session: Session, event: Any) -> bool:
    """The plan waits, or the executor cannot start the next batch now.

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
    """The step asks its question again afterwards."""
    return mark_actions(session, [session.question.action_id], "planned") if session.question else session


def turn_was_interrupted(session: Session, event: Any) -> bool:
    phases = ("executing", "awaiting_approval", "awaiting_input")
    return session.turn is not None and session.resume_phase in phases


def turn_still_runs(session: Session, event: Any) -> bool:
    """The interrupted turn has actions that run."""
    return turn_was_interrupted(session, event) and bool(running_actions(session))


def revive_turn(session: Session, event: Any) -> Session:
    return revive_actions(session)


def take_up_actions(session: Session, event: Any) -> Session:
    """The next executor takes up the actions that run."""
    running = [action.spec.id for action in running_actions(session)]
    return change_actions(revive_actions(session), running, lambda action: replace(action, began=event.version))


def interrupted_phase(session: Session, event: Any) -> Phase:
    return session.resume_phase or "planning"


def was_reviewing_actions(session: Session, event: Any) -> bool:
    return session.turn is not None and phase_beside(session, event) == "awaiting_approval"


def resume_review(session: Session, event: Any) -> Session:
    return replace(session, resume_phase="awaiting_approval")


def was_waiting(session: Session, event: Any) -> bool:
    """The plan waited for a time or condition, and none of its actions runs."""
    return phase_beside(session, event) == "waiting" and not running_actions(session)


def phase_beside(session: Session, event: Any) -> Phase:
    """The phase in which a service asked in reply to a message."""
    return session.asked_beside.phase if session.asked_beside else session.phase


def resume_phase_beside(session: Session, event: Any) -> Phase | None:
    return session.asked_beside.resume_phase if session.asked_beside else None


def has_unread(session: Session, event: Any) -> bool:
    return bool(session.words.unread)


def code_is_unchecked(session: Session, event: Any) -> bool:
    """The message came while the code was made, so nobody has seen it yet."""
    return session.phase == "coding" and session.code is not None and session.code.status == "checking"


def plan_is_unseen(session: Session, event: Any) -> bool:
    """The message came while the plan was made, so nobody has seen it yet."""
    plan, begun = session.plan, session.words.request_version
    return session.phase == "planning" and plan is not None and plan.status == "draft" and plan.version > begun


def review_plan(session: Session, event: Any) -> Session:
    return with_plan(session, "pending_approval")


def was_in_review(session: Session, event: Any) -> bool:
    """Plan or code is in review, and was not declined."""
    return review_target(session) is not None and not session.next_draft.after_decline


def review_again(session: Session, event: Any) -> Session:
    reviews_code = review_target(session) == "code"
    return with_code(session, status="review") if reviews_code else with_plan(session, "pending_approval")


def answer_with_reply(session: Session, event: facts.RemarkAnswered) -> Session:
    return with_answer(session, text=event.text, confidence=1.0)
