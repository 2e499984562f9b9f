"""Steps of an execution plan as actions: their ids, their state, and the state of their task. Pure."""

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from parley.events.values import ActionSpec, Step, TaskStatus
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import DONE_STATUSES, Action, Plan
from shared.domain.steps.references import awaits_values, referenced_steps, references
from shared.domain.turn.action_ids import ActionId
from shared.domain.turn.batches import leave_turn

GATHER = "for each"  # the pseudo-tool of the action that gathers a step's results for all items


def task_of(session: Session) -> str:
    """The task that the next version of an execution plan belongs to: the current request's, or a new one."""
    return session.task or f"t{session.version + 1}"


def action_id(plan: Plan, step: Step) -> str:
    """The id of the step's action, which is the same in all versions of the task's plan."""
    return str(ActionId(plan.task, step.id or ""))


def unused_id(taken: set[str]) -> str:
    """A step id that is not in `taken`; adds it."""
    number = next(number for number in range(1, len(taken) + 2) if f"s{number}" not in taken)
    taken.add(f"s{number}")
    return f"s{number}"


def with_kept_ids(steps: Sequence[Step], before: Sequence[Step], *, by_place: bool = True) -> tuple[Step, ...]:
    """The steps of a text plan with ids: those of the steps of `before` that they keep or reword, else new ones.

    A step that names no id is the one with the same text or, `by_place` and where none came or went, in the same place.
    """
    by_text = {step.text: step.id for step in before if step.id}
    free, ids = [step.id for step in before if step.id], dict[int, str]()

    def keep(place: int, id_: str | None) -> None:
        if place not in ids and id_ in free:
            free.remove(id_)
            ids[place] = id_

    for place, step in enumerate(steps):
        keep(place, step.id)
    for place, step in enumerate(steps):
        keep(place, by_text.get(step.text))
    for place, step in enumerate(before if by_place and len(before) == len(steps) else ()):
        keep(place, step.id)
    taken = {id_ for step in before if (id_ := step.id)}
    return tuple(step.model_copy(update={"id": ids.get(place) or unused_id(taken)}) for place, step in enumerate(steps))


def required_steps(step: Step) -> tuple[str, ...]:
    """The ids of the steps that must finish before this one: those in `after`, and those it refers to."""
    return tuple(dict.fromkeys((*step.after, *referenced_steps(step.for_each), *referenced_steps(step.arguments))))


def step_label(number: int, step: Step) -> str:
    """The step's number and id, as problems about it begin."""
    return f"Step {number} ({step.id})"


def about(label: str, problem: str) -> str:
    """A problem of the step with this label: “Step 3 (s3): …”, or “Step 3 (s3), argument title: …”."""
    return f"{label}{', ' if problem.startswith('argument ') else ': '}{problem}"


def is_unfinished(session: Session) -> bool:
    """Whether the session rests with an unfinished execution plan: failed, stopped, or approved and not started.

    Messages are then about this plan, and a retry goes on with it or starts it.
    """
    turn, plan = session.turn, session.plan
    rests = session.phase == "resting" and session.rest_reason != "completed"
    if not rests or turn is None or not turn.rules.by_step or plan is None or plan.task != session.task:
        return False
    return plan.status in ("approved", "executing", "failed")


def is_held_up(session: Session) -> bool:
    """Whether the execution plan is unfinished and waits for the user: it rests or is paused, and nobody replies."""
    plan = session.plan
    if session.reply:
        return False
    return is_unfinished(session) or (session.paused and bool(plan and plan.task) and task_status(session) == "paused")


def already_done(session: Session, actions: Sequence[ActionSpec]) -> tuple[str, ...]:
    """The ids of actions that an earlier version of the plan has finished, or whose output the user has given."""
    done = {
        action.spec.id
        for action in (*_begun_actions(session), *_actions_with_given_output(session))
        if action.has_output
    }
    return tuple(spec.id for spec in actions if spec.id in done)


def has_running_step(session: Session, task: str) -> bool:
    """Whether a step of the task is still running that an earlier version of the plan, or the current one, started."""
    running = leave_turn(session).left_running
    return bool(task) and any(ActionId.parse(action.spec.id).group == task for action in running)


def is_item_done(session: Session, action: str) -> bool:
    """Whether an earlier version of the plan has this item's output, of a step that it did not finish."""
    return bool(ActionId.parse(action).item) and any(
        started.spec.id == action and started.has_output for started in leave_turn(session).begun_steps
    )


def is_in_doubt(session: Session, action: str) -> bool:
    """Whether an earlier version of the plan started this step and its outcome is unknown."""
    return any(started.spec.id == action and started.status != "finished" for started in _begun_actions(session))


def changed_begun_steps(session: Session, steps: Sequence[Step]) -> tuple[str, ...]:
    """Problems of steps that have begun and would change, one sentence each."""
    plan = session.plan
    if plan is None or not plan.task or plan.task != session.task:
        return ()
    reasons = {ActionId.parse(action.spec.id).name: "has already started" for action in _begun_actions(session)}
    given = {ActionId.parse(action.spec.id).name for action in _actions_with_given_output(session)}
    reasons |= dict.fromkeys(given, "has the output that you gave")
    before = {step.id: step for step in known_steps(session)}
    return tuple(
        f"{step_label(number, step)} {why}: to do something else, or the same again, add a new step."
        for number, step in enumerate(steps, 1)
        if (why := reasons.get(step.id or "")) and not _is_same_call(before.get(step.id), step)
    )


def known_steps(session: Session) -> tuple[Step, ...]:
    """The steps of the newest version of the plan, and those that earlier ones began, each as it ran."""
    ran = leave_turn(session).ran_steps
    newest = session.plan.steps if session.plan else ()
    return (*ran.values(), *(step for step in newest if step.id not in ran))


def changes_made(session: Session) -> dict[str, str]:
    """What became of each change of the task so far: a sentence by the key of its call (`change_key`)."""
    ran, made = leave_turn(session).ran_steps, {}
    for action in _begun_actions(session):
        spec, step = action.spec, ActionId.parse(action.spec.id).name
        said = f"{step} {'has' if action.status == 'finished' else 'may have'} made this change already."
        if spec.effect != "read":
            made[change_key(spec.tool, spec.arguments)] = said
        if (planned := ran.get(step)) and planned.effect in ("write", "irreversible"):
            made[change_key(planned.tool, planned.arguments, planned.for_each)] = said
    return made


def change_key(tool: str | None, arguments: Mapping[str, JsonValue] | None, for_each: str | None = None) -> str:
    """Equal for calls that make the same change."""
    return json.dumps([tool, arguments or {}, for_each], sort_keys=True)


def _begun_actions(session: Session) -> tuple[Action, ...]:
    """The steps of the task that finished, or may have; failed ones are not among them."""
    return tuple(
        action for action in leave_turn(session).begun_steps if action.status not in DONE_STATUSES - {"finished"}
    )


def _actions_with_given_output(session: Session) -> tuple[Action, ...]:
    """The skipped steps of the task whose output the user has given."""
    given = (action for action in leave_turn(session).begun_steps if action.given)
    return tuple(action for action in given if not ActionId.parse(action.spec.id).item)


def _is_same_call(before: Step | None, step: Step) -> bool:
    if before is None:
        return False
    return (before.tool, before.arguments or {}, before.for_each) == (step.tool, step.arguments or {}, step.for_each)


def step_of(session: Session, action: str) -> Step | None:
    """The step of the execution plan that this action runs, also for one item; None for any other action."""
    plan = session.plan
    if plan is None or not plan.task:
        return None
    return next((step for step in plan.steps if action_id(plan, step) == ActionId.parse(action).whole), None)


def has_references(step: Step) -> bool:
    """Whether the step's arguments or its list come from other steps."""
    return bool(step.for_each or references(step.arguments))


def is_unresolved(session: Session, spec: ActionSpec) -> bool:
    """Whether the action still has the references that its step has in the plan, or that its turn was planned with."""
    step = step_of(session, spec.id)
    if step is None:
        return session.turn is not None and awaits_values(session.turn, spec)
    if ActionId.parse(spec.id).item or not has_references(step):
        return False
    return (spec.tool, spec.arguments) == (step.tool, step.arguments or {})


def task_status(session: Session) -> TaskStatus:
    """The status of the current task, across all versions of its plan."""
    plan = session.plan
    if plan is None or plan.task != session.task:
        return "draft"
    match plan.status:
        case "rejected" | "draft":
            return "draft"
        case "approved" | "executing" | "failed" if (
            session.phase in ("planning", "awaiting_input") and session.turn is None
        ):
            return "draft"  # the next version is being made
        case "executing" if session.paused or session.phase == "resting":
            return "paused"
        case "executing" if session.phase == "failed":
            return "failed"
        case status:
            return status
