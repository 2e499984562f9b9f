"""What a person, a service or the model behind it asks for. A command may be refused; an event may not."""

from datetime import datetime
from typing import NamedTuple

from pydantic import Field, JsonValue

from parley.events.carried import Carried
from parley.events.facts import QuestionKind
from parley.events.values import (
    ActionAttempt,
    ActionSpec,
    Artefact,
    Check,
    Knowledge,
    ModelCall,
    NextAction,
    Outcome,
    PathPlan,
    PlanKind,
    Recalled,
    Role,
    Service,
    SessionSettings,
    Status,
    Step,
    Stored,
    SubGoalVerdict,
    ToolPolicy,
    ToolRule,
    Value,
    Waiting,
    Workflow,
)


class Work(Stored):
    """Whose turn it is: the service, and the version of the event that began its work."""

    service: Service
    version: int


class CommandMeta(NamedTuple):
    """Who gives a command. `id` is the client's id of it; a worker names the `work` it was given instead.

    `usage`: model calls that the event will account for.
    """

    actor: str
    at: datetime
    id: str | None = None
    cause: str | None = None
    work: Work | None = None
    usage: tuple[ModelCall, ...] = ()


class Command(Value): ...


# --- a person's


class Say(Command):
    """Text; the session's phase tells what it is. `feedback`: where a remark may be, it asks for another version.

    `brings_plan`: the first request of a session, whose plan the person edits in next: nobody drafts one.
    """

    text: str
    feedback: bool = False
    brings_plan: bool = False
    workflow: Workflow | None = None
    settings: SessionSettings | None = None
    knowledge: tuple[Knowledge, ...] = ()


class Approve(Command):
    """Approve what is on the screen: a version of the plan or code, or an action of the session at this version.

    Of a plan that acts: `preapprove` names steps whose calls are allowed with whatever values their references get;
    without `start` nothing begins before `Retry`.
    """

    version: int
    hash: str | None = None
    action_id: str | None = None
    preapprove: tuple[str, ...] = ()
    start: bool = True


class Reject(Command):
    """Not this. With `replan` something else instead; else the feedback follows. `target` None: what is in review."""

    version: int | None = None
    replan: bool = False
    target: str | None = None  # "text" or "code"
    action_id: str | None = None
    reason: str = ""


class EditPlan(Command):
    base: int
    steps: tuple[Step, ...]
    goal: str | None = None
    notes: str | None = None
    checks: tuple[Check, ...] = ()


class EditCode(Command):
    base: int
    code: str


class Answer(Command):
    text: str
    action_id: str | None = None


class Continue(Command): ...  # ask me what comes next


class Run(Command):
    stdin: str = ""
    args: tuple[str, ...] = ()


class Complete(Command): ...


class Stop(Command):
    reason: str = ""


class Pause(Command): ...


class Resume(Command): ...


class Retry(Command): ...


class Skip(Command):
    action_id: str
    output: JsonValue = None  # given in its place
    with_dependents: bool = False  # skip also the steps that refer to its output


class CancelPlan(Command): ...


class DeletePlan(Command): ...


class TakeOver(Command):
    """A person plans the turn: their own actions instead of the planner's."""

    sub_goal: str
    actions: tuple[ActionSpec, ...]


class EditPath(Command):
    """Another rest of the path: these nodes, whose ids and order the domain sets; `given`: values set on the way.

    `after`: the action that the person saw as the last one begun, "" for none.
    """

    actions: tuple[ActionSpec, ...]
    given: dict[str, JsonValue] = Field(default_factory=dict)
    after: str = ""


class Judge(Command):
    """The answer is (not) what was wanted; saved, it is kept in the person's library."""

    accepted: bool
    saved: bool = False


class Remember(Command):
    tool: str
    policy: ToolPolicy


class RaiseBudget(Command):
    """At least one of them is more than 0. `calls` are calls of tools, `seconds` those of services at work."""

    tokens: int = Field(0, ge=0)
    cost: float = Field(0, ge=0)
    calls: int = Field(0, ge=0)
    seconds: int = Field(0, ge=0)


class Rename(Command):
    title: str


class Share(Command):
    user: str
    role: Role | None


class ChooseWorkflow(Command):
    workflow: Workflow


class Fork(Command):  # given to the empty session that the fork becomes
    parent_id: str
    parent_version: int
    carried: Carried


# --- a worker's


class AnswerRemark(Command):
    text: str


class DraftPlan(Command):
    goal: str
    steps: tuple[Step, ...]
    notes: str = ""
    kind: PlanKind = "text"
    path: PathPlan | None = None
    checks: tuple[Check, ...] = ()


class BeginPlan(Command):
    """The planner's: the session's settings ask for no approval of its execution plan, so its steps begin."""


class DraftCode(Command):
    code: str
    explanation: str = ""


class VerifyCode(Command):
    checks: tuple[Check, ...]
    tests: str = ""


class Ask(Command):
    """A question to the person. About an `action`, its answer is that action's result: name it, before it starts."""

    text: str
    options: tuple[str, ...] = ()
    about: QuestionKind = "request"
    action_id: str | None = None
    form: dict[str, JsonValue] | None = None


class Wait(Command):
    """The executor's: these steps of the plan wait for a time or poll, before anything else of the wave starts."""

    actions: tuple[Waiting, ...]


class PlanTurn(Command):
    sub_goal: str
    actions: tuple[ActionSpec, ...]
    selected_tool: str = ""
    required_skills: tuple[str, ...] = ()
    reasoning: str = ""
    sub_goals: tuple[str, ...] = ()
    final: bool = False
    recalled: tuple[Recalled, ...] = ()
    path: PathPlan | None = None


class ChangeTurn(Command):
    """Another rest of the path: a condition leads elsewhere, or the next node runs with what is known now."""

    actions: tuple[ActionSpec, ...]
    reason: str = ""


class Start(Command):
    """Begin the wave that is ready, by what the registry says of its `tools`: recorded before anything runs."""

    tools: dict[str, ToolRule] = Field(default_factory=dict)


class Finish(Command):
    """What came of started actions. An outcome that somebody else has recorded first is left out."""

    outcomes: tuple[Outcome, ...]


class StoreResult(Command, ActionAttempt):
    artefact: Artefact


class LoseResult(Command, ActionAttempt):
    reason: str


class Uncertain(Command, ActionAttempt):
    reason: str


class VerifyTurn(Command):
    status: Status
    next_action: NextAction
    execution_analysis: str = ""
    memory_analysis: str = ""
    reasoning: str = ""
    rule: str = ""
    sub_goals: tuple[SubGoalVerdict, ...] = ()


class GiveAnswer(Command):
    text: str
    confidence: float
    evidence: tuple[str, ...] = ()


class RecordUsage(Command):
    """Model calls that no other event will carry, whatever became of them; accepted in any phase."""

    calls: tuple[ModelCall, ...]


class Fail(Command):
    reason: str
    retryable: bool = True
    raw: str = ""


class BeginFor(Command):
    """The keeper's: a session of this `owner`, whose plan it edits in next; `via` tells by what it begins it."""

    owner: str
    via: str
    text: str
    workflow: Workflow
    settings: SessionSettings | None = None


class Expire(Command):
    """The keeper's: nobody decided about what version `requested_version` asked for."""

    requested_version: int


class Wake(Command):
    """The keeper's: the time has come that steps wait for."""


class RecordLook(Command, ActionAttempt):
    """The keeper's: what a step that polls saw. `looks` counts this look; `met`: the condition holds."""

    looks: int = Field(ge=1)
    value: JsonValue = None
    error: str = ""
    met: bool = False
