"""Skipping steps of a plan: when a person can do that, and what happens to the steps that use the output.

Steps that only come `after` a skipped step go on. Steps that refer to its output cannot: they are skipped with it, or
the person gives the output in its place.
"""

import json

from parley.events.values import Step
from shared.domain.commands import Skip
from shared.domain.errors import Invalid, OutOfTurn, need
from shared.domain.plan_steps import GATHER, action_id, is_item, unfinished
from shared.domain.references import steps_in
from shared.domain.session import Session
from shared.domain.state import Action

LARGEST_OUTPUT = 8_000  # bytes, as JSON: a person types or pastes it, and every fold of the session carries it


def dependents_to_skip(session: Session, action: Action, step: Step, command: Skip) -> tuple[str, ...]:
    """The ids of the actions that are skipped together with this one. Raises OutOfTurn, Invalid where it cannot be."""
    _check_open(session, action)
    if command.output is not None and command.with_dependents:
        raise Invalid("Give the output of the step, or skip the steps that use it: not both.")
    if command.output is not None:
        _check_output(command)
        return ()
    if is_item(action.spec.id):
        return ()
    users = users_of(session, step)
    if users and not command.with_dependents:
        names = ", ".join(f"“{user.text[:100]}” ({user.id})" for user in users)
        raise Invalid(
            f"What this step gives is used by {names}: skip it with its dependents (with_dependents), "
            "give its output instead (output), or change the plan."
        )
    plan = session.plan
    return tuple(action_id(plan, user) for user in users) if plan else ()


def users_of(session: Session, step: Step) -> tuple[Step, ...]:
    """The steps still to be carried out that refer to this one's output, directly or through each other."""
    plan, turn = session.plan, session.turn
    if plan is None or turn is None:
        return ()
    over = {action.spec.id for action in turn.actions if action.status == "finished" or action.left_out}
    open_ = [other for other in plan.steps if action_id(plan, other) not in over]
    missing = {step.id}
    while more := [user for user in open_ if user.id not in missing and missing & _refers_to(user)]:
        missing |= {user.id for user in more}
    return tuple(user for user in open_ if user.id in missing - {step.id})


def _refers_to(step: Step) -> set[str | None]:
    return {*steps_in(step.for_each), *steps_in(step.arguments)}


def _check_open(session: Session, action: Action) -> None:
    """A step can be skipped before it begins, and after it came to nothing. Raises OutOfTurn, Invalid."""
    came_to_nothing = unfinished(session) and action.dead and not action.left_out
    if action.status == "uncertain":
        raise OutOfTurn("Nobody knows whether the step was done: retry asks you what happened.")
    open_ = action.status in ("planned", "approved", "asked", "waiting") or came_to_nothing
    need(open_, f"The step is {action.status}: too late to skip it.")
    if action.spec.tool == GATHER:
        raise Invalid("The step is being done for each item of its list: skip those that shall be left out.")


def _check_output(command: Skip) -> None:
    """Raises Invalid."""
    size = len(json.dumps(command.output, ensure_ascii=False).encode(errors="replace"))
    if size > LARGEST_OUTPUT:
        raise Invalid(
            f"The output has {size:,} bytes and may have {LARGEST_OUTPUT:,}: give only what the later steps refer to."
        )
