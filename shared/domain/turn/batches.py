"""A turn runs in batches: the actions whose dependencies are finished. Reads run first, and before any change of the
batch starts, the user has decided on all of its changes.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from parley.events import SessionEvent
from parley.events.values import Ended
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.kernel.state import Action, ActionStatus, Turn
from shared.domain.plan.versions import begun_steps, next_attempts
from shared.domain.transcript import memory
from shared.domain.turn import flow_paths
from shared.domain.turn.action_ids import ActionId


def next_batch(turn: Turn | None) -> tuple[Action, ...]:
    """The actions to run next: not started, with every dependency finished successfully (or done before).

    Empty once a step of an execution plan has failed.
    """
    if turn is None or (turn.rules.by_step and dead_actions(turn)):
        return ()
    finished = {a.spec.id for a in turn.actions if a.status == "finished" or a.spec.decision == "skip"}
    if turn.rules.by_step:
        finished |= {a.spec.id for a in turn.actions if a.is_left_out}
    batch = tuple(
        a for a in turn.actions if a.status in ("planned", "approved") and finished.issuperset(a.spec.depends_on)
    )
    if turn.rules.by_step:
        return _defer_questions(batch)
    return batch[:1] if turn.rules.one_by_one else batch


def _defer_questions(batch: tuple[Action, ...]) -> tuple[Action, ...]:
    """An execution plan asks the user one question at a time, and only when no other step can begin."""
    return tuple(a for a in batch if a.spec.waits_for != "person") or batch[:1]


def dead_actions(turn: Turn) -> tuple[Action, ...]:
    """The actions that will not finish successfully. A step that the user skipped is not one: the plan goes on."""
    return tuple(a for a in turn.actions if a.is_dead and not (turn.rules.by_step and a.is_left_out))


def running_actions(session: Session) -> tuple[Action, ...]:
    """The actions of the turn that were started and have no complete outcome yet."""
    return tuple(a for a in session.turn.actions if a.is_under_way) if session.turn else ()


def actions_to_start(session: Session) -> tuple[Action, ...]:
    """The actions of the current batch that are not started yet; its quiet reads are already running.

    Empty while an action of earlier work is under way. For an execution plan, empty while any step is running:
    references are resolved between batches. Only reads start while the user has to decide about an action of the batch,
    while the batch has approved changes and its reads have not ended, and while a message is unanswered.
    """
    began = session.work.version if session.work else session.version
    if session.turn is None or any(action.began < began for action in running_actions(session)):
        return ()
    if session.turn.rules.by_step and running_actions(session):
        return ()
    of_this_batch = {action.spec.id for action in session.turn.actions if action.began == began}
    batch = tuple(a for a in next_batch(session.turn) if of_this_batch.isdisjoint(a.spec.depends_on))
    undecided = undecided_actions(session.turn)
    reads = reads_first(batch, undecided)
    asks = any(action.spec.approval_reason for action in batch)
    if any(action in batch for action in undecided) or (asks and (reads or running_actions(session))):
        batch = reads
    return batch if not session.holds else tuple(action for action in batch if action.spec.effect == "read")


def reads_first(batch: Sequence[Action], undecided: Collection[Action]) -> tuple[Action, ...]:
    """The reads of the batch that run before the user is asked about the others."""
    return tuple(action for action in batch if action.spec.effect == "read" and action not in undecided)


def quiet_reads(session: Session) -> tuple[Action, ...]:
    """The reads that start with the newest event, which has just made the executor due, without one of their own."""
    turn, work = session.turn, session.work
    begins = work and work.service == "executor" and work.version == session.version
    if turn is None or turn.rules.one_by_one or not begins or running_actions(session):
        return ()
    batch = next_batch(turn)
    if any(action.spec.depends_on for action in batch):
        return ()  # before anything of it starts, the executor fills in results and has packs check the calls
    return tuple(action for action in batch if action.is_quiet)


def begin_quiet_reads(session: Session, event: SessionEvent) -> Session:
    """The session with the quiet reads that this event begins, marked as running and counted as tool calls."""
    actions = session.turn.actions if session.turn and event.begins else ()
    ids = [
        a.spec.id for a in actions if a.spec.id in event.begins and a.is_quiet and a.status in ("planned", "approved")
    ]
    if not ids:
        return session
    spent = replace(session.spent, tool_calls=session.spent.tool_calls + len(ids))
    return mark_actions(replace(session, spent=spent), ids, "running", began=event.version)


def find_action(session: Session, action_id: str) -> Action | None:
    """The action of the turn, or of an earlier turn that left it running; None if there is no such action."""
    mine = session.turn.actions if session.turn else ()
    return next((a for a in (*mine, *session.left_running) if a.spec.id == action_id), None)


def mark_actions(session: Session, ids: Iterable[str], status: ActionStatus, **outcome: object) -> Session:
    """The session with these actions in another status. `outcome` sets further fields, such as `result` or `error`."""
    return change_actions(session, ids, lambda action: replace(action, status=status, **outcome))  # type: ignore[arg-type]


def change_actions(session: Session, ids: Iterable[str], how: Callable[[Action], Action]) -> Session:
    """The session with these actions changed. An action that an earlier turn left running is dropped once it ends."""
    changed_ids = set(ids)

    def apply_how(action: Action) -> Action:
        return how(action) if action.spec.id in changed_ids else action

    turn = replace(session.turn, actions=tuple(map(apply_how, session.turn.actions))) if session.turn else None
    remembered, left_running = session.memory, []
    for late in session.left_running:
        after = apply_how(late)
        if late.status == "started" != after.status:
            remembered = memory.add_late_outcome(remembered, after)
        if after.is_under_way:
            left_running.append(after)
    late_ids = changed_ids.intersection(action.spec.id for action in session.left_running)
    steps = tuple(apply_how(action) if action.spec.id in late_ids else action for action in session.begun_steps)
    return replace(session, turn=turn, left_running=tuple(left_running), memory=remembered, begun_steps=steps)


def new_attempt(session: Session, ids: Iterable[str], status: ActionStatus, **more: object) -> Session:
    """The session with a new attempt of each of these actions, without anything of the attempt before."""

    def again(action: Action) -> Action:
        cleared = replace(action, result=None, error="", cause=None, artefact=None, seconds=0.0, poll=None)
        fresh = replace(cleared, confirmed=None, violation="", handed_over=False, attempt=action.attempt + 1)
        return replace(fresh, status=status, **more)  # type: ignore[arg-type]

    return change_actions(session, ids, again)


def end_actions(session: Session, ended: Iterable[Ended]) -> Session:
    """The session with these actions ended, except those that have ended already."""
    reasons = {entry.id: entry.reason for entry in ended}
    if session.turn is None or not reasons:
        return session

    def end_action(action: Action) -> Action:
        if action.spec.id not in reasons or action.status not in (*flow_paths.OPEN_STATUSES, "running"):
            return action
        status: ActionStatus = "failed" if action.status == "running" else "skipped"
        return replace(action, status=status, end_reason=reasons[action.spec.id])

    return replace(session, turn=replace(session.turn, actions=tuple(map(end_action, session.turn.actions))))


def blocked_actions(turn: Turn | None) -> tuple[str, ...]:
    """The ids of open actions that depend, directly or indirectly, on an action that did not succeed."""
    if turn is None:
        return ()
    failed = {action.spec.id for action in dead_actions(turn)}
    waiting = [action for action in turn.actions if action.status in flow_paths.OPEN_STATUSES]
    blocked: list[str] = []
    while more := [a.spec.id for a in waiting if a.spec.id not in failed and failed.intersection(a.spec.depends_on)]:
        failed.update(more)
        blocked += more
    return tuple(blocked)


def revive_actions(session: Session) -> Session:
    """Plans the actions again that a stop or a spent budget prevented; approvals are asked for again.

    Where the turn's rules say so, actions that a stop interrupted run again too.
    """
    turn = session.turn
    actions = turn.actions if turn else ()
    if turn and turn.rules.reruns_cut_off:
        cut_off = [a.spec.id for a in actions if a.status == "failed" and a.cause == "stopped"]
        session = new_attempt(session, cut_off, "planned", allowed=False)
    unpaid = [a.spec.id for a in actions if a.is_out_of_budget]
    session = new_attempt(session, unpaid, "planned", allowed=False)
    stopped = [a.spec.id for a in actions if a.status == "skipped" and a.end_reason == "stopped"]
    return mark_actions(session, stopped, "planned", error="", end_reason=None, allowed=False)


def leave_turn(session: Session) -> Session:
    """The session without its turn. Actions that still run are kept until their complete outcome is recorded."""
    started = tuple(action for action in running_actions(session) if action.status == "started" or action.storing)
    remembered = memory.turn_left(session.memory, session.turn)
    turn = session.turn
    flow_results = (
        flow_paths.carry_over(turn, session.words.request, session.flow_results)
        if turn and turn.rules.keeps_results
        else session.flow_results
    )
    steps = begun_steps(session.begun_steps, turn) if turn and turn.rules.by_step else session.begun_steps
    begun = {ActionId.parse(action.spec.id).name for action in steps}
    planned = session.plan.steps if session.plan and turn and turn.rules.by_step else ()
    return replace(
        session,
        turn=None,
        memory=remembered,
        flow_results=flow_results,
        begun_steps=steps,
        ran_steps=session.ran_steps | {step.id: step for step in planned if step.id in begun},
        attempts=session.attempts | next_attempts(turn),
        left_running=(*session.left_running, *started),
    )


def hold(session: Session) -> Session:
    """The session, where no executor is due if only changes could start while a message is unanswered."""
    if not session.holds or session.phase != "executing" or running_actions(session):
        return session
    return session if actions_to_start(session) else replace(session, work=None)
