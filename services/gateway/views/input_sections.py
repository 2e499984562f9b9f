"""The view's sections that ask a person for input or offer next steps. Pure."""

from parley.protocol import screen as v
from parley.protocol.words import REVIEW
from shared.domain.kernel.session import Session, decidable_actions, review_target
from shared.domain.kernel.state import UNDER_WAY_STATUSES, Code
from shared.domain.kernel.state_names import options
from shared.domain.steps.plan_steps import is_unfinished
from shared.domain.transcript.dialogue import OpenQuestion
from shared.domain.turn.flow_paths import started
from shared.domain.workflows import workflow_of_plan
from shared.flows import PERSON_NODE, split_tool_name

_REST_MESSAGES = {
    "answered": "Done. What next?",
    "completed": "Completed. A new message goes on from here.",
    "approved": "Approved, and not started. Start it, change it, or discard it.",
    "stopped": "Stopped. Retry goes on where it stopped; a new message begins something else.",
}
_UNFINISHED = "The plan is not finished. Retry what failed, skip it, change the plan, or say what to do instead."


def review(session: Session) -> v.ReviewSection | None:
    """The plan or code in review; an approval names its `version` and `hash`."""
    target = review_target(session) if session.phase == "awaiting_approval" else None
    plan, code = session.plan, session.code
    if target == "text" and plan:
        noun = workflow_of_plan(session, plan.kind).noun
        message = (
            f"Version {plan.number} of the {noun}. Approve it, say what to change, edit it, or ask for another one."
        )
        return v.ReviewSection(target="plan", version=plan.version, number=plan.number, hash=plan.hash, message=message)
    if target == "code" and code:
        message = (
            f"Version {code.number} of the code. {_checks_text(code)} "
            "Approve it, say what to change, edit it, or ask for more."
        )
        return v.ReviewSection(target="code", version=code.version, number=code.number, hash=code.hash, message=message)
    return None


def _checks_text(code: Code) -> str:
    failed = [check.name for check in code.checks if check.ok is False]
    return f"Not passed: {', '.join(failed)}." if failed else "Its checks passed." if code.checks else "Not checked."


def feedback(session: Session) -> v.FeedbackSection | None:
    """The request for feedback after a rejection, until the feedback comes."""
    if session.phase != "awaiting_input" or session.question:
        return None
    code = review_target(session) == "code"
    message = f"What should be different about the {'code' if code else 'plan'}?"
    return v.FeedbackSection(plan_type="code" if code else "text", message=message)


def question(session: Session) -> v.QuestionSection | None:
    asked = session.question
    if asked is None or session.phase != "awaiting_input":
        return None
    return v.QuestionSection(
        question_id=asked.id,
        about=asked.about,
        content=asked.text,
        options=tuple(option.label for option in asked.options),
        form=asked.form,
        several=asked.several,
        further=tuple(map(_further, asked.following)),
    )


def _further(asked: OpenQuestion) -> v.FurtherQuestionSection:
    options = tuple(option.label for option in asked.options)
    return v.FurtherQuestionSection(question_id=asked.id, content=asked.text, options=options, several=asked.several)


def approval(session: Session) -> v.ApprovalSection | None:
    waiting = decidable_actions(session)
    if not waiting:
        return None
    message = REVIEW["all_first" if session.phase == "awaiting_approval" else "reads_first"]
    return v.ApprovalSection(actions=tuple(action.spec.id for action in waiting), message=message)


def offer(session: Session) -> v.OfferSection | None:
    return v.OfferSection(version=session.offer.version, draft=session.offer.draft) if session.offer else None


def path_standing(session: Session) -> v.PathStanding | None:
    turn = session.turn
    if turn is None or not turn.rules.changeable:
        return None
    actions = started(turn)
    tools = [
        action.spec.tool
        for action in actions
        if action.status in (*UNDER_WAY_STATUSES, "finished") and split_tool_name(action.spec.tool)[1] != PERSON_NODE
    ]
    return v.PathStanding(after=actions[-1].spec.id if actions else "", tool=tools[-1] if tools else "")


def escalation(session: Session) -> v.EscalationSection | None:
    if session.phase != "escalated":
        return None
    turn = session.turn
    taken_over = turn is not None and turn.taken_over
    reason = turn.verdict.reasoning if turn and turn.verdict else ""
    message = "Act again, or hand the session back with a message." if taken_over else reason
    return v.EscalationSection(message=message, taken_over=taken_over)


def next_steps(session: Session) -> v.NextSection | None:
    """The options while the session rests after work."""
    if session.phase != "resting" or session.rest_reason == "new":
        return None
    unfinished = session.rest_reason == "answered" and is_unfinished(session)
    message = _UNFINISHED if unfinished else _REST_MESSAGES[session.rest_reason]
    return v.NextSection(message=message, options=options(session))
