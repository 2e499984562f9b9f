"""What a person is asked or offered now, as sections of a screen's view. Pure."""

from parley.protocol import screen as v
from services.gateway.views import messages
from shared.domain.paths import begun
from shared.domain.session import Session, put_back
from shared.domain.state import UNDER_WAY
from shared.flows import PERSON, split


def review(session: Session) -> v.ReviewSection | None:
    found = messages.review(put_back(session))
    if found is None or found.version is None:
        return None
    target = "code" if found.type == "code_review" else "plan"
    return v.ReviewSection(
        target=target, version=found.version, number=found.number, hash=found.hash, message=found.message
    )


def feedback(session: Session) -> v.FeedbackSection | None:
    found = messages.feedback_request(session)
    return v.FeedbackSection.model_validate(found, from_attributes=True) if found else None


def question(session: Session) -> v.QuestionSection | None:
    found = messages.question(session)
    return v.QuestionSection.model_validate(found, from_attributes=True) if found else None


def approval(session: Session) -> v.ApprovalSection | None:
    found = messages.approval_request(put_back(session))
    if found is None:
        return None
    return v.ApprovalSection(actions=tuple(one.action_id for one in found.actions), message=found.message)


def path_standing(session: Session) -> v.PathStanding | None:
    turn = session.turn
    if turn is None or not turn.rules.changeable:
        return None
    walked = begun(turn)
    ran = [
        one.spec.tool for one in walked if one.status in (*UNDER_WAY, "finished") and split(one.spec.tool)[1] != PERSON
    ]
    return v.PathStanding(after=walked[-1].spec.id if walked else "", tool=ran[-1] if ran else "")


def escalation(session: Session) -> v.EscalationSection | None:
    if session.phase != "escalated":
        return None
    turn = session.turn
    mine = turn is not None and turn.taken_over
    asked = turn.verdict.reasoning if turn and turn.verdict else ""
    message = "Act again, or hand the session back with a message." if mine else asked
    return v.EscalationSection(message=message, taken_over=mine)


def next_steps(session: Session) -> v.NextSection | None:
    found = messages.continue_(session)
    return v.NextSection.model_validate(found.content, from_attributes=True) if found else None
