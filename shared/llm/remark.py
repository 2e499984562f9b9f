"""What prompts tell of a remark: the words, and what they are about."""

from shared.domain.memory import text_of
from shared.domain.session import Session, put_back, reviewing, undecided
from shared.domain.state import Action


def remark_sections(session: Session) -> dict[str, str | tuple[str, ...] | None]:
    """The sections `review` and `remark`; empty where none is to be answered."""
    if session.words.remark is None:
        return {}
    return {"review": _review(put_back(session)), "remark": session.words.remark.texts}


CARRIED_OUT = """The plan is being carried out, and no step begins before you reply. After an answer in words it goes
on as it stands. If the words ask for something else, write the plan anew: the person approves it before it goes on."""


def _review(session: Session) -> str | tuple[str, ...] | None:
    """What a person can decide on now, what is being carried out, or what the last request came to."""
    plan, code, turn = session.plan, session.code, session.turn
    if turn is not None and turn.rules.by_step and session.phase in ("executing", "waiting"):
        return CARRIED_OUT
    if session.phase != "awaiting_approval":
        return session.answer.text or None
    match reviewing(session):
        case "actions":
            return tuple(map(_line, undecided(session.turn)))
        case "code":
            return code.explanation if code else None
        case _:
            return plan.text if plan else None


def _line(action: Action) -> str:
    spec = action.spec
    return f"{spec.tool} {text_of(spec.arguments)}: {spec.description} (asks because: {spec.approval_reason})"
