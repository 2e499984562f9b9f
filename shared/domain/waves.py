"""A turn runs in waves: the actions whose dependencies are finished, all decided before any of them starts."""

from collections.abc import Callable, Iterable

from parley.events import SessionEvent
from parley.events.values import ActionSpec, Ended
from shared.domain import memory, paths, wording
from shared.domain.changing import replace
from shared.domain.errors import Invalid
from shared.domain.plan_versions import begun_steps, next_attempts
from shared.domain.session import SERVICE_OF, Phase, Remark, Session, begin, settle, undecided, with_words
from shared.domain.state import Action, ActionStatus, Question, Turn
from shared.domain.workflow import Edge

MOST = 50  # actions of a turn
# Where a plan of steps is held until what a person said is answered; a question of its own is answered first.
HOLDS_FOR_WORDS: frozenset[Phase] = frozenset({"executing", "verifying", "awaiting_approval", "waiting"})


def ready(turn: Turn | None) -> tuple[Action, ...]:
    """The next wave: not yet started, every dependency finished well (or was done before).

    Once a step of a plan has come to nothing, no other begins.
    """
    if turn is None or (turn.rules.by_step and dead(turn)):
        return ()
    finished = {a.spec.id for a in turn.actions if a.status == "finished" or a.spec.decision == "skip"}
    if turn.rules.by_step:
        finished |= {a.spec.id for a in turn.actions if a.left_out}
    wave = tuple(
        a for a in turn.actions if a.status in ("planned", "approved") and finished.issuperset(a.spec.depends_on)
    )
    if turn.rules.by_step:
        return _before_asking(wave)
    return wave[:1] if turn.rules.one_by_one else wave


def _before_asking(wave: tuple[Action, ...]) -> tuple[Action, ...]:
    """A plan asks a person one thing at a time, when nothing else can begin."""
    return tuple(a for a in wave if a.spec.waits_for != "person") or wave[:1]


def dead(turn: Turn) -> tuple[Action, ...]:
    """The actions that came to nothing. A plan's step that a person left out did not: the plan goes on without it."""
    return tuple(a for a in turn.actions if a.dead and not (turn.rules.by_step and a.left_out))


def running(session: Session) -> tuple[Action, ...]:
    """The actions of the turn that were started and have no outcome yet, or not the whole of it."""
    return tuple(a for a in session.turn.actions if a.under_way) if session.turn else ()


def to_start(session: Session) -> tuple[Action, ...]:
    """What of the wave at hand has yet to be started; its quiet reads are running.

    Nothing while a person is to decide about some of it, or while a work before this one has left something under way.
    Of a plan's steps nothing while any is running: what the others refer to is resolved between waves.
    """
    began = session.work.version if session.work else session.version
    if session.turn is None or any(action.began < began for action in running(session)):
        return ()
    if session.turn.rules.by_step and running(session):
        return ()
    of_this_wave = {action.spec.id for action in session.turn.actions if action.began == began}
    wave = tuple(a for a in ready(session.turn) if of_this_wave.isdisjoint(a.spec.depends_on))
    return () if any(action in wave for action in undecided(session.turn)) else wave


def quiet_reads(session: Session) -> tuple[Action, ...]:
    """Those that begin with the event that has just made the executor due."""
    turn, work = session.turn, session.work
    begins = work and work.service == "executor" and work.version == session.version
    if turn is None or turn.rules.one_by_one or not begins or running(session):
        return ()
    return tuple(action for action in ready(turn) if action.quiet)


def begin_quiet(session: Session, event: SessionEvent) -> Session:
    """The same session with the quiet reads running, and counted, that this event begins."""
    actions = session.turn.actions if session.turn and event.begins else ()
    ids = [a.spec.id for a in actions if a.spec.id in event.begins and a.quiet and a.status in ("planned", "approved")]
    if not ids:
        return session
    spent = replace(session.spent, tool_calls=session.spent.tool_calls + len(ids))
    return mark(replace(session, spent=spent), ids, "running", began=event.version)


def find(session: Session, action_id: str) -> Action | None:
    """An action of the turn, or one that outlived its turn."""
    mine = session.turn.actions if session.turn else ()
    return next((a for a in (*mine, *session.left_running) if a.spec.id == action_id), None)


def mark(session: Session, ids: Iterable[str], status: ActionStatus, **outcome: object) -> Session:
    """The same session with these actions in another state (and their result, error or leave)."""
    return change(session, ids, lambda action: replace(action, status=status, **outcome))  # type: ignore[arg-type]


def change(session: Session, ids: Iterable[str], how: Callable[[Action], Action]) -> Session:
    """The same session with these actions changed. One that outlived its turn is known until all of it has ended."""
    wanted = set(ids)

    def changed(action: Action) -> Action:
        return how(action) if action.spec.id in wanted else action

    turn = replace(session.turn, actions=tuple(map(changed, session.turn.actions))) if session.turn else None
    remembered, loose = session.memory, []
    for late in session.left_running:
        after = changed(late)
        if late.status == "started" != after.status:
            remembered = memory.came_late(remembered, after)
        if after.under_way:
            loose.append(after)
    late_ids = wanted.intersection(action.spec.id for action in session.left_running)
    begun = tuple(changed(action) if action.spec.id in late_ids else action for action in session.begun_steps)
    return replace(session, turn=turn, left_running=tuple(loose), memory=remembered, begun_steps=begun)


def new_attempt(session: Session, ids: Iterable[str], status: ActionStatus, **more: object) -> Session:
    """These actions are to be run once more: as another attempt, with nothing left of the one before."""

    def again(action: Action) -> Action:
        bare = replace(action, result=None, error="", cause=None, artefact=None, seconds=0.0, poll=None)
        fresh = replace(bare, confirmed=None, violation="", handed_over=False, attempt=action.attempt + 1)
        return replace(fresh, status=status, **more)  # type: ignore[arg-type]

    return change(session, ids, again)


def end(session: Session, ended: Iterable[Ended]) -> Session:
    """The same session with these actions ended, as far as they have not ended yet."""
    reasons = {one.id: one.reason for one in ended}
    if session.turn is None or not reasons:
        return session

    def ending(action: Action) -> Action:
        if action.spec.id not in reasons or action.status not in (*paths.OPEN, "running"):
            return action
        status: ActionStatus = "failed" if action.status == "running" else "skipped"
        return replace(action, status=status, end_reason=reasons[action.spec.id])

    return replace(session, turn=replace(session.turn, actions=tuple(map(ending, session.turn.actions))))


def blocked(turn: Turn | None) -> tuple[str, ...]:
    """The ids of actions that have not begun and need, over however many steps, one that did not finish well."""
    if turn is None:
        return ()
    lost = {action.spec.id for action in dead(turn)}
    waiting = [action for action in turn.actions if action.status in paths.OPEN]
    found: list[str] = []
    while more := [a.spec.id for a in waiting if a.spec.id not in lost and lost.intersection(a.spec.depends_on)]:
        lost.update(more)
        found += more
    return tuple(found)


def revive(session: Session) -> Session:
    """What a stop or a spent budget kept from running is planned again; what needs a yes is asked for anew.

    So is what a stop cut off, where nobody plans another way around it.
    """
    turn = session.turn
    actions = turn.actions if turn else ()
    if turn and turn.rules.reruns_cut_off:
        cut_off = [a.spec.id for a in actions if a.status == "failed" and a.cause == "stopped"]
        session = new_attempt(session, cut_off, "planned", allowed=False)
    unpaid = [a.spec.id for a in actions if a.out_of_budget]
    session = new_attempt(session, unpaid, "planned", allowed=False)
    held = [a.spec.id for a in actions if a.status == "skipped" and a.end_reason == "stopped"]
    return mark(session, held, "planned", error="", end_reason=None, allowed=False)


def leave_turn(session: Session) -> Session:
    """Begin something else: started actions of the old turn stay known until their whole outcome is recorded."""
    started = tuple(action for action in running(session) if action.status == "started" or action.storing)
    remembered = memory.left(session.memory, session.turn)
    turn = session.turn
    before = (
        paths.kept(turn, session.words.request, session.flow_results)
        if turn and turn.rules.keeps_results
        else session.flow_results
    )
    begun = begun_steps(session.begun_steps, turn) if turn and turn.rules.by_step else session.begun_steps
    return replace(
        session,
        turn=None,
        memory=remembered,
        flow_results=before,
        begun_steps=begun,
        attempts=session.attempts | next_attempts(turn),
        left_running=(*session.left_running, *started),
    )


def advance(session: Session, version: int) -> Session:
    """Where a turn goes after the event of this version: the wave goes on, asks, begins anew, or is judged.

    The steps of a plan wait while words that were said during the wave are unanswered.
    """
    return session if running(session) else read_words(_advanced(session, version), version)


def read_words(session: Session, version: int) -> Session:
    """The planner reads what was said while steps of a plan ran, before any other step begins.

    The words are a remark on the plan: once the planner has answered, the plan goes on where it was.
    """
    turn, texts = session.turn, session.words.unread
    if not texts or turn is None or not turn.rules.by_step or session.phase not in HOLDS_FOR_WORDS:
        return session
    remark = Remark(texts, "executing" if session.phase == "verifying" else session.phase)
    return begin(with_words(session, remark=remark, unread=()), "planning", version)


def _advanced(session: Session, version: int) -> Session:
    actions = session.turn.actions if session.turn else ()
    if unclear := next((a for a in actions if a.status == "uncertain" and not a.left), None):
        return replace(settle(session, "awaiting_input"), question=_what_happened(unclear))
    if any(a.out_of_budget for a in actions):
        return replace(settle(session, "awaiting_input"), question=_raise_budget(version), resume_phase="executing")
    wave = ready(session.turn)
    if not wave:
        # Once a step has come to nothing the plan waits for a person, and for no time or condition.
        waits = session.turn is not None and bool(session.turn.waiting) and not dead(session.turn)
        return settle(session, "waiting") if waits else begin(session, "verifying", version)
    if any(a in wave for a in undecided(session.turn)):
        return settle(session, "awaiting_approval")
    return begin(session, "executing", version)


def follow(session: Session, edge: Edge, version: int) -> Session:
    """The session in the phase that the edge leads to, by the event of this version."""
    if edge.to == "wave":
        return advance(session, version)
    if edge.to in SERVICE_OF:
        return begin(session, edge.to, version)
    return settle(session, edge.to, edge.rests)


def new_actions(session: Session, specs: tuple[ActionSpec, ...]) -> tuple[ActionSpec, ...]:
    """The actions of the next turn with ids that no other action of the session has: `<turn>.<n>`.

    Raises Invalid for actions that could never all run.
    """
    _check(specs)
    ids = {spec.id: f"{session.counts.turns + 1}.{number}" for number, spec in enumerate(specs, 1)}
    return tuple(
        spec.model_copy(update={"id": ids[spec.id], "depends_on": tuple(ids[need] for need in spec.depends_on)})
        for spec in specs
    )


def _check(specs: tuple[ActionSpec, ...]) -> None:
    """Refuse too many, ids that are not their own, dependencies unknown or in a circle, and the same change twice."""
    if len(specs) > MOST:
        raise Invalid(f"A turn has at most {MOST} actions: plan the rest in the next one.")
    ids = {spec.id for spec in specs}
    if len(ids) < len(specs):
        raise Invalid("Two actions have the same id.")
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


def _raise_budget(version: int) -> Question:
    return Question(f"budget-{version}", "budget", wording.BUDGET_SPENT, wording.BUDGET_OPTIONS)
