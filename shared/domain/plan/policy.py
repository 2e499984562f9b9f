"""The domain's ruling on every planned action: which calls need the user's approval, and which are denied."""

from parley.events.values import ActionSpec, Effect, Step, ToolPolicy, ToolRule
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, ActionStatus
from shared.domain.plan.approval import is_covered
from shared.domain.steps.plan_steps import is_in_doubt, is_item_done, step_of
from shared.domain.transcript.memory import key_of, outcome_of

REASONS = {
    "read": "you asked to be asked about every call",
    "write": "it changes something",
    "irreversible": "it changes something and cannot be undone",
}
STRENGTH: dict[Effect, int] = {"read": 0, "write": 1, "irreversible": 2}
STRICTNESS: tuple[ToolPolicy | None, ...] = ("never", "writes", None, "always", "deny")  # of reads; None: the session's
EFFECT_WORDS: dict[Effect, str] = {"read": "only reads", "write": "can be undone", "irreversible": "cannot be undone"}


def with_ruling(session: Session, spec: ActionSpec) -> ActionSpec:
    """The action with the domain's ruling: proceed, mutate, skip, require_approval or deny.

    An equal call that was made before does not count for a plan's step: each step is a call of its own.
    """
    if spec.decision == "deny" and spec.decision_reason:
        return spec.model_copy(update={"approval_reason": None})
    step = step_of(session, spec.id)
    again = spec.effect != "read" or is_item_done(session, spec.id)
    before = _previous_outcome(session, spec, step) if again else None
    if why := _denial_reason(session, spec, before):
        return denied(spec, why)
    if before == "finished":
        return spec.model_copy(
            update={"decision": "skip", "decision_reason": "it has been done already", "approval_reason": None}
        )
    with_plan = step is not None and before is None and is_covered(session, step, spec)
    approval = spec.approval_reason or (None if with_plan else _approval_reason(session, spec, before))
    if approval:
        return spec.model_copy(update={"decision": "require_approval", "approval_reason": approval})
    return spec.model_copy(update={"decision": "mutate" if spec.repairs else "proceed"})


def stricter_ruling(session: Session, action: Action, tool: ToolRule | None) -> ActionSpec | None:
    """The action ruled by its tool's current effect and policy, if that is stricter than planned; else None.

    The user's approval holds, unless the tool does more than the user was shown, has changed since the plan was made,
    or is denied by now. An unknown tool (None) counts as planned.
    """
    planned = action.spec
    if tool and (why := outdated_call(session, planned, tool)):
        return denied(planned, why)
    tool = tool or ToolRule(effect=planned.effect, policy=planned.policy, quiet=planned.quiet)
    understated = STRENGTH[tool.effect] > STRENGTH[planned.effect]
    reason = None if action.allowed or understated else planned.approval_reason
    ruling = {"effect": tool.effect, "policy": tool.policy, "approval_reason": reason, "quiet": tool.quiet}
    spec = planned.model_copy(update=ruling)
    as_planned = not understated and (tool.quiet or not action.is_quiet)
    if action.allowed and as_planned and policy_of(session, spec) != "deny":
        return None
    ruled = with_ruling(session, spec)
    if ruled.decision in ("proceed", "mutate") and as_planned:
        return None
    if ruled.approval_reason is None or reason:
        return ruled
    planned_as = f"says that it {EFFECT_WORDS[planned.effect]}" if understated else "would not have asked you"
    return ruled.model_copy(update={"approval_reason": f"{ruled.approval_reason}; the plan {planned_as}"})


def denied(spec: ActionSpec, why: str) -> ActionSpec:
    return spec.model_copy(update={"decision": "deny", "decision_reason": why[:2_000], "approval_reason": None})


def outdated_call(session: Session, spec: ActionSpec, tool: ToolRule | None) -> str:
    """Why the plan's approval no longer covers this call of a step; "" if it does, and for any other call."""
    step = step_of(session, spec.id)
    return outdated_reason(step, tool) if step and spec.tool == step.tool else ""


def outdated_reason(step: Step, tool: ToolRule | None) -> str:
    """Why the step must not run as planned: its tool has changed or is gone. "" otherwise."""
    if step.fingerprint is None or (tool and tool.fingerprint in (step.fingerprint, "")):
        return ""
    if tool is None:
        gone = f"The tool {step.tool} is gone: it was there when this plan was made."
        return f"{gone} Change the step, or wait until the tool is there again."
    what = "it takes other arguments now"
    if tool.effect != step.effect:
        what = f"the plan says that it {EFFECT_WORDS[step.effect or 'read']}, and now it {EFFECT_WORDS[tool.effect]}"
    again = "Save the plan again to have it held against the tool as it is now."
    return f"The tool {step.tool} has changed since this plan was made: {what}. {again}"


def describe_rulings(specs: tuple[ActionSpec, ...]) -> str:
    """A sentence that names the actions ruled more strictly than planned, and why."""
    whys = ((spec, spec.approval_reason or spec.decision_reason) for spec in specs)
    return "; ".join(f"{spec.id} is ruled as {spec.effect}{f': {why}' if why else ''}" for spec, why in whys)[:5_000]


def policy_of(session: Session, spec: ActionSpec) -> ToolPolicy:
    """The policy for a call: denied by the tool's configuration, else the user's choice, else the defaults.

    For a step that polls it is the stricter of its own and that of the tool that it calls.
    """
    if spec.policy == "deny":
        return "deny"
    default = spec.policy or session.settings.approval
    tools = {spec.tool, asked_tool(spec)}
    return max((session.policies.get(name) or default for name in tools), key=STRICTNESS.index)


def asked_tool(spec: ActionSpec) -> str:
    """The tool whose calls the user is asked about: of a step that polls, the one that it calls."""
    polled = spec.arguments.get("tool") if spec.waits_for == "condition" else None
    return polled if isinstance(polled, str) else spec.tool


def strictest(*policies: ToolPolicy | None) -> ToolPolicy | None:
    """The strictest of these policies for a read. None stands for the session's own."""
    return max(policies, key=STRICTNESS.index)


def _previous_outcome(session: Session, spec: ActionSpec, step: Step | None) -> ActionStatus | None:
    if step is None:
        return _outcome_of_same_call(session, spec)
    if is_item_done(session, spec.id):
        return "finished"
    return "uncertain" if is_in_doubt(session, spec.id) else None


def _outcome_of_same_call(session: Session, spec: ActionSpec) -> ActionStatus | None:
    """How the same change ended before. "uncertain" while an earlier turn's call of it may still be running."""
    key = key_of(spec.tool, spec.arguments)
    runs = any(
        action.status == "started" and key_of(action.spec.tool, action.spec.arguments) == key
        for action in session.left_running
    )
    return "uncertain" if runs else outcome_of(session.memory, session.turn, spec)


def _denial_reason(session: Session, spec: ActionSpec, before: ActionStatus | None) -> str:
    if policy_of(session, spec) == "deny":
        return "this tool must not be used here"
    return "this very call was refused before" if before == "denied" else ""


def _approval_reason(session: Session, spec: ActionSpec, before: ActionStatus | None) -> str | None:
    if before == "uncertain":
        return "it may have been done already: nobody knows what became of it"
    policy = policy_of(session, spec)
    asks = policy == "always" or (policy == "writes" and spec.effect != "read")
    return REASONS[spec.effect] if asks else None
