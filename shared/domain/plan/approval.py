"""What the approval of an execution plan covers, and when the session's settings make one unnecessary. Pure."""

from collections.abc import Collection

from parley.events.values import ActionSpec, Step
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Plan
from shared.domain.steps.plan_steps import GATHER, has_references, step_label
from shared.domain.turn.action_ids import ActionId


def is_covered(session: Session, step: Step, spec: ActionSpec) -> bool:
    """Whether the approval of the plan covers this call of the step, so that the user is not asked again.

    The user's approval covers any read, a change whose arguments the plan shows in full, and a change that was
    preapproved with any values of its references. An approval by the session's settings covers no call, a polled one
    included: each asks by its own policy. The user is not asked about a call with references before their values are
    known, nor about a step for each item of a list before the list is known.
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
    as_planned = spec.arguments == (step.arguments or {}) and not ActionId.parse(spec.id).item
    if plan.approved_by_setting:
        return spec.waits_for in ("person", "time") or (as_planned and has_references(step))
    return spec.effect == "read" or as_planned or (step.id in plan.preapproved and is_preapprovable(step))


def is_preapprovable(step: Step) -> bool:
    """Whether the user may approve its calls before their values are known. Never for irreversible calls."""
    return step.effect == "write" and has_references(step)


def preapproval_problems(plan: Plan, steps: Collection[str]) -> tuple[str, ...]:
    """Why these steps cannot be preapproved, one sentence each; empty if they can."""
    known = {step.id or "": (number, step) for number, step in enumerate(plan.steps, 1)}
    wrong = [f"“{name[:80]}” is not a step of this plan." for name in steps if name not in known]
    for number, step in (known[name] for name in steps if name in known and not is_preapprovable(known[name][1])):
        if step.effect == "irreversible":
            reason = "cannot be undone: you approve it when its values are known."
        elif step.effect == "write":
            reason = "has no references: the approval covers it as it stands."
        else:
            reason = "changes nothing: it needs no approval."
        wrong.append(f"{step_label(number, step)} {reason}")
    return tuple(wrong)


def starts_by_setting(session: Session) -> bool:
    """Whether the session's settings let the current plan start without the user's approval.

    Messages that came meanwhile come first: the planner then drafts another version.
    """
    plan, words = session.plan, session.words
    if plan is None or not plan.task or plan.task != session.task or plan.status != "pending_approval":
        return False
    has_messages = session.reply is not None or words.unread or session.next_draft.another
    return session.phase == "planning" and not session.settings.require_plan_approval and not has_messages
