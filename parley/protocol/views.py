"""Views of a session's parts, inside the server's messages."""

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
    # defer_build: building validators takes time, and a process uses few of them
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, from_attributes=True)


class RestModel(BaseModel):
    """A response of the REST API. Clients ignore fields of newer gateways."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class StoredValueView(View):
    """A view of a stored value, which may have fields of a newer release."""

    model_config = ConfigDict(extra="ignore")


class NodeProposalView(StoredValueView):
    """A node that the model proposes for a flow."""

    flow: Line = Field(description="the flow it would belong to")
    name: Line = Field(description="its name")
    description: str = Field(description="what it would do")
    why: str = Field(
        "", validation_alias=AliasChoices("why", "reason"), description="why the model would have needed it"
    )


class PlannedPathView(StoredValueView):
    """A planned path: `parley.events.values.PathPlan` with the names of the protocol."""

    nodes: tuple[Line, ...] = Field(description="`<flow>.<node>`, in order")
    fallback: bool = Field(False, description="true: the path is the full graph")
    why: str = Field(
        "",
        validation_alias=AliasChoices("why", "fallback_reason"),
        description="why it is the full graph; empty where it is not",
    )
    cached: bool = Field(False, description="true: reused from an earlier plan for the same request and state")
    attempts: int = Field(0, description="the number of proposals that the model made")
    examples: int = Field(0, description="the number of accepted paths of similar requests in the prompt")
    proposal: NodeProposalView | None = Field(
        None, description="a node that the model would have needed: for a person to review, never run"
    )


class PlanView(View):
    version: int = Field(description="version of the event that made it")
    number: int = Field(description="a number for people: 1, 2, 3 …")
    kind: PlanKind = Field(description="`text`: sentences; `path`: nodes of a flow; `execution`: calls of tools")
    goal: str = Field(description="what the plan is for, in a sentence")
    steps: tuple[Step, ...] = Field(description="what to do, in order")
    notes: str = Field(description="anything the steps do not say")
    text: str = Field(description="the plan as Markdown; its `hash` covers all of the plan that can run, not this text")
    hash: str = Field(description="the content hash that an approval may name")
    status: str = Field(
        description="`draft`, `pending_approval`, `approved`, `executing`, `completed`, `failed`, `cancelled` or "
        "`rejected`"
    )
    by: str = Field(description="who made it")
    path: PlannedPathView | None = Field(
        None, description="the path through nodes of flows; none: the plan does not walk a flow"
    )
    checks: tuple[Check, ...] = Field((), exclude_if=is_empty, description="checks, with their results")
    wishes: tuple[str, ...] = Field(
        (), exclude_if=is_empty, description="what the person wants of the program beside the plan"
    )


class CodeView(View):
    version: int = Field(description="version of the event that made it")
    number: int = Field(description="a number for people: 1, 2, 3 …")
    plan_version: int = Field(description="the plan's version: the version of the event that made it")
    code: str = Field(description="the whole program")
    explanation: str = Field(description="what the generator says about it")
    hash: str = Field(description="the content hash that an approval may name")
    status: str = Field(description="`checking`, `review`, `approved`, `rejected` or `superseded`")
    by: str = Field(description="who made it")
    checks: tuple[Check, ...] = Field((), description="checks, with their results")
    tests: str = Field("", description="the tests that were written from the plan")


class ActionView(View):
    action_id: str = Field(description="the action's id")
    tool: str = Field(description="name of the tool")
    arguments: dict[str, JsonValue] = Field(description="the tool's arguments")
    text: str = Field(description="what it is for")
    effect: Effect = Field(description="what the tool does to the world")
    status: str = Field(
        description="`planned`, `approved`, `denied`, `started`, `asked`, `finished`, `failed`, `skipped` or "
        "`uncertain`"
    )
    approval: str | None = Field(description="why it needs an approval; none: it needs none")
    hash: str = Field(description="the content hash that an approval may name")
    result: JsonValue = Field(None, description="the result; the tool defines its shape")
    error: str = Field("", description="the error; empty where there is none")
    depends_on: tuple[str, ...] = Field((), description="ids of actions that must succeed first")
    repairs: tuple[str, ...] = Field((), description="corrections of the arguments that the model wrote")
    ruling: Decision = Field("proceed", description="the domain's decision; only `skip` and `deny` prevent the call")
    why: str = Field("", description="the reason of the ruling; empty where none is needed")
    seconds: float = Field(0, description="its duration in seconds")
    tokens: int = Field(0, description="tokens of the model calls made for it")
    artefact: Artefact | None = Field(
        None, description="where the whole result is kept; `result` is then its beginning"
    )
    sub_goal: str = Field("", exclude_if=is_empty, description="the sub-goal that it serves; empty: the turn's own")


class SubGoalVerdictView(StoredValueView):
    """The verdict on one of a turn's sub-goals."""

    sub_goal: str = Field(description="the sub-goal")
    status: Status = Field(description="how it went")
    reasoning: str = Field(description="the reasons for the verdict")


class VerdictView(View):
    """The verdict on a turn."""

    status: Status = Field(description="how the turn went")
    next_action: NextAction = Field(description="what should happen next")
    reasoning: str = Field(description="the reasons for the verdict")
    execution_analysis: str = Field("", description="the verifier's analysis of the execution")
    memory_analysis: str = Field("", description="the verifier's analysis of the memory")
    rule: str = Field("", description="the rule that gave the verdict; empty when a model did")
    sub_goals: tuple[SubGoalVerdictView, ...] = Field(
        (), exclude_if=is_empty, description="a verdict on each sub-goal, if the turn had several"
    )


class TurnView(View):
    number: int = Field(description="counts the session's turns")
    sub_goal: str = Field(description="what the turn is for")
    actions: tuple[ActionView, ...] = Field(description="its actions")
    by: str = Field(description="who made it")
    verdict: VerdictView | None = Field(None, description="the verifier's, once there is one")
    selected_tool: str = Field("", description="the tool that the planner chose first")
    required_skills: tuple[str, ...] = Field((), description="the skills that the sub-goal needs")
    reasoning: str = Field("", description="why the planner chose these actions")
    final: bool = Field(False, description="true: the request is fulfilled when these actions succeed")


class SubGoalView(View):
    goal: str = Field(description="the sub-goal")
    status: Literal["pending", "completed", "failed"] = Field(description="how far it is")


class MemoryView(View):
    """The session's memory of the current request; counts are of this request."""

    turns: int = Field(description="the number of turns for this request")
    max_turns: int = Field(description="the largest number of turns after the person's last word: then they are asked")
    sub_goals: tuple[SubGoalView, ...] = Field(description="the sub-goals of the request, in order")
    recalled: tuple[Recalled, ...] = Field(description="the outcomes of earlier sessions in the planner's prompt")
    planned: int = Field(description="the number of actions planned for this request")
    executed: int = Field(description="the number of actions run for it")


class AnswerView(View):
    text: str = Field(description="the answer as Markdown")
    confidence: float = Field(description="how sure the answer is, 0 to 1")
    evidence: tuple[str, ...] = Field(description="ids of the actions that support it")
    next: tuple[str, ...] = Field((), exclude_if=is_empty, description="messages that the person could send next")
    accepted: bool = Field(
        False, description="true: the person accepts the answer; its path is an example for later requests"
    )
    saved: bool = Field(False, description="true: the person saves it to their library")


class PathView(View):
    """A path through one or two flows, as planned and as it runs; nodes are named `<flow>.<node>`. Until the path
    changes, `walked` followed by `remaining` is the planned path."""

    flows: tuple[str, ...] = Field(description="the flows that it passes through")
    planned_execution_path: tuple[str, ...] = Field(description="as it was planned")
    current_path_index: int = Field(
        description="counts from 0 in `walked` followed by `remaining`: the node that runs, waits or comes "
        "next, and at the end the last one"
    )
    walked: tuple[str, ...] = Field(description="the nodes that have begun, in order")
    remaining: tuple[str, ...] = Field(description="the nodes that are still to come")
    fallback: bool = Field(description="true: the path is the full graph")
    why: str = Field(description="why it is the full graph; empty where it is not")
    cached: bool = Field(description="true: reused from an earlier plan for the same request and state")
    attempts: int = Field(description="the number of proposals that the model made")
    examples: int = Field(description="the number of accepted paths of similar requests in the prompt")
    proposal: NodeProposalView | None = Field(
        None, description="a node that the model would have needed: for a person to review, never run"
    )


class FailureView(View):
    stage: str = Field(description="the phase that failed")
    reason: str = Field(description="why, in words")
    retryable: bool = Field(description="whether `retry` can help")
    raw: str = Field("", description="the model's raw reply, at most 20,000 characters")
