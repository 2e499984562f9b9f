"""What the approval of an execution plan covers, and where the session's settings make one unnecessary. Pure."""

from collections.abc import Collection

from parley.events.values import ActionSpec, Step
from shared.domain.plan_steps import GATHER, called, is_item, refers
from shared.domain.session import Session
from shared.domain.state import Plan


def covered(session: Session, step: Step, spec: ActionSpec) -> bool:
    """Whether nobody has to be asked about this call of the step, because its plan was approved.

    A person's approval covers any read, a change whose every argument the plan shows, and a change that was preapproved
    with whatever values its references get. An approval by the session's settings covers no call: each asks by its own
    policy. A call with references is not asked about before their values are known, nor a change for each item of a
    list before the list is.
    """
    plan = session.plan
    if plan is None or plan.status not in ("approved", "executing"):
        return False
    if spec.tool == GATHER:
        return step.for_each is not None and not spec.arguments
    if spec.tool != step.tool:
        return False
    if spec.effect != (step.effect or "read"):
        return False  # the tool does more than the plan showed
    as_planned = spec.arguments == (step.arguments or {}) and not is_item(spec.id)
    if plan.approved_by_setting:
        return spec.waits_for is not None or (as_planned and refers(step))
    return spec.effect == "read" or as_planned or (step.id in plan.preapproved and preapprovable(step))


def preapprovable(step: Step) -> bool:
    """Whether a person may allow its calls before their values are known: never where they cannot be undone."""
    return step.effect == "write" and refers(step)


def preapproval_problems(plan: Plan, steps: Collection[str]) -> tuple[str, ...]:
    """Why these steps cannot be preapproved, in words; none: they can."""
    known = {step.id or "": (number, step) for number, step in enumerate(plan.steps, 1)}
    wrong = [f"“{name[:80]}” is no step of this plan." for name in steps if name not in known]
    for number, step in (known[name] for name in steps if name in known and not preapprovable(known[name][1])):
        if step.effect == "irreversible":
            why = "cannot be undone: it is asked about when its values are known."
        elif step.effect == "write":
            why = "has no references: the approval covers it as it stands."
        else:
            why = "changes nothing: nobody is asked about it."
        wrong.append(f"{called(number, step)} {why}")
    return tuple(wrong)


def begins_by_setting(session: Session) -> bool:
    """Whether the plan at hand begins without a person's approval, by the session's settings.

    What was said of it meanwhile comes first: the planner drafts another version then.
    """
    plan, words = session.plan, session.words
    if plan is None or not plan.task or plan.task != session.task or plan.status != "pending_approval":
        return False
    said = words.remark is not None or words.feedback or session.next_draft.another
    return session.phase == "planning" and not session.settings.require_plan_approval and not said
