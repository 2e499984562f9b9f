"""Every fact a session can record, and nothing else. The shape of a stored event never changes in place."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from parley.events.carried import Carried
from parley.events.envelope import Event
from parley.events.values import (
    STEP_ID,
    ActionAttempt,
    ActionId,
    ActionSpec,
    Artefact,
    Attempt,
    Check,
    Effect,
    Knowledge,
    Line,
    ModelCall,
    NextAction,
    Option,
    Outcome,
    PathPlan,
    PlanKind,
    Recalled,
    Role,
    SessionId,
    SessionSettings,
    Status,
    StepId,
    Steps,
    SubGoalVerdict,
    Text,
    ToolPolicy,
    Waiting,
    Workflow,
    is_empty,
    is_none,
)

Intent = Literal["request", "feedback", "guidance", "remark"]
PollEnd = Literal["met", "given_up"]
QuestionKind = Literal["request", "continue", "budget", "action", "uncertain"]
Version = Annotated[int, Field(ge=1)]
# 1, 2, 3 for people; 0 in what older releases stored.
PeopleNumber = Annotated[int, Field(ge=0, exclude_if=is_empty)]
MAX_ACTIONS = 1_000  # of an event; what is decided today has fewer
MAX_OUTCOMES = 50  # of an event
SHORTEST_POLL, LONGEST_POLL = 10, 24 * 3600  # seconds between two looks of a step that polls, and of all of them
MOST_LOOKS = 1_000  # of one such step


class MessageReceived(Event):
    """A person said something. Version 1 of a session is a request, with workflow, settings and knowledge.

    Where the keeper begins it by a schedule, `owner` is whose session it is, and `via` what it begins it by:
    `template/<id>/<time>`.

    A remark is said of what is in review, or at rest: it only makes a service due, whose event says what becomes of it.
    """

    type: Literal["message.received"] = "message.received"
    text: Text
    intent: Intent = "request"
    workflow: Workflow | None = None
    settings: SessionSettings | None = None
    knowledge: Annotated[tuple[Knowledge, ...], Field(max_length=20)] = ()
    brings_plan: bool = Field(False, exclude_if=is_empty)  # `plan.edited` follows: nobody is to plan (format 2)
    owner: Line | None = Field(None, exclude_if=is_none)
    via: Line | None = Field(None, exclude_if=is_none)


class RemarkAnswered(Event):
    """A service answered a remark in words: all else is as it was before the remark."""

    type: Literal["remark.answered"] = "remark.answered"
    text: Text


class PlanDrafted(Event):
    """The planner's proposal. Its version as a plan is the version of this event.

    `begins_round`, here and below: the remark that it answers is a new request. `task`: one id for all its versions.
    `checks`: how the draft of an execution plan was held against the tools there are.
    """

    type: Literal["plan.drafted"] = "plan.drafted"
    kind: PlanKind = "text"
    goal: Text
    steps: Steps
    notes: str = ""
    path: PathPlan | None = None
    task: Annotated[str, Field(pattern=STEP_ID)] | None = Field(None, exclude_if=is_none)
    checks: Annotated[tuple[Check, ...], Field(exclude_if=is_empty)] = ()
    reason: Annotated[str, Field(max_length=500, exclude_if=is_empty)] = ""
    begins_round: bool = False
    number: PeopleNumber = 0


class PlanEdited(Event):
    """A person's own version of the plan of version `base_version`."""

    type: Literal["plan.edited"] = "plan.edited"
    base_version: Version
    goal: Text
    steps: Steps
    notes: str = ""
    checks: Annotated[tuple[Check, ...], Field(exclude_if=is_empty)] = ()
    number: PeopleNumber = 0


class PlanApproved(Event):
    """A person approved exactly this version and content. Steps that act begin a turn: its number and ruled actions.

    `already_done`: those of the actions that an earlier version of the plan has done. They are not done again.
    `preapproved`: the steps with references whose calls the person allowed with whatever values they get (format 2).
    `deferred`: nothing of the plan begins before a person starts it (format 2).
    """

    type: Literal["plan.approved"] = "plan.approved"
    plan_version: Version
    hash: str
    turn: Version | None = None
    actions: Annotated[tuple[ActionSpec, ...], Field(max_length=100)] = ()
    already_done: Annotated[tuple[ActionId, ...], Field(max_length=100, exclude_if=is_empty)] = ()
    number: PeopleNumber = 0
    preapproved: Annotated[tuple[StepId, ...], Field(max_length=100, exclude_if=is_empty)] = ()
    deferred: bool = Field(False, exclude_if=is_empty)


class PlanRejected(Event):
    """A person refused the plan; with `replan` another one is wanted from scratch, else their feedback is awaited."""

    type: Literal["plan.rejected"] = "plan.rejected"
    plan_version: Version
    replan: bool = False
    number: PeopleNumber = 0


class PlanCancelled(Event):
    """A person gave the plan up, before or while it was carried out."""

    type: Literal["plan.cancelled"] = "plan.cancelled"
    plan_version: Version


class PlanDeleted(Event):
    """A person removed the plan from the lists; the log keeps its history."""

    type: Literal["plan.deleted"] = "plan.deleted"
    plan_version: Version


class CodeDrafted(Event):
    """The generator's program for the approved plan. Its version as code is the version of this event."""

    type: Literal["code.drafted"] = "code.drafted"
    plan_version: Version
    code: Text
    explanation: str = ""
    begins_round: bool = False
    number: PeopleNumber = 0


class CodeEdited(Event):
    """A person's own version of the code of version `base_version`."""

    type: Literal["code.edited"] = "code.edited"
    base_version: Version
    code: Text
    number: PeopleNumber = 0


class CodeVerified(Event):
    """The verifier's checks of one version of the code, and the tests it wrote from the plan ("" if none ran)."""

    type: Literal["code.verified"] = "code.verified"
    code_version: Version
    checks: tuple[Check, ...]
    tests: str = ""


class CodeApproved(Event):
    """A person approved exactly this code."""

    type: Literal["code.approved"] = "code.approved"
    code_version: Version
    hash: str
    number: PeopleNumber = 0


class CodeRejected(Event):
    """A person refused the code; with `replan` other code for the same plan is wanted, else feedback is awaited."""

    type: Literal["code.rejected"] = "code.rejected"
    code_version: Version
    replan: bool = False
    number: PeopleNumber = 0


class QuestionAsked(Event):
    """A person must say something before the session goes on. `question_id` names what the answer finishes.

    `form`: what the question is about in values, for a page that can show it better than words.
    """

    type: Literal["question.asked"] = "question.asked"
    question_id: ActionId
    kind: QuestionKind
    text: Text
    options: tuple[Option, ...] = ()
    form: dict[str, JsonValue] | None = None


class QuestionAnswered(Event):
    """The person's answer to the question of `question_id`, which was of this `kind`.

    `key`: that of the option they chose, if they chose one. `is_input`: the action goes on with it; else it is the
    action's result. `asked_version`: of the event that asked; 0 where none did, as when an
    outcome is uncertain.
    """

    type: Literal["question.answered"] = "question.answered"
    question_id: ActionId
    text: Text
    key: str | None = None
    kind: QuestionKind | None = Field(None, exclude_if=is_none)
    is_input: bool = Field(False, exclude_if=is_empty)
    asked_version: Annotated[int, Field(ge=0, exclude_if=is_empty)] = 0


class TurnPlanned(Event):
    """What will be done next: the actions of one turn, and which of them need approval and why.

    Without actions there is nothing left to do: the answer follows. `sub_goals` is the way to the end as it is seen
    now, this turn's among them; `final`: when these actions succeed, the request is fulfilled.

    `plan_version`: the actions are the steps of this execution plan, which the session's settings let run without a
    person's approval (format 2). `already_done`: those of them that an earlier version of the plan has done.
    """

    type: Literal["turn.planned"] = "turn.planned"
    turn: Version
    sub_goal: Text
    actions: Annotated[tuple[ActionSpec, ...], Field(max_length=MAX_ACTIONS)]
    selected_tool: str = ""
    required_skills: tuple[str, ...] = ()
    reasoning: str = ""
    sub_goals: Annotated[tuple[Line, ...], Field(max_length=100)] = ()
    final: bool = False
    recalled: Annotated[tuple[Recalled, ...], Field(max_length=10)] = ()
    path: PathPlan | None = None
    begins_round: bool = False
    plan_version: Version | None = Field(None, exclude_if=is_none)
    already_done: Annotated[tuple[ActionId, ...], Field(max_length=100, exclude_if=is_empty)] = ()


class TurnRequested(Event):
    """A person plans a turn: a run of the approved code, or calls of their own after they took over.

    To send them is to allow them, so this type is the gateway's alone.
    """

    type: Literal["turn.requested"] = "turn.requested"
    turn: Version
    sub_goal: Text
    actions: Annotated[tuple[ActionSpec, ...], Field(min_length=1, max_length=MAX_ACTIONS)]


class TurnChanged(Event):
    """The actions of a turn that have not begun are these from now on; one that is the same keeps its approval.

    A condition left the path, a person changed it, its next node got its arguments, or the executor rules an action
    more strictly than its plan did. `overrides`: values that the person set in the flow's state on the way, and
    `override_id` the finished action that they become. `dropped`: the actions that will not be run after all;
    `unchanged`: those that stay as they were.
    """

    type: Literal["turn.changed"] = "turn.changed"
    turn: Version
    actions: Annotated[tuple[ActionSpec, ...], Field(max_length=MAX_ACTIONS)]
    overrides: dict[str, JsonValue] = Field(default_factory=dict)
    reason: Annotated[str, Field(max_length=5_000)] = ""
    dropped: Annotated[tuple[ActionId, ...], Field(exclude_if=is_empty)] = ()
    unchanged: Annotated[tuple[ActionId, ...], Field(exclude_if=is_empty)] = ()
    override_id: ActionId | None = Field(None, exclude_if=is_none)


class ApprovalGiven(Event):
    """A person allowed one action with exactly these arguments (`hash`)."""

    type: Literal["approval.given"] = "approval.given"
    action_id: ActionId
    hash: str


class ApprovalDenied(Event):
    """A person refused one action."""

    type: Literal["approval.denied"] = "approval.denied"
    action_id: ActionId
    reason: str = ""


class ApprovalExpired(Event):
    """Nobody decided in time about what version `requested_version` asked for. `denied`: the actions that waited.

    `unanswered`: the step whose question it was. It has failed.
    """

    type: Literal["approval.expired"] = "approval.expired"
    requested_version: Version
    denied: Annotated[tuple[ActionId, ...], Field(max_length=MAX_ACTIONS)] = ()
    unanswered: ActionId | None = Field(None, exclude_if=is_none)


class ActionsStarted(Event):
    """A wave begins: recorded before any of its actions touches the world."""

    type: Literal["actions.started"] = "actions.started"
    actions: Annotated[tuple[ActionAttempt, ...], Field(min_length=1)]


class ActionsWaiting(Event):
    """Steps of a plan that wait for a time or poll for a condition: the others go on meanwhile."""

    type: Literal["actions.waiting"] = "actions.waiting"
    actions: Annotated[tuple[Waiting, ...], Field(min_length=1, max_length=MAX_ACTIONS)]


class ActionsWoken(Event):
    """The time has come that these steps waited for: they are finished."""

    type: Literal["actions.woken"] = "actions.woken"
    actions: Annotated[tuple[ActionId, ...], Field(min_length=1, max_length=MAX_ACTIONS)]


class ActionPolled(Event):
    """A step that polls saw another value than before, or has come to its end. `looks`: how often it looked by then.

    `error` tells why the look failed, or why the step gave up. Looks that show nothing new are not recorded.
    """

    type: Literal["action.polled"] = "action.polled"
    action_id: ActionId
    attempt: Attempt = 1
    looks: Annotated[int, Field(ge=1)]
    value: JsonValue = None
    error: str = ""
    end: PollEnd | None = None


class ActionsFinished(Event):
    """The outcomes of started actions: of those that ended while the last event was being appended."""

    type: Literal["actions.finished"] = "actions.finished"
    outcomes: Annotated[tuple[Outcome, ...], Field(min_length=1, max_length=MAX_OUTCOMES)]


class ResultStored(Event):
    """The whole result of an action is in the object store; its outcome has only the beginning."""

    type: Literal["result.stored"] = "result.stored"
    action_id: ActionId
    attempt: Attempt = 1
    artefact: Artefact


class ResultLost(Event):
    """The whole result of an action could not be stored: there is no more than the beginning in its outcome."""

    type: Literal["result.lost"] = "result.lost"
    action_id: ActionId
    attempt: Attempt = 1
    reason: str


class ActionSkipped(Event):
    """An action that will not be run. `planned_again`: those of a plan that it held up, and that can go on now.

    `output`: what a person gave in its place. `dependents`: skipped with it, as they refer to its output (format 2).
    """

    type: Literal["action.skipped"] = "action.skipped"
    action_id: ActionId
    reason: str = ""
    output: JsonValue = Field(None, exclude_if=is_none)
    dependents: Annotated[tuple[ActionId, ...], Field(max_length=100, exclude_if=is_empty)] = ()
    planned_again: Annotated[tuple[ActionId, ...], Field(exclude_if=is_empty)] = ()


class ActionUncertain(Event):
    """A started action whose outcome nobody knows. A person must look, unless it was a read: that changed nothing."""

    type: Literal["action.uncertain"] = "action.uncertain"
    action_id: ActionId
    attempt: Attempt = 1
    reason: str
    effect: Effect | None = Field(None, exclude_if=is_none)


class TurnVerified(Event):
    """The verifier's verdict on a turn. `rule` names the rule that gave it; "" when a model did.

    `sub_goals`: a verdict on each sub-goal, where the turn worked on several.
    """

    type: Literal["turn.verified"] = "turn.verified"
    turn: Version
    status: Status
    next_action: NextAction
    execution_analysis: str = ""
    memory_analysis: str = ""
    reasoning: str = ""
    rule: str = ""
    sub_goals: Annotated[tuple[SubGoalVerdict, ...], Field(max_length=MAX_ACTIONS, exclude_if=is_empty)] = ()


class AnswerGiven(Event):
    """The generator's answer; `confidence` 0..1, `evidence` the ids of the actions that support it."""

    type: Literal["answer.given"] = "answer.given"
    text: Text
    confidence: float = Field(ge=0, le=1)
    evidence: tuple[ActionId, ...] = ()


class AnswerJudged(Event):
    """The person's word on the answer: accepted, its path is an example for later; saved, it is in their library."""

    type: Literal["answer.judged"] = "answer.judged"
    accepted: bool
    saved: bool = False


class UsageRecorded(Event):
    """Model calls whose cost no other event has carried: another call follows, or their work came to nothing."""

    type: Literal["usage.recorded"] = "usage.recorded"
    usage: Annotated[tuple[ModelCall, ...], Field(min_length=1)]


class BudgetRaised(Event):
    """A person allows more: added to the session's budgets."""

    type: Literal["budget.raised"] = "budget.raised"
    tokens: int = Field(0, ge=0)
    cost: float = Field(0, ge=0, allow_inf_nan=False)
    calls: int = Field(0, ge=0, exclude_if=is_empty)
    seconds: int = Field(0, ge=0, exclude_if=is_empty)


class PolicySet(Event):
    """From now on in this session, this approval policy holds for this tool."""

    type: Literal["policy.set"] = "policy.set"
    tool: Line
    policy: ToolPolicy


class SessionStopped(Event):
    """A person pressed stop: late drafts are refused from here on."""

    type: Literal["session.stopped"] = "session.stopped"
    reason: str = ""


class SessionPaused(Event):
    """The step at work may end; no new one begins."""

    type: Literal["session.paused"] = "session.paused"


class SessionResumed(Event):
    """A paused session goes on."""

    type: Literal["session.resumed"] = "session.resumed"


class SessionFailed(Event):
    """A stage could not be done within its tries. `model_reply` is what a model said instead, if it did."""

    type: Literal["session.failed"] = "session.failed"
    phase: Line
    reason: Text
    retryable: bool = True
    model_reply: Annotated[str, Field(max_length=20_000)] = ""


class SessionRetried(Event):
    """The stage that failed or was stopped is due again; `planned_again`: the actions that wait to be run once more."""

    type: Literal["session.retried"] = "session.retried"
    planned_again: Annotated[tuple[ActionId, ...], Field(exclude_if=is_empty)] = ()


class SessionCompleted(Event):
    """The person is done for now; a later message still goes on in the same session."""

    type: Literal["session.completed"] = "session.completed"


class SessionForked(Event):
    """Version 1 of a session that goes on from version `parent_version` of another, with all that it takes over."""

    type: Literal["session.forked"] = "session.forked"
    parent_id: SessionId
    parent_version: Version
    carried: Carried


class SessionRenamed(Event):
    """The session's title, as the person wants it."""

    type: Literal["session.renamed"] = "session.renamed"
    title: Line


class SessionShared(Event):
    """What another user may do in this session from now on; without a role nothing any more."""

    type: Literal["session.shared"] = "session.shared"
    user: Line
    role: Role | None = None


class WorkflowChanged(Event):
    """From the next request on, the session follows this workflow."""

    type: Literal["session.workflow_changed"] = "session.workflow_changed"
    workflow: Workflow
