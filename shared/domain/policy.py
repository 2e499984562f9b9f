"""Which calls a person must allow, and which are not made at all: the domain's word on every action that is planned."""

from shared.domain.memory import Deed, history, same_call
from shared.domain.session import Session
from shared.events.values import ActionSpec, ToolPolicy

REASONS = {
    "read": "you asked to be asked about every call",
    "write": "it changes something",
    "irreversible": "it changes something and cannot be undone",
}


def ruled(session: Session, spec: ActionSpec) -> ActionSpec:
    """The action with the domain's ruling: proceed, mutate, skip, require_approval or deny."""
    done = history(session.memory, session.turn)
    if why := _denied(session, spec, done):
        return spec.model_copy(update={"ruling": "deny", "why": why, "approval": None})
    if spec.effect != "read" and same_call(spec.tool, spec.arguments, done, "finished"):
        return spec.model_copy(update={"ruling": "skip", "why": "it has been done already", "approval": None})
    approval = spec.approval or _asked(session, spec)
    if approval:
        return spec.model_copy(update={"ruling": "require_approval", "approval": approval})
    return spec.model_copy(update={"ruling": "mutate" if spec.repairs else "proceed"})


def policy_of(session: Session, spec: ActionSpec) -> ToolPolicy:
    """A tool that is denied by its configuration stays so; else the person's word in this session comes first."""
    if spec.policy == "deny":
        return "deny"
    return session.policies.get(spec.tool) or spec.policy or session.settings.approval


def _denied(session: Session, spec: ActionSpec, done: tuple[Deed, ...]) -> str:
    if policy_of(session, spec) == "deny":
        return "this tool must not be used here"
    if spec.effect != "read" and same_call(spec.tool, spec.arguments, done, "denied"):
        return "this very call was refused before"
    return ""


def _asked(session: Session, spec: ActionSpec) -> str | None:
    policy = policy_of(session, spec)
    asks = policy == "always" or (policy == "writes" and spec.effect != "read")
    return REASONS[spec.effect] if asks else None
