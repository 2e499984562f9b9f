"""The view's sections that ask a person for input or offer next steps. Pure."""

from parley.protocol import screen as v
from parley.protocol.words import REVIEW
from services.gateway.views import messages
from shared.domain.dialogue import OpenQuestion
from shared.domain.flow_paths import started
from shared.domain.session import Session, decidable_actions
from shared.domain.state import UNDER_WAY_STATUSES
from shared.flows import PERSON_NODE, split_tool_name


def review(session: Session) -> v.ReviewSection | None:
    message = messages.review(session)
    if message is None or message.version is None:
        return None
    target = "code" if message.type == "code_review" else "plan"
    return v.ReviewSection(
        target=target, version=message.version, number=message.number, hash=message.hash, message=message.message
    )


def feedback(session: Session) -> v.FeedbackSection | None:
    message = messages.feedback_request(session)
    return v.FeedbackSection.model_validate(message, from_attributes=True) if message else None


def question(session: Session) -> v.QuestionSection | None:
    message, asked = messages.question(session), session.question
    if message is None or asked is None:
        return None
    fields = message.model_dump(include={"question_id", "about", "content", "options", "form"})
    return v.QuestionSection(**fields, several=asked.several, further=tuple(map(_further, asked.following)))


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
    content = messages.next_steps(session)
    return v.NextSection.model_validate(content, from_attributes=True) if content else None
