"""Which calls a person must allow, and which are not made at all: the domain's word on every action that is planned."""

from parley.events.values import ActionSpec, Effect, Step, ToolPolicy, ToolRule
from shared.domain.memory import key_of, standing
from shared.domain.plan_approval import covered
from shared.domain.plan_steps import done_before, in_doubt, step_of
from shared.domain.session import Session
from shared.domain.state import Action, ActionStatus

REASONS = {
    "read": "you asked to be asked about every call",
    "write": "it changes something",
    "irreversible": "it changes something and cannot be undone",
}
STRENGTH: dict[Effect, int] = {"read": 0, "write": 1, "irreversible": 2}
PLANNED_AS: dict[Effect, str] = {"read": "only reads", "write": "can be undone", "irreversible": "cannot be undone"}


def ruled(session: Session, spec: ActionSpec) -> ActionSpec:
    """The action with the domain's ruling: proceed, mutate, skip, require_approval or deny.

    A step of a plan is itself and no other call: that an equal one was made before says nothing about it.
    """
    if spec.decision == "deny" and spec.decision_reason:
        return spec.model_copy(update={"approval_reason": None})
    step = step_of(session, spec.id)
    again = spec.effect != "read" or done_before(session, spec.id)
    before = _stands(session, spec, step) if again else None
    if why := _denied(session, spec, before):
        return spec.model_copy(update={"decision": "deny", "decision_reason": why, "approval_reason": None})
    if before == "finished":
        return spec.model_copy(
            update={"decision": "skip", "decision_reason": "it has been done already", "approval_reason": None}
        )
    with_plan = step is not None and before is None and covered(session, step, spec)
    approval = spec.approval_reason or (None if with_plan else _asked(session, spec, before))
    if approval:
        return spec.model_copy(update={"decision": "require_approval", "approval_reason": approval})
    return spec.model_copy(update={"decision": "mutate" if spec.repairs else "proceed"})


def stricter(session: Session, action: Action, tool: ToolRule | None) -> ActionSpec | None:
    """The action ruled by its tool's own effect and policy, if that is stricter than its plan; else None.

    What a person allowed stays allowed, unless the tool does more than they were shown, has changed since the plan was
    made, or is denied by now. A tool that nobody knows (None) is taken as it was planned.
    """
    planned = action.spec
    step = step_of(session, planned.id)
    if tool and step and planned.tool == step.tool and (why := outdated(step, tool)):
        return planned.model_copy(update={"decision": "deny", "decision_reason": why, "approval_reason": None})
    tool = tool or ToolRule(effect=planned.effect, policy=planned.policy, quiet=planned.quiet)
    understated = STRENGTH[tool.effect] > STRENGTH[planned.effect]
    shown = None if action.allowed or understated else planned.approval_reason
    ruling = {"effect": tool.effect, "policy": tool.policy, "approval_reason": shown, "quiet": tool.quiet}
    spec = planned.model_copy(update=ruling)
    as_planned = not understated and (tool.quiet or not action.quiet)
    if action.allowed and as_planned and policy_of(session, spec) != "deny":
        return None
    anew = ruled(session, spec)
    if anew.decision in ("proceed", "mutate") and as_planned:
        return None
    if anew.approval_reason is None or shown:
        return anew
    planned_as = f"says that it {PLANNED_AS[planned.effect]}" if understated else "would not have asked you"
    return anew.model_copy(update={"approval_reason": f"{anew.approval_reason}; the plan {planned_as}"})


def outdated(step: Step, tool: ToolRule | None) -> str:
    """Why the step must not run as it was planned: its tool has changed since, or is gone. "" where neither is so."""
    if step.fingerprint is None or (tool and tool.fingerprint in (step.fingerprint, "")):
        return ""
    if tool is None:
        gone = f"The tool {step.tool} is gone: it was there when this plan was made."
        return f"{gone} Change the step, or wait until the tool is there again."
    what = "it takes other arguments now"
    if tool.effect != step.effect:
        what = f"the plan says that it {PLANNED_AS[step.effect or 'read']}, and now it {PLANNED_AS[tool.effect]}"
    again = "Save the plan again to have it held against the tool as it is now."
    return f"The tool {step.tool} has changed since this plan was made: {what}. {again}"


def ruled_as(specs: tuple[ActionSpec, ...]) -> str:
    """In words, what was ruled more strictly than it was planned, and why."""
    whys = ((spec, spec.approval_reason or spec.decision_reason) for spec in specs)
    return "; ".join(f"{spec.id} is ruled as {spec.effect}{f': {why}' if why else ''}" for spec, why in whys)[:5_000]


def policy_of(session: Session, spec: ActionSpec) -> ToolPolicy:
    """A tool that is denied by its configuration stays so; else the person's word in this session comes first."""
    if spec.policy == "deny":
        return "deny"
    return session.policies.get(spec.tool) or spec.policy or session.settings.approval


def _stands(session: Session, spec: ActionSpec, step: Step | None) -> ActionStatus | None:
    if step is None:
        return _before(session, spec)
    if done_before(session, spec.id):
        return "finished"
    return "uncertain" if in_doubt(session, spec.id) else None


def _before(session: Session, spec: ActionSpec) -> ActionStatus | None:
    """What became of this very change; one that outlived its turn may still be running."""
    key = key_of(spec.tool, spec.arguments)
    runs = any(
        loose.status == "started" and key_of(loose.spec.tool, loose.spec.arguments) == key
        for loose in session.left_running
    )
    return "uncertain" if runs else standing(session.memory, session.turn, spec)


def _denied(session: Session, spec: ActionSpec, before: ActionStatus | None) -> str:
    if policy_of(session, spec) == "deny":
        return "this tool must not be used here"
    return "this very call was refused before" if before == "denied" else ""


def _asked(session: Session, spec: ActionSpec, before: ActionStatus | None) -> str | None:
    if before == "uncertain":
        return "it may have been done already: nobody knows what became of it"
    policy = policy_of(session, spec)
    asks = policy == "always" or (policy == "writes" and spec.effect != "read")
    return REASONS[spec.effect] if asks else None
