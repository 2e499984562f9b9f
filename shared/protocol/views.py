"""The parts of a session as clients see them, inside the server's messages."""

from pydantic import BaseModel, ConfigDict, JsonValue

from shared.events.values import Check, Effect, NextAction, PlanKind, Status, Step


class View(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlanView(View):
    version: int
    number: int
    kind: PlanKind
    goal: str
    steps: tuple[Step, ...]
    notes: str
    text: str
    hash: str
    status: str
    by: str


class CodeView(View):
    version: int
    number: int
    plan_version: int
    code: str
    explanation: str
    hash: str
    status: str
    by: str
    checks: tuple[Check, ...] = ()
    tests: str = ""


class ActionView(View):
    action_id: str
    tool: str
    arguments: dict[str, JsonValue]
    text: str
    effect: Effect
    status: str
    approval: str | None
    hash: str
    result: JsonValue = None
    error: str = ""


class VerdictView(View):
    status: Status
    next_action: NextAction
    reasoning: str


class TurnView(View):
    number: int
    sub_goal: str
    actions: tuple[ActionView, ...]
    by: str
    verdict: VerdictView | None = None


class FailureView(View):
    stage: str
    reason: str
    retryable: bool
    raw: str = ""
