"""Which calls a person must allow, and which are not made at all: the domain's word on every action that is planned."""

from shared.domain.memory import key_of, standing
from shared.domain.session import Session
from shared.domain.state import ActionStatus
from shared.events.values import ActionSpec, ToolPolicy

REASONS = {
    "read": "you asked to be asked about every call",
    "write": "it changes something",
    "irreversible": "it changes something and cannot be undone",
}


def ruled(session: Session, spec: ActionSpec) -> ActionSpec:
    """The action with the domain's ruling: proceed, mutate, skip, require_approval or deny."""
    before = _before(session, spec) if spec.effect != "read" else None
    if why := _denied(session, spec, before):
        return spec.model_copy(update={"ruling": "deny", "why": why, "approval": None})
    if before == "finished":
        return spec.model_copy(update={"ruling": "skip", "why": "it has been done already", "approval": None})
    approval = spec.approval or _asked(session, spec, before)
    if approval:
        return spec.model_copy(update={"ruling": "require_approval", "approval": approval})
    return spec.model_copy(update={"ruling": "mutate" if spec.repairs else "proceed"})


def policy_of(session: Session, spec: ActionSpec) -> ToolPolicy:
    """A tool that is denied by its configuration stays so; else the person's word in this session comes first."""
    if spec.policy == "deny":
        return "deny"
    return session.policies.get(spec.tool) or spec.policy or session.settings.approval


def _before(session: Session, spec: ActionSpec) -> ActionStatus | None:
    """What became of this very change; one that outlived its turn may still be running."""
    key = key_of(spec.tool, spec.arguments)
    runs = any(key_of(loose.spec.tool, loose.spec.arguments) == key for loose in session.loose)
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
