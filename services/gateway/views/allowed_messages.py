"""The client messages that a session accepts now: each is tried against the domain's own rules. Pure."""

from datetime import UTC, datetime

from parley.events.values import ActionSpec, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.session import SERVICE_OF, Session, undecided_actions
from shared.domain.kernel.state import Plan
from shared.domain.rules.decide import AnyCommand, decide_without_consequences
from shared.domain.rules.permissions import SessionRole, may
from shared.domain.turn.flow_paths import OPEN_STATUSES, started

_PROBE_TIME = datetime(2000, 1, 1, tzinfo=UTC)
_DIFFERENT_TEXT = "\n\N{REPLACEMENT CHARACTER}"  # differs from any text in review


def allowed_messages(session: Session, role: SessionRole | None = "owner") -> tuple[str, ...]:
    """The types of messages that would be carried out now for a user with this role, for buttons and menus."""
    possible = {kind: command for kind, command in probes(session).items() if command is not None}
    forks = ("fork",) if session.version and not (session.works or session.offer) else ()
    return (*(kind for kind, command in possible.items() if _is_allowed(session, command, role)), *forks)


def _is_allowed(session: Session, command: AnyCommand, role: SessionRole | None = "owner") -> bool:
    meta = CommandMeta(actor=f"{USER_PREFIX}{session.owner}", at=_PROBE_TIME)
    try:
        return may(role, decide_without_consequences(session, command, meta))
    except CommandRefused:
        return False


def _last_started_id(session: Session) -> str:
    actions = started(session.turn) if session.turn else ()
    return actions[-1].spec.id if actions else ""


def _reworded(plan: Plan) -> tuple[Step, ...]:
    """The steps with another text in the first one, which breaks no rule of execution plans."""
    first, *rest = plan.steps
    return first.model_copy(update={"text": _DIFFERENT_TEXT}), *rest


def _skippable(session: Session) -> str | None:
    """An action that can be skipped; else any candidate."""
    turn = session.turn
    candidates = (
        [a.spec.id for a in turn.actions if a.status in OPEN_STATUSES or (turn.rules.by_step and a.is_dead)]
        if turn
        else []
    )
    allowed = (action_id for action_id in candidates if _is_allowed(session, _skip(session, action_id)))
    return next(allowed, next(iter(candidates), None))


def _skip(session: Session, action_id: str) -> c.Skip:
    """A skip of the action, in an execution plan with its dependent steps."""
    by_step = session.turn is not None and session.turn.rules.by_step
    return c.Skip(action_id=action_id, with_dependents=by_step)


def probes(session: Session) -> dict[str, AnyCommand | None]:
    """One command for each message type, as valid as possible now; None if there is no valid one."""
    waiting = undecided_actions(session.turn)
    asked = waiting[0].spec.id if waiting else None
    skippable = _skippable(session)
    plan, code = session.plan, session.code
    item = code if code and code.status == "review" else plan
    version = session.version if waiting or item is None else item.version
    asked_options = session.question.options if session.question else ()
    reply = asked_options[0].label if asked_options else "x"
    takes_feedback = session.is_awaiting_user or session.phase in SERVICE_OF
    spec = ActionSpec(id="probe", tool="probe")
    return {
        "user_message": c.Say(text=reply),
        "approval": c.Approve(version=version, hash=item.hash if item and not waiting else None, action_id=asked),
        "replan": c.Reject(replan=True),
        "edit": c.EditPlan(base=plan.version, steps=_reworded(plan)) if plan else None,
        "edit_code": c.EditCode(base=code.version, code=f"x = 1 {_DIFFERENT_TEXT}") if code else None,
        "answer": c.Answer(text=reply),
        "continue": c.Continue(),
        "run": c.Run(),
        "take_offer": c.TakeOffer(),
        "keep_offer": c.KeepOffer(),
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
        "choose_workflow": c.ChooseWorkflow(workflow=session.workflow),
        "edit_path": c.EditPath(actions=(spec,), after=_last_started_id(session)),
        "judge": c.Judge(accepted=not session.answer.accepted),
        "save_to_library": c.Judge(accepted=True, saved=True),
        "remember": c.Remember(tool="x", policy="writes"),
        "raise_budget": c.RaiseBudget(tokens=1) if session.is_over_budget else None,
        "feedback": c.Say(text=reply, feedback=True) if takes_feedback else None,
    }
