"""A turn runs in waves: the actions whose dependencies are finished, all decided before any of them starts."""

from collections.abc import Iterable, Mapping

from shared.domain import memory, paths, wording
from shared.domain.changing import replace
from shared.domain.errors import Invalid
from shared.domain.session import Session, begin, settle, undecided
from shared.domain.state import Action, ActionStatus, Question, Turn
from shared.events.values import ActionSpec, Ended

ANSWERED: Mapping[str, ActionStatus] = {"happened": "finished", "again": "approved"}  # of an uncertain action


def ready(turn: Turn | None) -> tuple[Action, ...]:
    """The next wave: not yet started, every dependency finished well (or was done before). Of a path one node."""
    if turn is None:
        return ()
    finished = {a.spec.id for a in turn.actions if a.status == "finished" or a.spec.ruling == "skip"}
    wave = tuple(
        a for a in turn.actions if a.status in ("planned", "approved") and finished.issuperset(a.spec.depends_on)
    )
    return wave[:1] if turn.path else wave


def running(session: Session) -> tuple[Action, ...]:
    """The actions of the turn that were started and have no outcome yet."""
    return tuple(a for a in session.turn.actions if a.status == "started") if session.turn else ()


def find(session: Session, action_id: str) -> Action | None:
    """An action of the turn, or one that outlived its turn."""
    mine = session.turn.actions if session.turn else ()
    return next((a for a in (*mine, *session.loose) if a.spec.id == action_id), None)


def mark(session: Session, ids: Iterable[str], status: ActionStatus, **outcome: object) -> Session:
    """The same session with these actions in another state (and their result, error or leave)."""
    wanted = set(ids)

    def changed(action: Action) -> Action:
        return replace(action, status=status, **outcome) if action.spec.id in wanted else action  # type: ignore[arg-type]

    turn = replace(session.turn, actions=tuple(map(changed, session.turn.actions))) if session.turn else None
    loose = tuple(a for a in session.loose if a.spec.id not in wanted)
    remembered = session.memory
    for late in (a for a in session.loose if a.spec.id in wanted):
        remembered = memory.came_late(remembered, changed(late))
    return replace(session, turn=turn, loose=loose, memory=remembered)


def end(session: Session, ended: Iterable[Ended]) -> Session:
    """The same session with these actions ended, as far as they have not ended yet."""
    reasons = {one.id: one.reason for one in ended}
    if session.turn is None or not reasons:
        return session

    def ending(action: Action) -> Action:
        if action.status not in paths.OPEN or action.spec.id not in reasons:
            return action
        return replace(action, status="skipped", end_reason=reasons[action.spec.id])

    return replace(session, turn=replace(session.turn, actions=tuple(map(ending, session.turn.actions))))


def blocked(turn: Turn | None) -> tuple[str, ...]:
    """The ids of actions that have not begun and need, over however many steps, one that did not finish well."""
    actions = turn.actions if turn else ()
    dead = {action.spec.id for action in actions if action.dead}
    waiting = [action for action in actions if action.status in paths.OPEN]
    found: list[str] = []
    while more := [a.spec.id for a in waiting if a.spec.id not in dead and dead.intersection(a.spec.depends_on)]:
        dead.update(more)
        found += more
    return tuple(found)


def revive(session: Session) -> Session:
    """What a stop kept from beginning is planned again; what needs a yes is asked for anew.

    So is the node of a path that it cut off: nobody plans another way around it.
    """
    turn = session.turn
    held = ("skipped", "failed") if turn and turn.path else ("skipped",)
    actions = turn.actions if turn else ()
    ids = [a.spec.id for a in actions if a.end_reason == "stopped" and a.status in held]
    return mark(session, ids, "planned", error="", end_reason=None, allowed=False)


def leave_turn(session: Session) -> Session:
    """Begin something else: started actions of the old turn stay known until their outcome is recorded."""
    remembered = memory.left(session.memory, session.turn)
    turn = session.turn
    before = paths.kept(turn, session.request, session.before) if turn and turn.path else session.before
    return replace(session, turn=None, memory=remembered, before=before, loose=(*session.loose, *running(session)))


def advance(session: Session, version: int) -> Session:
    """Where a turn goes after the event of this version: the wave goes on, asks, begins anew, or is judged."""
    if running(session):
        return session
    actions = session.turn.actions if session.turn else ()
    if unclear := next((a for a in actions if a.status == "uncertain" and not a.left), None):
        return replace(settle(session, "awaiting_input"), question=_what_happened(unclear))
    wave = ready(session.turn)
    if not wave:
        return begin(session, "verifying", version)
    if any(a in wave for a in undecided(session.turn)):
        return settle(session, "awaiting_approval")
    return begin(session, "executing", version)


def check_actions(session: Session, specs: tuple[ActionSpec, ...]) -> None:
    """Refuse actions that could never all run: ids that are not their own, dependencies unknown or in a circle."""
    ids = {spec.id for spec in specs}
    if len(ids) < len(specs):
        raise Invalid("Two actions have the same id.")
    if taken := ids.intersection(a.spec.id for a in (*session.loose, *running(session))):
        raise Invalid(f"An action {min(taken)} of an earlier turn is still running: use another id.")
    changes = [memory.key_of(spec.tool, spec.arguments) for spec in specs if spec.effect != "read"]
    if len(set(changes)) < len(changes):
        raise Invalid("Two actions are the same call, and it changes something: once is enough.")
    if unknown := {need for spec in specs for need in spec.depends_on} - ids:
        raise Invalid(f"An action depends on {min(unknown)}, which is not in this turn.")
    done: set[str] = set()
    while ids - done:
        runnable = {spec.id for spec in specs if spec.id not in done and done.issuperset(spec.depends_on)}
        if not runnable:
            raise Invalid(f"The actions {', '.join(sorted(ids - done))} wait for each other.")
        done |= runnable


def _what_happened(action: Action) -> Question:
    text = f"“{action.spec.tool}” was started, and nobody can tell whether it took effect. What happened?"
    return Question(action.spec.id, "uncertain", text, wording.UNCERTAIN_OPTIONS)
