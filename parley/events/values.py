"""The values that events are made of: frozen, validated, without behaviour of their own."""

import hashlib
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

Service = Literal["planner", "executor", "verifier", "generator"]
PlanKind = Literal["text", "path", "execution"]
Effect = Literal["read", "write", "irreversible"]
Policy = Literal["always", "writes", "never"]
Status = Literal["success", "partial", "failure"]
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

SESSION_ID = r"^[A-Za-z0-9_-]{1,64}$"  # one NATS subject token
SessionId = Annotated[str, Field(pattern=SESSION_ID)]
Text = Annotated[str, Field(min_length=1, max_length=50_000)]
Line = Annotated[str, Field(min_length=1, max_length=500)]
Workflow = Line  # a name: the gateway refuses one that it does not know, and the planner fails it
ActionId = Annotated[str, Field(min_length=1, max_length=64)]
STEP_ID = r"^[A-Za-z][A-Za-z0-9_-]{0,31}$"
StepId = Annotated[str, Field(pattern=STEP_ID)]
Attempt = Annotated[int, Field(ge=1)]


class Value(BaseModel):
    """Frozen, and refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Stored(BaseModel):
    """Frozen, and keeps fields it does not know: a newer release may have stored them, and will read them again.

    Its JSON schema lists what this release writes, and what clients may send.
    """

    model_config = ConfigDict(
        frozen=True, extra="allow", defer_build=True, json_schema_extra={"additionalProperties": False}
    )


def content_hash(content: str) -> str:
    """SHA-256 of a text, in hex. What an approval is bound to is `canonical_hash` (parley/events/hashing.py)."""
    return hashlib.sha256(content.encode()).hexdigest()


def is_none(value: object) -> bool:
    return value is None


def is_empty(value: object) -> bool:
    return not value


def is_true(value: object) -> bool:
    return value is True


class Ended(Stored):
    """An action that an event ends without an outcome of its own. `began`: it was running."""

    id: ActionId
    reason: EndReason
    began: bool = Field(False, exclude_if=is_empty)


class Option(Stored):
    """One answer to a question: the log compares the `key`, people read the `label`."""

    key: Annotated[str, Field(min_length=1, max_length=64)]
    label: Line


class Knowledge(Stored):
    """Something the person gives the planner with a request: a text, a file, a repository's outline."""

    name: Line
    text: Annotated[str, Field(max_length=50_000)]


class Planning(Stored):
    """How a path is planned. `flow`: the one to use, "" lets the planner choose. Without `use_planning`, the full graph
    is walked: that of `flow`, else of the first flow there is; so it is after `max_retries` plans that cannot be walked
    (if `fallback_enabled`). `cache`: the path that was planned for the same request and state may be used again."""

    use_planning: bool = True
    flow: Annotated[str, Field(max_length=500)] = ""
    temperature: float = Field(0.3, ge=0, le=2)
    max_retries: int = Field(3, ge=1, le=10)
    fallback_enabled: bool = True
    cache: bool = True


class SessionSettings(Stored):
    """What a session may do. Budgets count from its beginning; None: no limit. `approval_timeout` in seconds.

    `call_budget` limits calls of tools, `time_budget` the seconds during which a service was at work.

    `world`: the store that everybody shares, or a copy of its first state that is this session's own. `recall`: what
    earlier sessions of the same owner came to may be told to the planner, and what this one came to to later ones.
    `quality`: economy lets no model judge what rules leave open, thorough has a model judge every turn; a model can be
    named for each. `task`: the answer is a test task, drafted from the knowledge that came with the request.
    `confirm`: where a flow stops for a person: before its path, and at nodes that want to be looked at; only at these;
    nowhere (but for approvals). `generator`: the plan generator that drafts execution plans; "": the usual one.
    `require_plan_approval`: whether an execution plan waits for a person before it runs. Without it each of its calls
    still asks by its own policy.
    `tools`: the only tools that an execution plan may call; none: all there are. `model`: the model that is asked, one
    that the operator configured; "": the one configured for each service. `instructions`: what the planner keeps to in
    every version of an execution plan, besides Parley's own rules.
    """

    max_turns: int = Field(5, ge=1, le=100)
    approval: Policy = "writes"
    token_budget: int | None = Field(None, ge=1)
    cost_budget: float | None = Field(None, gt=0, allow_inf_nan=False)
    approval_timeout: int | None = Field(None, ge=1)
    call_budget: int | None = Field(None, ge=1, exclude_if=is_none)
    time_budget: int | None = Field(None, ge=1, exclude_if=is_none)
    world: Literal["shared", "own"] = "shared"
    recall: bool = True
    quality: Quality = "balanced"
    task: bool = False
    confirm: Confirm = "nodes"
    planning: Planning = Planning()
    generator: Annotated[str, Field(max_length=64, exclude_if=is_empty)] = ""
    require_plan_approval: bool = Field(True, exclude_if=is_true)
    tools: Annotated[tuple[Line, ...], Field(max_length=500, exclude_if=is_empty)] = ()  # format 2
    model: Annotated[str, Field(max_length=200, exclude_if=is_empty)] = ""
    instructions: Annotated[str, Field(max_length=20_000, exclude_if=is_empty)] = ""


class Step(Stored):
    """One step of a plan: in a text plan a sentence, in a path also a node and its arguments.

    In an execution plan it has an `id`, which stays through all versions of its task and is never used again; `after`
    are the steps that must have ended well before it, and its arguments may refer to what earlier steps gave.
    `for_each` refers to a list that an earlier step gives: the step is done once for each `{{item}}` of it.
    `effect`, `policy` and `waits_for` are the tool's. No effect or policy: they are known once the step is resolved.
    `fingerprint` is the tool's as it was when the plan was made: the step does not run if the tool has changed since.
    """

    text: Annotated[str, Field(min_length=1, max_length=2_000)]
    tool: Line | None = None
    arguments: dict[str, JsonValue] | None = None
    id: StepId | None = Field(None, exclude_if=is_none)
    after: Annotated[tuple[StepId, ...], Field(max_length=100, exclude_if=is_empty)] = ()
    effect: Effect | None = Field(None, exclude_if=is_none)
    policy: ToolPolicy | None = Field(None, exclude_if=is_none)
    waits_for: WaitsFor | None = Field(None, exclude_if=is_none)
    for_each: Annotated[str, Field(min_length=1, max_length=500)] | None = Field(None, exclude_if=is_none)
    fingerprint: Annotated[str, Field(max_length=64)] | None = Field(None, exclude_if=is_none)  # format 2


Steps = Annotated[tuple[Step, ...], Field(min_length=1, max_length=100)]


class ActionSpec(Stored):
    """One tool call of a turn. `approval_reason` tells why a person must allow it; None: nobody has to.

    `policy` is the tool's own, if it has one. `repairs` tell what was put right in the arguments that the model wrote.
    `decision` is what the domain made of the call: only `skip` and `deny` keep it from being run. `quiet`: the read
    changes nothing and may simply be made again, so that no event of its own begins it; it counts for no other.
    `waits_for`: it is no call, but ends when a person has answered, at a time, or when a condition holds. `sub_goal`:
    "" for the turn's own.
    """

    id: ActionId
    tool: Line
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    description: str = ""
    effect: Effect = "read"
    depends_on: tuple[ActionId, ...] = ()
    approval_reason: str | None = None
    policy: ToolPolicy | None = None
    repairs: tuple[str, ...] = ()
    decision: Decision = "proceed"
    decision_reason: str = ""
    quiet: bool = False
    waits_for: WaitsFor | None = Field(None, exclude_if=is_none)
    sub_goal: Annotated[str, Field(max_length=500, exclude_if=is_empty)] = ""


class SubGoalVerdict(Stored):
    """How far a turn got with one of its sub-goals, and why."""

    sub_goal: Text
    status: Status
    reasoning: Annotated[str, Field(max_length=5_000)] = ""


class Waiting(Stored):
    """A step that waits, and until when (aware). With `every` it polls every so many seconds, and gives up then."""

    action_id: ActionId
    until: AwareDatetime
    every: Annotated[int, Field(ge=1)] | None = Field(None, exclude_if=is_none)


class ModelCall(Stored):
    """One HTTP call of a model, also a failed or cancelled one; for an action if it names one.

    Cost in US dollars, 0 where the model has no price. Latency in seconds. `attempt`: which call of its question it
    was, 1 is the first. `estimated`: the server reported no usage, so tokens are characters / 4.
    """

    model: str
    role: str
    prompt_tokens: int = Field(ge=0)
    cached_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    cost: float = Field(ge=0, allow_inf_nan=False)
    latency: float = Field(ge=0, allow_inf_nan=False)
    attempt: int = Field(ge=1)
    outcome: CallOutcome = "ok"
    estimated: bool = False
    action_id: Annotated[str, Field(max_length=64)] = ""


class ToolRule(Value):
    """What a tool's registry says of it: what a call does to the world, the tool's own policy, and if it is quiet.

    `fingerprint` is a hash of what a call means; "" where nobody compares it.
    """

    effect: Effect
    policy: ToolPolicy | None = None
    quiet: bool = False
    fingerprint: str = ""


class Artefact(Stored):
    """A body too large for an event, kept in the object store: size in bytes, SHA-256 in hex."""

    name: Line
    size: int = Field(ge=0)
    sha256: str


class FileRef(Stored):
    """What a file of a session holds: bytes in the object store, found by their SHA-256 in hex."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: int = Field(ge=0)


class ActionAttempt(Stored):
    """One run of an action. A new attempt follows a failure, a cut-off, or a person's word that it did not happen."""

    action_id: ActionId
    attempt: Attempt = 1


class Outcome(ActionAttempt):
    """What came of one attempt. `seconds` is how long it ran; `cause` tells why it was ended from outside, if it was.

    With a `size` (bytes) the result is only the beginning of what the tool returned. The whole of it is being stored,
    and `result.stored` or `result.lost` follows.

    What the tool's pack says of it: `confirmed` tells whether the result shows the change that was wanted (None: the
    tool cannot tell), `violation` which rules the call broke, `handed_over` that a person has the request now.
    `files`, by name: what the session's files that the call changed hold from here on; None: the file is deleted.
    """

    ok: bool
    result: JsonValue = None
    error: str = ""
    cause: OutcomeCause | None = None
    seconds: float = Field(0, ge=0, allow_inf_nan=False)
    size: Annotated[int, Field(ge=0)] | None = None
    confirmed: bool | None = Field(None, exclude_if=is_none)
    violation: Annotated[str, Field(max_length=2_000)] = Field("", exclude_if=is_empty)
    handed_over: bool = Field(False, exclude_if=is_empty)
    files: Annotated[dict[str, FileRef | None], Field(exclude_if=is_empty)] = Field(default_factory=dict)  # format 2


class Recalled(Stored):
    """What an earlier session of the same owner came to, as far as it was told to the planner."""

    session_id: SessionId
    request: Annotated[str, Field(max_length=500)]
    outcome: Annotated[str, Field(max_length=500)]
    lesson: Annotated[str, Field(max_length=500)] = ""


class Check(Stored):
    """One thing that was looked at: of code "parses", "lints", "tests"; of a plan that acts "references", "tools" ….

    `ok` None: it could not be done here, or what `detail` says is worth a look and blocks nothing.
    """

    name: Line
    ok: bool | None
    detail: Annotated[str, Field(max_length=20_000)] = ""


class NodeProposal(Stored):
    """A node that the model misses in a flow: kept for a person to review, never run."""

    flow: Line
    name: Line
    description: Annotated[str, Field(min_length=1, max_length=2_000)]
    reason: Annotated[str, Field(max_length=2_000)] = ""


class PathPlan(Stored):
    """The path through one or two flows as it was planned: `<flow>.<node>`, in order.

    `attempts` counts the proposals it took. `fallback`: it is the full graph. `cached`: it was planned before for the
    same request and state. `examples`: how many accepted paths the planner was shown.
    """

    nodes: Annotated[tuple[Line, ...], Field(min_length=1, max_length=60)]
    fallback: bool = False
    fallback_reason: Annotated[str, Field(max_length=5_000)] = ""
    cached: bool = False
    attempts: int = Field(0, ge=0)
    examples: int = Field(0, ge=0)
    proposal: NodeProposal | None = None
