"""The values that events consist of: frozen and validated, without behaviour."""

import hashlib
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

Service = Literal["planner", "executor", "verifier", "generator"]
PlanKind = Literal["text", "path", "execution"]
Effect = Literal["read", "write", "irreversible"]
Policy = Literal["always", "writes", "never"]
Status = Literal["success", "partial", "failure", "not_shown", "bad_input", "missing_here"]
NextAction = Literal["continue", "retry", "escalate", "complete"]
ToolPolicy = Literal["always", "writes", "never", "deny"]
Decision = Literal["proceed", "mutate", "skip", "require_approval", "deny"]
Quality = Literal["economy", "balanced", "thorough"]
Confirm = Literal["path", "nodes", "nothing"]
EndReason = Literal["dependency_failed", "stopped", "cancelled", "superseded"]
OutcomeCause = Literal["stopped", "budget", "timeout"]
WaitsFor = Literal["person", "time", "condition"]
CallOutcome = Literal["ok", "invalid", "failed", "cancelled"]
Role = Literal["viewer", "editor", "approver"]
TaskStatus = Literal["draft", "pending_approval", "approved", "executing", "paused", "completed", "failed", "cancelled"]

SESSION_ID = r"^[A-Za-z0-9_-]{1,64}$"  # one NATS subject token
SessionId = Annotated[str, Field(pattern=SESSION_ID)]
TIME_ZONE = r"^[A-Za-z][A-Za-z0-9_+-]{0,63}(/[A-Za-z0-9_+-]{1,63}){0,3}$"
TimeZone = Annotated[str, Field(max_length=64, pattern=TIME_ZONE)]  # a name of the IANA database
Text = Annotated[str, Field(min_length=1, max_length=50_000)]
Line = Annotated[str, Field(min_length=1, max_length=500)]
Workflow = Line  # a name: the gateway refuses one that it does not know, and the planner fails it
ActionId = Annotated[str, Field(min_length=1, max_length=64)]
STEP_ID = r"^[A-Za-z][A-Za-z0-9_-]{0,31}$"
StepId = Annotated[str, Field(pattern=STEP_ID)]
Attempt = Annotated[int, Field(ge=1)]
Subject = Annotated[str, Field(max_length=500)]
# Whether a session can be about somebody. none: no tool tells; possible: tools that tell were on offer or ran; several:
# calls were about several; unstated: no plan of the request has stated it yet.
Subjects = Literal["unstated", "none", "possible", "several"]


class Value(BaseModel):
    """A frozen model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Stored(BaseModel):
    """A frozen model that keeps unknown fields, so that fields of a newer release survive.

    Its JSON schema lists the fields that this release writes and clients may send.
    """

    model_config = ConfigDict(
        frozen=True, extra="allow", defer_build=True, json_schema_extra={"additionalProperties": False}
    )


Speaker = Literal["person", "planner", "generator", "verifier", "tool"]
EntryKind = Literal["request", "message", "question", "answered", "draft", "decision", "run", "verdict", "answer"]


def content_hash(content: str) -> str:
    """SHA-256 of a text, in hex. What an approval is bound to is `canonical_hash` (parley/events/hashing.py)."""
    return hashlib.sha256(content.encode()).hexdigest()


def is_none(value: object) -> bool:
    return value is None


def is_empty(value: object) -> bool:
    return not value


def is_true(value: object) -> bool:
    return value is True


TellsSubjects = Annotated[
    bool, Field(exclude_if=is_empty, description="true: tools on offer tell whom a call is about")
]


class Ended(Stored):
    """An action that an event ends without an outcome of its own."""

    id: ActionId = Field(description="the action")
    reason: EndReason = Field(
        description="why the action ends: a dependency failed, the session was stopped, the plan was cancelled, or "
        "another turn replaced it"
    )
    began: bool = Field(False, exclude_if=is_empty, description="true where the action was running; left out otherwise")


class Option(Stored):
    """One answer to a question. Code compares the `key`; people read the `label`."""

    key: Annotated[
        str,
        Field(
            min_length=1,
            max_length=64,
            description="the option's key in the log: `happened`, `again`, `leave`, `raise`, `give_up`, or its number",
        ),
    ]
    label: Line = Field(description="the option in words, as people see and send it")


class Knowledge(Stored):
    """Context that the user gives the planner with a request: a text, a file, a repository's outline."""

    name: Line = Field(description="its name")
    text: Annotated[str, Field(max_length=50_000, description="the text itself")]


class Planning(Stored):
    """How a path is planned."""

    use_planning: bool = Field(
        True, description="false: the session walks the full graph of `flow`, or of the first flow"
    )
    flow: Annotated[str, Field(max_length=500, description="the flow to use; empty: the planner chooses")] = ""
    temperature: float = Field(0.3, ge=0, le=2, description="the sampling temperature of the planning model")
    max_retries: int = Field(3, ge=1, le=10, description="the largest number of proposals by the model")
    fallback_enabled: bool = Field(
        True, description="true: walk the full graph when all proposals are invalid; false: fail the session"
    )
    cache: bool = Field(True, description="true: reuse a path that was planned for the same request and state")


class SessionSettings(Stored):
    """What a session may do. Budgets count from its beginning."""

    max_turns: int = Field(
        5, ge=1, le=100, description="the largest number of turns after the person's last word: then they are asked"
    )
    approval: Policy = Field("writes", description="which actions need an approval")
    token_budget: int | None = Field(None, ge=1, description="the largest number of tokens; none: no limit")
    cost_budget: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="the largest cost in US dollars; none: no limit"
    )
    approval_timeout: int | None = Field(
        None,
        ge=1,
        description="seconds after which an open approval, or a step's open question, expires",
    )
    plan_required: bool = Field(
        False, exclude_if=is_empty, description="true: the request is planned, never answered in words"
    )
    call_budget: int | None = Field(
        None,
        ge=1,
        exclude_if=is_none,
        description="the largest number of tool calls, polls included; none: no limit",
    )
    time_budget: int | None = Field(
        None,
        ge=1,
        exclude_if=is_none,
        description="the largest working time of all services in seconds; none: no limit",
    )
    world: Literal["shared", "own"] = Field(
        "shared", description="the shared sample store, or a fresh copy for this session"
    )
    recall: bool = Field(
        True,
        description="whether the planner may use outcomes of the owner's earlier sessions, and later "
        "sessions this one's",
    )
    quality: Quality = Field(
        "balanced",
        description="when a model judges a turn: `economy` never, `thorough` always, `balanced` where the "
        "rules are not certain; operators can configure a model for each",
    )
    task: bool = Field(
        False, description="true: the answer is a test task, drafted from the knowledge that came with the request"
    )
    confirm: Confirm = Field(
        "nodes",
        description="where a flow stops for a person: `path` before the path and at nodes that ask for it, `nodes` "
        "only at these nodes, `nothing` only for approvals",
    )
    planning: Planning = Field(Planning(), description="how the planner plans a path")
    generator: Annotated[
        str,
        Field(
            max_length=64,
            exclude_if=is_empty,
            description="the plan generator that drafts execution plans, by the name that the settings list; empty: "
            "the first of them",
        ),
    ] = ""
    require_plan_approval: bool = Field(
        True,
        exclude_if=is_true,
        description="true: an execution plan waits for approval as a whole; false: it begins at once, and each call "
        "asks by its own policy",
    )
    tools: Annotated[
        tuple[Line, ...],
        Field(
            max_length=500,
            exclude_if=is_empty,
            description="the only tools that an execution plan may call; absent: all there are",
        ),
    ] = ()
    model: Annotated[
        str,
        Field(
            max_length=200,
            exclude_if=is_empty,
            description="the model that is asked, one that the operator configured; absent: the one configured for "
            "each service",
        ),
    ] = ""
    instructions: Annotated[
        str,
        Field(
            max_length=20_000,
            exclude_if=is_empty,
            description="what the planner follows in every version of an execution plan, beside Parley's own "
            "rules; absent where there are none",
        ),
    ] = ""


class FurtherQuestion(Stored):
    """A question that is asked together with another one."""

    text: Annotated[str, Field(min_length=1, max_length=50_000, description="the question")]
    options: tuple[Option, ...] = Field((), description="the options to choose from; empty: any text")
    several: bool = Field(False, description="true: several of the options may be chosen")


class Step(Stored):
    """One step of a plan: in a text plan a sentence, in a path also a node and its arguments, in an execution plan
    a call."""

    text: Annotated[str, Field(min_length=1, max_length=2_000, description="the step in words")]
    tool: Line | None = Field(None, description="name of the tool, or `<flow>.<node>`; none: the step is a sentence")
    arguments: dict[str, JsonValue] | None = Field(
        None, description="the arguments, which may refer to outputs of earlier steps"
    )
    id: StepId | None = Field(
        None,
        exclude_if=is_none,
        description="of an execution plan's step: its id in all versions of the plan, never used again; "
        "none: a new step, which gets one",
    )
    after: Annotated[
        tuple[StepId, ...],
        Field(max_length=100, exclude_if=is_empty, description="ids of the steps that must succeed first"),
    ] = ()
    effect: Effect | None = Field(
        None, exclude_if=is_none, description="what the tool does to the world; absent until the step is resolved"
    )
    policy: ToolPolicy | None = Field(
        None,
        exclude_if=is_none,
        description="which calls of the tool need an approval; absent until the step is resolved",
    )
    waits_for: WaitsFor | None = Field(
        None,
        exclude_if=is_none,
        description="what the step waits for: a person's answer, a time or a condition; absent where it is a call",
    )
    for_each: Annotated[str, Field(min_length=1, max_length=500)] | None = Field(
        None,
        exclude_if=is_none,
        description="a reference to a list in an earlier step's output: the step runs once for each "
        "`{{item}}`; absent where it runs once",
    )
    fingerprint: Annotated[str, Field(max_length=64)] | None = Field(
        None,
        exclude_if=is_none,
        description="SHA-256 of the tool's definition when the plan was made; the step does not run if the tool has "
        "changed since",
    )


Steps = Annotated[tuple[Step, ...], Field(min_length=1, max_length=100)]


class ActionSpec(Stored):
    """One tool call of a turn."""

    id: ActionId = Field(description="its id within the session")
    tool: Line = Field(description="name of the tool")
    arguments: dict[str, JsonValue] = Field(default_factory=dict, description="the tool's arguments")
    description: str = Field("", description="what it is for")
    effect: Effect = Field("read", description="what the tool does to the world")
    depends_on: tuple[ActionId, ...] = Field((), description="ids of actions that must succeed first")
    approval_reason: str | None = Field(None, description="why it needs an approval; none: it needs none")
    policy: ToolPolicy | None = Field(None, description="the tool's own approval policy, if it has one")
    repairs: tuple[str, ...] = Field((), description="corrections of the arguments that the model wrote")
    decision: Decision = Field("proceed", description="the domain's decision; only `skip` and `deny` prevent the call")
    decision_reason: str = Field("", description="the reason of the decision; empty where it needs none")
    quiet: bool = Field(
        False,
        description="true: a read that can be repeated: it starts without an event of its own, and counts "
        "for no other call",
    )
    waits_for: WaitsFor | None = Field(
        None,
        exclude_if=is_none,
        description="what the step waits for: a person's answer, a time or a condition; absent where it is a call",
    )
    sub_goal: Annotated[
        str,
        Field(max_length=500, exclude_if=is_empty, description="the sub-goal that it serves; empty: the turn's own"),
    ] = ""


class SubGoalVerdict(Stored):
    """The status of one of a turn's sub-goals, and why."""

    sub_goal: Text = Field(description="the sub-goal")
    status: Status = Field(description="how it went")
    reasoning: Annotated[str, Field(max_length=5_000, description="the reasons for the verdict")] = ""


class Waiting(Stored):
    """A step that waits for a time, or polls."""

    action_id: ActionId = Field(description="the action's id")
    until: AwareDatetime = Field(description="the instant at which it goes on; a polling step gives up then")
    every: Annotated[int, Field(ge=1)] | None = Field(
        None,
        exclude_if=is_none,
        description="seconds between two polls of a step that polls; left out for one that waits for a time",
    )


class ModelCall(Stored):
    """One HTTP call of a model, including failed and cancelled ones."""

    model: str = Field(description="its name at the endpoint")
    role: str = Field(description="which service asked")
    prompt_tokens: int = Field(ge=0, description="tokens sent")
    cached_tokens: int = Field(ge=0, description="prompt tokens that the provider served from its cache")
    completion_tokens: int = Field(ge=0, description="tokens received")
    cost: float = Field(ge=0, allow_inf_nan=False, description="US dollars; 0 if the model has no price")
    latency: float = Field(ge=0, allow_inf_nan=False, description="seconds until the reply was complete")
    attempt: int = Field(ge=1, description="the number of the call for its question, from 1")
    outcome: CallOutcome = Field("ok", description="how the call ended")
    estimated: bool = Field(
        False, description="true: the server reported no tokens, so they are estimated as characters / 4"
    )
    action_id: Annotated[
        str, Field(max_length=64, description="the action that the call was made for; empty: none")
    ] = ""


class ToolRule(Value):
    """A tool as its registry describes it: its effect, its own policy, and whether it is quiet.

    `fingerprint` is a hash of the tool's definition; "" if it is not compared.
    """

    effect: Effect
    policy: ToolPolicy | None = None
    quiet: bool = False
    fingerprint: str = ""


class Artefact(Stored):
    """A body too large for an event, kept in the object store."""

    name: Line = Field(description="its name in the object store")
    size: int = Field(ge=0, description="bytes")
    sha256: str = Field(description="SHA-256 of the body, in hex")


class FileRef(Stored):
    """The content of a session's file, kept in the object store."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the file's content, in hex")]
    size: int = Field(ge=0, description="bytes")


class ActionAttempt(Stored):
    """One run of an action.

    A new attempt follows a failure, an interruption, or the user's answer that it did not happen.
    """

    action_id: ActionId = Field(description="the action's id")
    attempt: Attempt = Field(1, description="the number of the attempt at this action, from 1")


class Outcome(ActionAttempt):
    """The outcome of one attempt. The tool's pack sets `confirmed`, `violation`, `handed_over`, `subject` and
    `files`."""

    ok: bool = Field(description="whether the call succeeded")
    result: JsonValue = Field(None, description="the result; the tool defines its shape")
    error: str = Field("", description="the error; empty where there is none")
    cause: OutcomeCause | None = Field(None, description="why Parley ended the call; none: it ended by itself")
    seconds: float = Field(0, ge=0, allow_inf_nan=False, description="its duration in seconds")
    size: Annotated[int, Field(ge=0)] | None = Field(
        None,
        description="bytes of the whole result, where `result` is only its beginning: `result.stored` or "
        "`result.lost` follows",
    )
    confirmed: bool | None = Field(
        None,
        exclude_if=is_none,
        description="whether the result shows the change that was wanted; absent where the tool cannot tell",
    )
    violation: Annotated[str, Field(max_length=2_000)] = Field(
        "",
        exclude_if=is_empty,
        description="which rules of its pack the call broke, in words; absent where it broke none",
    )
    handed_over: bool = Field(
        False,
        exclude_if=is_empty,
        description="true where the call handed the request over to a person; absent otherwise",
    )
    subject: Subject | None = Field(
        None,
        exclude_if=is_none,
        description="whom the call was about, as `<pack>:<name>`; empty where the pack cannot tell of this "
        "call; absent where it never tells",
    )
    files: Annotated[dict[str, FileRef | None], Field(exclude_if=is_empty)] = Field(
        default_factory=dict,
        description="the session's files that the call changed, by name, with their new content; null where it "
        "deleted one; absent where it changed none",
    )


class Recalled(Stored):
    """An outcome of an earlier session of the same owner, as the planner got it."""

    session_id: SessionId = Field(description="the earlier session")
    request: Annotated[str, Field(max_length=500, description="the earlier request")]
    outcome: Annotated[str, Field(max_length=500, description="how it ended")]
    lesson: Annotated[str, Field(max_length=500, description="its error, if there was one")] = ""


class Check(Stored):
    """One check: of code `parses`, `lints`, `tests`; of an execution plan `references`, `tools` …"""

    name: Line = Field(description="what was checked")
    ok: bool | None = Field(description="whether it passed; null: it could not run here, or `detail` is only a warning")
    detail: Annotated[str, Field(max_length=20_000, description="what it said")] = ""


class NodeProposal(Stored):
    """A node that the model proposes to add to a flow. Kept for a person to review; never run."""

    flow: Line = Field(description="the flow it would belong to")
    name: Line = Field(description="its name")
    description: Annotated[str, Field(min_length=1, max_length=2_000, description="what it would do")]
    reason: Annotated[str, Field(max_length=2_000, description="why the model would have needed it")] = ""


class PathPlan(Stored):
    """The planned path through one or two flows."""

    nodes: Annotated[tuple[Line, ...], Field(min_length=1, max_length=60, description="`<flow>.<node>`, in order")]
    fallback: bool = Field(False, description="true: the path is the full graph")
    fallback_reason: Annotated[
        str, Field(max_length=5_000, description="why it is the full graph; empty where it is not")
    ] = ""
    cached: bool = Field(False, description="true: reused from an earlier plan for the same request and state")
    attempts: int = Field(0, ge=0, description="the number of proposals that the model made")
    examples: int = Field(0, ge=0, description="the number of accepted paths of similar requests in the prompt")
    proposal: NodeProposal | None = Field(
        None, description="a node that the model would have needed: for a person to review, never run"
    )
