"""Steps of an execution plan as actions: their ids, what they depend on, and where the task stands. Pure."""

from collections.abc import Iterator, Sequence
from typing import Literal

from parley.events.hashing import canonical_size
from parley.events.values import ActionSpec, Step
from shared.domain.errors import Invalid
from shared.domain.references import ITEM, malformed, references, steps_in
from shared.domain.session import Session
from shared.domain.state import DONE, Action, Plan, plan_content
from shared.domain.waves import leave_turn

MOST_STEPS = 100  # of a plan
LARGEST_PLAN = 200_000  # bytes of a plan as canonical JSON
GATHER = "for each"  # the tool of an action that gathers what a step gave for each item: no other tool is called so
TaskStatus = Literal["draft", "pending_approval", "approved", "executing", "paused", "completed", "failed", "cancelled"]


def task_of(session: Session) -> str:
    """The task that the next version of an execution plan belongs to: that of the request, or a new one."""
    return session.task or f"t{session.version + 1}"


def action_id(plan: Plan, step: Step) -> str:
    """One step is one action, whichever version of the task it runs by."""
    return f"{plan.task}.{step.id}"


def fresh_id(taken: set[str]) -> str:
    """An id that no step has. It is taken from now on."""
    number = next(number for number in range(1, len(taken) + 2) if f"s{number}" not in taken)
    taken.add(f"s{number}")
    return f"s{number}"


def needs(step: Step) -> tuple[str, ...]:
    """The steps that must have ended well before it: those it comes after, and those it refers to."""
    return tuple(dict.fromkeys((*step.after, *steps_in(step.for_each), *steps_in(step.arguments))))


def called(number: int, step: Step) -> str:
    """A step in words, with which what is wrong with it begins: its place for people, its id for who wrote the plan."""
    return f"Step {number} ({step.id})"


def refusal(steps: Sequence[Step], wrong: Sequence[str]) -> Invalid:
    """All that is wrong with these steps as one refusal, in which each finds its own part; "": what is nobody's own."""
    of: dict[str, list[str]] = {}
    names = {called(number, step): step.id for number, step in enumerate(steps, 1) if step.id}
    for text in wrong:
        name = next((name for name in names if text.startswith(name)), "")
        of.setdefault(names.get(name, ""), []).append(text.removeprefix(name).lstrip(": "))
    return Invalid(" ".join(wrong), of)


def problems(steps: Sequence[Step], goal: str = "", notes: str = "") -> tuple[str, ...]:
    """Why these steps cannot be carried out as a plan, whatever their tools are; none: they can."""
    names = [step.id for step in steps if step.id]
    found = [*_too_large(steps, goal, notes)]
    found += [f"Step {number} has no id." for number, step in enumerate(steps, 1) if not step.id]
    found += [f"Two steps have the id {name}." for name in dict.fromkeys(names) if names.count(name) > 1]
    for number, step in enumerate(steps, 1):
        which = called(number, step)
        if not step.tool:
            found.append(f"{which} names no tool.")
        found += [f"{which} depends on {need}, which is no step." for need in needs(step) if need not in names]
        found += [f"{which} has {text[:80]}, which is no reference." for text in malformed(step.arguments)]
        found += [f"{which} {problem}" for problem in _for_each_problems(step)]
    return (*found, *(() if found else _circle(steps)))


def _too_large(steps: Sequence[Step], goal: str, notes: str) -> Iterator[str]:
    if len(steps) > MOST_STEPS:
        instead = "make two plans of it, or do one step for each item of a list."
        yield f"The plan has {len(steps)} steps, and may have {MOST_STEPS}: {instead}"
    if (size := canonical_size(plan_content(goal, tuple(steps), notes))) > LARGEST_PLAN:
        instead = "keep long texts in files of the session, or make two plans of it."
        yield f"The plan has {size:,} bytes, and may have {LARGEST_PLAN:,}: {instead}"


def _for_each_problems(step: Step) -> Iterator[str]:
    list_ = references(step.for_each)
    if step.for_each is None:
        if any(one.step == ITEM for one in references(step.arguments)):
            yield "refers to an item, and does not say for each of what list it is done."
    elif len(list_) != 1 or list_[0].step == ITEM or step.for_each.strip() != list_[0].text:
        yield f"is to be done for each of {step.for_each[:80]}, which is no reference to a list of an earlier step."
    elif step.waits_for:
        yield "waits, and cannot be done for each item of a list."


def _circle(steps: Sequence[Step]) -> tuple[str, ...]:
    left = {step.id: set(needs(step)) for step in steps}
    places = [f"{number} ({step.id})" for number, step in enumerate(steps, 1)]
    while free := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in free:
            del left[name]
    stuck = [place for place, step in zip(places, steps, strict=True) if step.id in left]
    if len(stuck) == 1:
        return (f"Step {stuck[0]} waits for itself.",)
    return (f"Steps {', '.join(stuck)} wait for each other.",) if stuck else ()


def unfinished(session: Session) -> bool:
    """The session rests, and its plan of steps has not come to its end: one came to nothing, the person stopped it, or
    it was approved and not started.

    What is said then is about this plan. To retry goes on with it, or starts it.
    """
    turn, plan = session.turn, session.plan
    rests = session.phase == "resting" and session.rest_reason != "completed"
    if not rests or turn is None or not turn.rules.by_step or plan is None or plan.task != session.task:
        return False
    return plan.status in ("approved", "executing", "failed")


def held_up(session: Session) -> bool:
    """The plan of steps has not come to its end, and nothing of it goes on before a person says so."""
    plan = session.plan
    return unfinished(session) or (session.paused and bool(plan and plan.task) and task_status(session) == "paused")


def already_done(session: Session, actions: Sequence[ActionSpec]) -> tuple[str, ...]:
    """Those of a plan's actions that an earlier version of it has done, or whose output a person has given."""
    done = {action.spec.id for action in (*_begun(session), *_given(session)) if action.settled}
    return tuple(spec.id for spec in actions if spec.id in done)


def still_running(session: Session, task: str) -> bool:
    """Whether a step of the task runs that was begun by a turn which another version of the plan has ended, or ends."""
    return bool(task) and any(action.spec.id.startswith(f"{task}.") for action in leave_turn(session).left_running)


def done_before(session: Session, action: str) -> bool:
    """An earlier version of the plan has this item's output, of a step that it did not bring to its end."""
    return is_item(action) and any(one.spec.id == action and one.settled for one in leave_turn(session).begun_steps)


def in_doubt(session: Session, action: str) -> bool:
    """An earlier version of the plan began this step, and nobody knows whether it was done."""
    return any(one.spec.id == action and one.status != "finished" for one in _begun(session))


def rewritten(session: Session, steps: Sequence[Step]) -> tuple[str, ...]:
    """Why these steps cannot follow those of the plan at hand: one that was begun would be another."""
    plan = session.plan
    if plan is None or not plan.task or plan.task != session.task:
        return ()
    begun = {_of_step(action.spec.id): "has been begun" for action in _begun(session)}
    begun |= {action.spec.id: "has the output that you gave" for action in _given(session)}
    before = {step.id: step for step in plan.steps}
    return tuple(
        f"{called(number, step)} {why}: to do something else, or the same again, make a new step."
        for number, step in enumerate(steps, 1)
        if (why := begun.get(f"{plan.task}.{step.id}")) and not _same(before.get(step.id), step)
    )


def _begun(session: Session) -> tuple[Action, ...]:
    """The steps of the task that were done, or may have been. One that failed was not."""
    return tuple(action for action in leave_turn(session).begun_steps if action.status not in DONE - {"finished"})


def _given(session: Session) -> tuple[Action, ...]:
    """The steps of the task that were skipped, and whose output a person has given."""
    return tuple(action for action in leave_turn(session).begun_steps if action.given and not is_item(action.spec.id))


def _same(before: Step | None, step: Step) -> bool:
    if before is None:
        return False
    return (before.tool, before.arguments or {}, before.for_each) == (step.tool, step.arguments or {}, step.for_each)


def step_of(session: Session, action: str) -> Step | None:
    """The step of the session's execution plan that this action runs, also for one item; None for any other action."""
    plan = session.plan
    if plan is None or not plan.task:
        return None
    return next((step for step in plan.steps if action_id(plan, step) == _of_step(action)), None)


def _of_step(action: str) -> str:
    """The action of the whole step."""
    return action.partition("[")[0]


def is_item(action: str) -> bool:
    """Whether it runs a step for one item of its list."""
    return "[" in action


def refers(step: Step) -> bool:
    """Whether its values, or how often it is done, come from other steps."""
    return bool(step.for_each or references(step.arguments))


def unresolved(session: Session, spec: ActionSpec) -> bool:
    """It is still the step as it stands in the plan, and refers to what others give."""
    step = step_of(session, spec.id)
    if step is None or is_item(spec.id) or not refers(step):
        return False
    return (spec.tool, spec.arguments) == (step.tool, step.arguments or {})


def task_status(session: Session) -> TaskStatus:
    """How the task at hand stands, whichever version of its plan is the newest."""
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
