"""The parts of a session as clients see them, inside the server's messages."""

from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from parley.events.values import (
    Artefact,
    Check,
    Decision,
    Effect,
    Line,
    NextAction,
    PlanKind,
    Recalled,
    Status,
    Step,
    is_empty,
)


class View(BaseModel):
    # defer_build: a process uses few of these, and a validator takes a moment to make
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, from_attributes=True)


class OfStored(View):
    """Made of a stored value, which may have fields that only a newer release knows."""

    model_config = ConfigDict(extra="ignore")


class NodeProposalView(OfStored):
    """A node that the model misses in a flow."""

    flow: Line
    name: Line
    description: str
    why: str = Field("", validation_alias=AliasChoices("why", "reason"))


class PlannedPathView(OfStored):
    """A path as it was planned: `parley.events.values.PathPlan` under the names that clients know."""

    nodes: tuple[Line, ...]
    fallback: bool = False
    why: str = Field("", validation_alias=AliasChoices("why", "fallback_reason"))
    cached: bool = False
    attempts: int = 0
    examples: int = 0
    proposal: NodeProposalView | None = None


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
    path: PlannedPathView | None = None
    checks: tuple[Check, ...] = Field((), exclude_if=is_empty)


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
    depends_on: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    ruling: Decision = "proceed"
    why: str = ""
    seconds: float = 0
    tokens: int = 0
    artefact: Artefact | None = None
    sub_goal: str = Field("", exclude_if=is_empty)


class SubGoalVerdictView(OfStored):
    """How far a turn got with one of its sub-goals."""

    sub_goal: str
    status: Status
    reasoning: str


class VerdictView(View):
    """`sub_goals`: one on each sub-goal, where the turn worked on several."""

    status: Status
    next_action: NextAction
    reasoning: str
    execution_analysis: str = ""
    memory_analysis: str = ""
    rule: str = ""
    sub_goals: tuple[SubGoalVerdictView, ...] = Field((), exclude_if=is_empty)


class TurnView(View):
    number: int
    sub_goal: str
    actions: tuple[ActionView, ...]
    by: str
    verdict: VerdictView | None = None
    selected_tool: str = ""
    required_skills: tuple[str, ...] = ()
    reasoning: str = ""
    final: bool = False


class SubGoalView(View):
    goal: str
    status: Literal["pending", "completed", "failed"]


class MemoryView(View):
    """What the session remembers of the request at hand; counts are of this request."""

    turns: int
    max_turns: int
    sub_goals: tuple[SubGoalView, ...]
    recalled: tuple[Recalled, ...]
    planned: int
    executed: int


class AnswerView(View):
    text: str
    confidence: float
    evidence: tuple[str, ...]
    accepted: bool = False
    saved: bool = False


class PathView(View):
    """A path through one or two flows: as it was planned, and as it is walked; nodes are named `<flow>.<node>`.

    `current_path_index` counts from 0 in `walked` followed by `remaining`: the node that runs, waits or comes next,
    and at the end the last one. As long as nothing has left the planned path, these two are that path.
    """

    flows: tuple[str, ...]
    planned_execution_path: tuple[str, ...]
    current_path_index: int
    walked: tuple[str, ...]
    remaining: tuple[str, ...]
    fallback: bool
    why: str
    cached: bool
    attempts: int
    examples: int
    proposal: NodeProposalView | None = None


class FailureView(View):
    stage: str
    reason: str
    retryable: bool
    raw: str = ""
