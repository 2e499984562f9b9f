"""Prompt sections for a remark: its text, and what it is about."""

from shared.domain.memory import text_of
from shared.domain.session import Session, before_remark, review_target, undecided_actions
from shared.domain.state import Action


def remark_sections(session: Session) -> dict[str, str | tuple[str, ...] | None]:
    """The sections `review` and `remark`; empty if there is no remark to answer."""
    if session.words.remark is None:
        return {}
    return {"review": _review(before_remark(session)), "remark": session.words.remark.texts}


EXECUTING = """The plan is being carried out, and no step begins before you reply. After an answer in words it goes
on as it stands. If the words ask for something else, write the plan anew: the person approves it before it goes on."""


def _review(session: Session) -> str | tuple[str, ...] | None:
    """What the user can decide on now, what is being executed, or the last answer."""
    plan, code, turn = session.plan, session.code, session.turn
    if turn is not None and turn.rules.by_step and session.phase in ("executing", "waiting"):
        return EXECUTING
    if session.phase != "awaiting_approval":
        return session.answer.text or None
    match review_target(session):
        case "actions":
            return tuple(map(_line, undecided_actions(session.turn)))
        case "code":
            return code.explanation if code else None
        case _:
            return plan.text if plan else None


def _line(action: Action) -> str:
    spec = action.spec
    return f"{spec.tool} {text_of(spec.arguments)}: {spec.description} (asks because: {spec.approval_reason})"
