"""Which client messages a session accepts now: the domain itself is asked, so the two can never differ. Pure."""

from datetime import UTC, datetime

from parley.events.values import ActionSpec, Step
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import AnyCommand, bare
from shared.domain.errors import Refused
from shared.domain.paths import OPEN, begun
from shared.domain.session import SERVICE_OF, Session, undecided
from shared.domain.state import Plan

_ANYBODY = CommandMeta(actor="user:?", at=datetime(2000, 1, 1, tzinfo=UTC))
_OTHER = "\n\N{REPLACEMENT CHARACTER}"  # differs from any text in review


def accepted(session: Session) -> tuple[str, ...]:
    """The types of messages that would be carried out at this moment, for buttons and menus."""
    probes = {kind: command for kind, command in _probes(session).items() if command is not None}
    return (
        "user_message",
        *(kind for kind, command in probes.items() if _allowed(session, command)),
        *_always(session),
    )


def _allowed(session: Session, command: AnyCommand) -> bool:
    try:
        bare(session, command, _ANYBODY)
    except Refused:
        return False
    return True


def _always(session: Session) -> tuple[str, ...]:
    hears = session.asking or session.phase in SERVICE_OF
    return (*(("feedback",) if hears else ()), *(("fork",) if session.version and session.work is None else ()))


def _last_begun(session: Session) -> str:
    walked = begun(session.turn) if session.turn else ()
    return walked[-1].spec.id if walked else ""


def _reworded(plan: Plan) -> tuple[Step, ...]:
    """The steps with another text in the first: no rule of steps that act is broken by it."""
    first, *rest = plan.steps
    return first.model_copy(update={"text": _OTHER}), *rest


def _skippable(session: Session) -> str | None:
    """An action that can be left out; any other, where there is none."""
    turn = session.turn
    candidates = (
        [a.spec.id for a in turn.actions if a.status in OPEN or (turn.rules.by_step and a.dead)] if turn else []
    )
    allowed = (one for one in candidates if _allowed(session, _skip(session, one)))
    return next(allowed, next(iter(candidates), None))


def _skip(session: Session, action_id: str) -> c.Skip:
    """With the steps that use its output, where there are steps."""
    by_step = session.turn is not None and session.turn.rules.by_step
    return c.Skip(action_id=action_id, with_dependents=by_step)


def _probes(session: Session) -> dict[str, AnyCommand | None]:
    """One example of each kind of message, as good as it can be at this moment."""
    waiting = undecided(session.turn)
    asked = waiting[0].spec.id if waiting else None
    skippable = _skippable(session)
    plan, code = session.plan, session.code
    item = code if code and code.status == "review" else plan
    seen = session.version if waiting or item is None else item.version
    asked_options = session.question.options if session.question else ()
    spec = ActionSpec(id="probe", tool="probe")
    return {
        "approval": c.Approve(version=seen, hash=item.hash if item and not waiting else None, action_id=asked),
        "replan": c.Reject(replan=True),
        "edit": c.EditPlan(base=plan.version, steps=_reworded(plan)) if plan else None,
        "edit_code": c.EditCode(base=code.version, code=f"x = 1 {_OTHER}") if code else None,
        "answer": c.Answer(text=asked_options[0].label if asked_options else "x"),
        "continue": c.Continue(),
        "run": c.Run(),
        "complete": c.Complete(),
        "stop": c.Stop(),
        "pause": c.Pause(),
        "unpause": c.Resume(),
        "retry": c.Retry(),
        "cancel": c.CancelPlan(),
        "delete_plan": c.DeletePlan(),
        "skip": _skip(session, skippable) if skippable else None,
        "take_over": c.TakeOver(sub_goal="x", actions=(spec,)),
        "hand_back": c.Say(text="x") if session.phase == "escalated" else None,
        "rename": c.Rename(title="x"),
        "edit_path": c.EditPath(actions=(spec,), after=_last_begun(session)),
        "judge": c.Judge(accepted=not session.answer.accepted),
        "save_to_library": c.Judge(accepted=True, saved=True),
        "remember": c.Remember(tool="x", policy="writes"),
        "raise_budget": c.RaiseBudget(tokens=1) if session.over_budget else None,
    }
