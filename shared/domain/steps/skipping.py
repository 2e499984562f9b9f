"""Skipping steps of an execution plan: when a user may do it, and what happens to the steps that use the output.

Steps that only come `after` a skipped step go on. Steps that refer to its output are skipped with it, unless the user
gives the output instead.
"""

import json

from parley.events import SessionEvent, facts
from parley.events.values import Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import Invalid, OutOfTurn, require
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.kernel.wording import OUTPUT_GIVEN, SKIPPED
from shared.domain.rules.event_meta import event_meta
from shared.domain.steps.plan_steps import GATHER, action_id, is_unfinished, step_of
from shared.domain.steps.references import referenced_steps
from shared.domain.turn.action_ids import ActionId
from shared.domain.turn.batches import find_action

MAX_OUTPUT_BYTES = 8_000  # as JSON; users type or paste it, and the session carries it


def skip(session: Session, command: c.Skip, meta: CommandMeta) -> SessionEvent:
    """The skip of an action, with its dependents. Raises OutOfTurn, Invalid."""
    action = find_action(session, command.action_id)
    if action is None:
        raise OutOfTurn(f"There is no action {command.action_id} now.")
    dependents: tuple[str, ...] = ()
    if (step := step_of(session, action.spec.id)) and session.turn and session.turn.rules.by_step:
        dependents = dependents_to_skip(session, action, step, command)
    elif command.output is not None or command.with_dependents:
        raise Invalid("Only for a step of an execution plan can an output be given, or dependents be skipped with it.")
    else:
        open_ = action.status in ("planned", "approved")
        require(open_, f"Action {command.action_id} is {action.status}: too late to skip it.")
    is_given = command.output is not None
    return facts.ActionSkipped(
        **event_meta(session, meta, facts.ActionSkipped, action.spec.id),
        action_id=action.spec.id,
        reason=OUTPUT_GIVEN if is_given else SKIPPED,
        output=command.output,
        dependents=dependents,
    )


def dependents_to_skip(session: Session, action: Action, step: Step, command: c.Skip) -> tuple[str, ...]:
    """The ids of the actions that are skipped together with this one. Raises OutOfTurn, Invalid."""
    _check_open(session, action)
    if command.output is not None and command.with_dependents:
        raise Invalid("Give the output of the step, or skip the steps that use it: not both.")
    if command.output is not None:
        _check_output(command)
        return ()
    if ActionId.parse(action.spec.id).item:
        return ()
    users = dependents_of(session, step)
    if users and not command.with_dependents:
        names = ", ".join(f"“{user.text[:100]}” ({user.id})" for user in users)
        raise Invalid(
            f"What this step gives is used by {names}: skip it with its dependents (with_dependents), "
            "give its output instead (output), or change the plan."
        )
    plan = session.plan
    return tuple(action_id(plan, user) for user in users) if plan else ()


def dependents_of(session: Session, step: Step) -> tuple[Step, ...]:
    """The open steps that refer to this step's output, directly or indirectly."""
    plan, turn = session.plan, session.turn
    if plan is None or turn is None:
        return ()
    over = {action.spec.id for action in turn.actions if action.status == "finished" or action.is_left_out}
    open_ = [other for other in plan.steps if action_id(plan, other) not in over]
    missing = {step.id}
    while more := [user for user in open_ if user.id not in missing and missing & _refers_to(user)]:
        missing |= {user.id for user in more}
    return tuple(user for user in open_ if user.id in missing - {step.id})


def _refers_to(step: Step) -> set[str | None]:
    return {*referenced_steps(step.for_each), *referenced_steps(step.arguments)}


def _check_open(session: Session, action: Action) -> None:
    """Raises OutOfTurn, Invalid unless the step has not begun or has failed."""
    came_to_nothing = is_unfinished(session) and action.is_dead and not action.is_left_out
    if action.status == "uncertain":
        raise OutOfTurn("It is not known whether the step took effect: a retry asks you what happened.")
    open_ = action.status in ("planned", "approved", "asked", "waiting") or came_to_nothing
    require(open_, f"The step is {action.status}: too late to skip it.")
    if action.spec.tool == GATHER:
        raise Invalid("The step is being done for each item of its list: skip the items that you want to leave out.")


def _check_output(command: c.Skip) -> None:
    """Raises Invalid for too large an output."""
    size = len(json.dumps(command.output, ensure_ascii=False).encode(errors="replace"))
    if size > MAX_OUTPUT_BYTES:
        raise Invalid(
            f"The output has {size:,} bytes; the limit is {MAX_OUTPUT_BYTES:,}: give only what later steps refer to."
        )
