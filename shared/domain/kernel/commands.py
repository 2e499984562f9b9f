"""The commands of users and services. A command may be refused; an event may not."""

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
    FurtherQuestion,
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
    """The work at hand: the service that is due, and the version of the event that made it due."""

    service: Service
    version: int


class CommandMeta(NamedTuple):
    """Who gives a command, and when. Users' commands have the client's `id`, workers' commands the `work` they do.

    `cause` is the id of the event that led to the command; `usage` are the model calls that its event accounts for.
    `title` is one that the model gave the session. `seen`: version of the session that a draft or reply is made from.
    """

    actor: str
    at: datetime
    id: str | None = None
    cause: str | None = None
    work: Work | None = None
    usage: tuple[ModelCall, ...] = ()
    title: str = ""
    seen: int = 0


class Command(Value): ...


# --- users' commands


class Say(Command):
    """A message; the session's phase decides how it counts. `feedback`: it asks for another version, and is no remark.

    `brings_plan`: the first request of a session whose plan the user adds next, so that no plan is drafted.
    """

    text: str
    feedback: bool = False
    brings_plan: bool = False
    workflow: Workflow | None = None
    settings: SessionSettings | None = None
    knowledge: tuple[Knowledge, ...] = ()
    time_zone: str | None = None


class Approve(Command):
    """Approve a version of the plan or code, or an action of the session at this version.

    For an execution plan, `preapprove` names steps whose calls may have any values in place of their references.
    Without `start`, nothing starts before `Retry`.
    """

    version: int
    hash: str | None = None
    action_id: str | None = None
    preapprove: tuple[str, ...] = ()
    start: bool = True


class Reject(Command):
    """Reject what is in review, or `target`. With `replan` another draft is made; else feedback follows."""

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
    """The answer to the open question, and `more` to those that follow it."""

    text: str
    action_id: str | None = None
    more: tuple[str, ...] = ()


class Continue(Command): ...  # the session asks the user what comes next


class Run(Command):
    stdin: str = ""
    args: tuple[str, ...] = ()


class TakeOffer(Command):
    """Put the offered draft in the place of what waits or runs. `version`: of the offer that the person saw."""

    version: int | None = None


class KeepOffer(Command):
    """Turn the offered draft down. `version`: of the offer that the person saw."""

    version: int | None = None


class AcceptOffer(Command):
    """Take the open offer, because the person agreed to it in words. Sent by the service that answers.

    `say`: its words to the person beside that.
    """

    say: str = ""


class Complete(Command): ...


class Stop(Command):
    reason: str = ""


class Pause(Command): ...


class Resume(Command): ...


class Retry(Command): ...


class Skip(Command):
    action_id: str
    output: JsonValue = None  # the user's output in place of the step's
    with_dependents: bool = False  # also skip the steps that refer to its output


class CancelPlan(Command): ...


class DeletePlan(Command): ...


class TakeOver(Command):
    """The user plans the turn: their actions instead of the planner's."""

    sub_goal: str
    actions: tuple[ActionSpec, ...]


class EditPath(Command):
    """Replace the rest of the path by these nodes, whose ids and order the domain sets. `given`: values the user sets.

    `after`: the last started action that the user saw, "" for none.
    """

    actions: tuple[ActionSpec, ...]
    given: dict[str, JsonValue] = Field(default_factory=dict)
    after: str = ""


class Judge(Command):
    """Accept the answer or not; a saved answer is kept in the user's library."""

    accepted: bool
    saved: bool = False


class Remember(Command):
    tool: str
    policy: ToolPolicy


class RaiseBudget(Command):
    """At least one amount is above 0. `calls` are tool calls, `seconds` working time of the services."""

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


class Fork(Command):  # for the empty session that becomes the fork
    parent_id: str
    parent_version: int
    carried: Carried


# --- workers' commands


class AnswerRemark(Command):
    text: str


class DraftPlan(Command):
    goal: str
    steps: tuple[Step, ...]
    notes: str = ""
    say: str = ""
    kind: PlanKind = "text"
    path: PathPlan | None = None
    checks: tuple[Check, ...] = ()
    tells_subjects: bool = False


class BeginPlan(Command):
    """Start the steps of an execution plan that needs no approval by the session's settings. Sent by the planner."""


class DraftCode(Command):
    code: str
    explanation: str = ""
    say: str = ""
    wish: str = ""
    disputes: str = ""


class VerifyCode(Command):
    checks: tuple[Check, ...]
    tests: str = ""
    unreachable: tuple[str, ...] = ()


class Ask(Command):
    """A question to the user. About an `action`, the answer is its result: name the action before it starts."""

    text: str
    options: tuple[str, ...] = ()
    about: QuestionKind = "request"
    action_id: str | None = None
    form: dict[str, JsonValue] | None = None
    several: bool = False
    further: tuple[FurtherQuestion, ...] = ()


class Wait(Command):
    """Steps begin to wait for a time, or to poll, before other actions of the batch start. Sent by the executor.

    `rules` are those of the steps that poll, by action id: the stricter of the step's own tool and the polled one.
    """

    actions: tuple[Waiting, ...]
    rules: dict[str, ToolRule] = Field(default_factory=dict)


class PlanTurn(Command):
    sub_goal: str
    actions: tuple[ActionSpec, ...]
    selected_tool: str = ""
    required_skills: tuple[str, ...] = ()
    reasoning: str = ""
    say: str = ""
    sub_goals: tuple[str, ...] = ()
    final: bool = False
    recalled: tuple[Recalled, ...] = ()
    path: PathPlan | None = None
    tells_subjects: bool = False


class ChangeTurn(Command):
    """Replace the rest of the turn: a condition leads elsewhere, or arguments are known now."""

    actions: tuple[ActionSpec, ...]
    reason: str = ""


class Start(Command):
    """Start the next batch. `tools` are the registry's rules for its tools. Recorded before anything runs."""

    tools: dict[str, ToolRule] = Field(default_factory=dict)


class Finish(Command):
    """Record outcomes of started actions. Outcomes that are recorded already are left out."""

    outcomes: tuple[Outcome, ...]


class StoreResult(Command, ActionAttempt):
    artefact: Artefact


class LoseResult(Command, ActionAttempt):
    reason: str


class ReportUncertain(Command, ActionAttempt):
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
    next: tuple[str, ...] = ()


class RecordUsage(Command):
    """Record model calls that no other event accounts for. Accepted in any phase."""

    calls: tuple[ModelCall, ...]


class Fail(Command):
    reason: str
    retryable: bool = True
    raw: str = ""


class BeginFor(Command):
    """Begin a session for `owner`, whose plan the keeper adds next; `via` names the template. Sent by the keeper."""

    owner: str
    via: str
    text: str
    workflow: Workflow
    settings: SessionSettings | None = None
    time_zone: str | None = None


class Expire(Command):
    """The request of event `requested_version` was not answered in time. Sent by the keeper."""

    requested_version: int


class Wake(Command):
    """The time that a step waits for has come. Sent by the keeper, once for each such step."""


class RecordPoll(Command, ActionAttempt):
    """Record what a polling step saw. `polls` counts this poll; `met`: the condition holds. Sent by the keeper."""

    polls: int = Field(ge=1)
    value: JsonValue = None
    error: str = ""
    met: bool = False
    subject: str | None = None


NoDraft = Ask | AnswerRemark | AcceptOffer  # what answers a message instead of a draft
