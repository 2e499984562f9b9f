"""Every event that a session can record. The shape of a stored event type never changes."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from parley.events.carried import Carried
from parley.events.envelope import Event, Maker
from parley.events.offers import OfferedDraft
from parley.events.values import (
    STEP_ID,
    ActionAttempt,
    ActionId,
    ActionSpec,
    Artefact,
    Attempt,
    Check,
    Effect,
    FurtherQuestion,
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
    Subject,
    TellsSubjects,
    Text,
    TimeZone,
    ToolPolicy,
    Waiting,
    Workflow,
    is_empty,
    is_none,
)

WORKERS: tuple[Maker, ...] = ("planner", "executor", "verifier", "generator")
Intent = Literal["request", "feedback", "guidance", "remark"]
WaitEnd = Literal["met", "given_up"]
QuestionKind = Literal["request", "continue", "budget", "turns", "action", "uncertain"]
Version = Annotated[int, Field(ge=1)]
# 1, 2, 3 for people; 0 where the program that published the event did not say it.
DisplayNumber = Annotated[int, Field(ge=0, exclude_if=is_empty)]
MAX_ACTIONS = 1_000  # of an event; what is decided today has fewer
MAX_OUTCOMES = 50  # of an event
MIN_POLL_INTERVAL, MAX_POLL_TIME = 10, 24 * 3600  # seconds between two polls of a step that polls, and of all of them
MAX_POLLS = 1_000  # of one such step
MAX_NEXT = 4  # messages that an answer proposes


class MessageReceived(Event):
    """A user sent a message. Version 1 of a session is a request, with workflow, settings and knowledge.

    A remark only makes a service due; that service's event decides how it counts.
    """

    made_by = ("gateway", "plan_store")
    type: Literal["message.received"] = "message.received"
    text: Text = Field(description="the message")
    intent: Intent = Field(
        "request",
        description="`request` begins a round; `feedback` asks for another version of what is in review; `remark` "
        "is about what is in review or at rest; `guidance` was sent during work",
    )
    workflow: Workflow | None = Field(
        None, description="the workflow that the session follows from now on; none: as before"
    )
    settings: SessionSettings | None = Field(None, description="the session's settings from now on; none: as before")
    knowledge: Annotated[
        tuple[Knowledge, ...], Field(max_length=20, description="texts and files that came with the request")
    ] = ()
    time_zone: TimeZone | None = Field(
        None,
        exclude_if=is_none,
        description="the IANA name of the person's time zone; left out where it is unknown or as before",
    )
    brings_plan: bool = Field(
        False,
        exclude_if=is_empty,
        description="true: the person's own plan follows as `plan.edited`, so no service drafts one; left out "
        "otherwise",
    )
    owner: Line | None = Field(
        None,
        exclude_if=is_none,
        description="the owner, where the scheduler begins the session; left out where a person begins it",
    )
    via: Line | None = Field(
        None,
        exclude_if=is_none,
        description="the schedule that began the session, `template/<id>/<time>`; left out where a person began it",
    )


class RemarkAnswered(Event):
    """A service answered a message in words, or it could not be answered. Everything else stays as it is."""

    made_by = ("generator", "planner", "plan_store")
    type: Literal["remark.answered"] = "remark.answered"
    text: Text = Field(description="the reply")


class PlanDrafted(Event):
    """The planner's proposal. Its version as a plan is the version of this event."""

    made_by = ("planner", "gateway")
    type: Literal["plan.drafted"] = "plan.drafted"
    kind: PlanKind = Field(
        "text", description="`text`: sentences; `path`: nodes of a flow; `execution`: calls of tools"
    )
    goal: Text = Field(description="what the plan is for, in a sentence")
    steps: Steps = Field(description="what to do, in order")
    notes: str = Field("", description="anything the steps do not say")
    say: Annotated[
        str, Field(exclude_if=is_empty, description="words to the person beside it: answers, what is new")
    ] = ""
    offer: Version | None = Field(
        None, exclude_if=is_none, description="version of the offer that was taken; absent where none was"
    )
    path: PathPlan | None = Field(
        None, description="the path through nodes of flows; none: the plan does not walk a flow"
    )
    task: Annotated[str, Field(pattern=STEP_ID)] | None = Field(
        None,
        exclude_if=is_none,
        description="of an execution plan: the id of its request, which all its versions share",
    )
    checks: Annotated[tuple[Check, ...], Field(exclude_if=is_empty, description="checks, with their results")] = ()
    drops: Annotated[
        tuple[Text, ...],
        Field(exclude_if=is_empty, description="steps of the person's own that this version leaves out, in words"),
    ] = ()
    reason: Annotated[
        str,
        Field(
            max_length=500,
            exclude_if=is_empty,
            description="the beginning of the message that this version answers; empty where none led to it",
        ),
    ] = ""
    begins_round: bool = Field(
        False,
        description="true: the remark that this event answers is a new request; false: it is about what was in review",
    )
    tells_subjects: TellsSubjects = False
    number: DisplayNumber = Field(0, description="a number for people: 1, 2, 3 …")


class PlanEdited(Event):
    """A user's own version of the plan, based on version `base_version`."""

    made_by = ("gateway", "plan_store")
    type: Literal["plan.edited"] = "plan.edited"
    base_version: Version = Field(description="the version that was edited")
    goal: Text = Field(description="what the plan is for, in a sentence")
    steps: Steps = Field(description="what to do, in order")
    notes: str = Field("", description="anything the steps do not say")
    checks: Annotated[tuple[Check, ...], Field(exclude_if=is_empty, description="checks, with their results")] = ()
    number: DisplayNumber = Field(0, description="a number for people: 1, 2, 3 …")


class PlanApproved(Event):
    """A user approved exactly this version and content. For an execution plan it holds the turn of its steps."""

    made_by = ("gateway",)
    type: Literal["plan.approved"] = "plan.approved"
    plan_version: Version = Field(description="the plan's version: the version of the event that made it")
    hash: str = Field(description="SHA-256 (hex) of the canonical JSON (RFC 8785) of what was approved")
    turn: Version | None = Field(None, description="number of the turn that it begins; none: nothing runs")
    actions: Annotated[tuple[ActionSpec, ...], Field(max_length=100, description="the tool calls of the turn")] = ()
    already_done: Annotated[
        tuple[ActionId, ...],
        Field(
            max_length=100,
            exclude_if=is_empty,
            description="actions that an earlier version of the plan finished: they do not run again",
        ),
    ] = ()
    number: DisplayNumber = Field(0, description="a number for people: 1, 2, 3 …")
    preapproved: Annotated[
        tuple[StepId, ...],
        Field(
            max_length=100,
            exclude_if=is_empty,
            description="steps whose calls are approved in advance, whatever values their references get",
        ),
    ] = ()
    deferred: bool = Field(False, exclude_if=is_empty, description="true: the plan waits until a person starts it")


class PlanRejected(Event):
    """A user rejected the plan. With `replan` the planner drafts another one, else the user's feedback follows."""

    made_by = ("gateway",)
    type: Literal["plan.rejected"] = "plan.rejected"
    plan_version: Version = Field(description="the plan's version: the version of the event that made it")
    replan: bool = Field(False, description="true: the person wants a different one; false: Parley waits for feedback")
    number: DisplayNumber = Field(0, description="a number for people: 1, 2, 3 …")


class PlanCancelled(Event):
    """A user cancelled the plan, before or while it was carried out."""

    made_by = ("gateway",)
    type: Literal["plan.cancelled"] = "plan.cancelled"
    plan_version: Version = Field(description="the plan's version: the version of the event that made it")


class PlanDeleted(Event):
    """A user removed the plan from the lists. The log keeps its history."""

    made_by = ("gateway",)
    type: Literal["plan.deleted"] = "plan.deleted"
    plan_version: Version = Field(description="the plan's version: the version of the event that made it")


class CodeDrafted(Event):
    """The generator's program for the approved plan. Its version as code is the version of this event."""

    made_by = ("generator", "gateway")
    type: Literal["code.drafted"] = "code.drafted"
    plan_version: Version = Field(description="the plan's version: the version of the event that made it")
    code: Text = Field(description="the whole program")
    explanation: str = Field("", description="what the generator says about it")
    wish: str = Field("", exclude_if=is_empty, description="what the person wants that the plan does not say")
    disputes: str = Field("", exclude_if=is_empty, description="why a failed test is wrong; the program is as it was")
    say: Annotated[
        str, Field(exclude_if=is_empty, description="words to the person beside it: answers, what is new")
    ] = ""
    offer: Version | None = Field(
        None, exclude_if=is_none, description="version of the offer that was taken; absent where none was"
    )
    begins_round: bool = Field(
        False,
        description="true: the remark that this event answers is a new request; false: it is about what was in review",
    )
    number: DisplayNumber = Field(0, description="a number for people: 1, 2, 3 …")


class CodeEdited(Event):
    """A user's own version of the code, based on version `base_version`."""

    made_by = ("gateway",)
    type: Literal["code.edited"] = "code.edited"
    base_version: Version = Field(description="the version that was edited")
    code: Text = Field(description="the whole program")
    number: DisplayNumber = Field(0, description="a number for people: 1, 2, 3 …")


class CodeVerified(Event):
    """The verifier's checks of one version of the code, and the tests that it wrote from the plan, or kept."""

    made_by = ("verifier",)
    type: Literal["code.verified"] = "code.verified"
    code_version: Version = Field(description="the code's version: the version of the event that made it")
    checks: tuple[Check, ...] = Field(description="checks, with their results")
    tests: str = Field("", description="the tests that were written from the plan")
    unreachable: tuple[str, ...] = Field((), exclude_if=is_empty, description="ids of steps that no test can reach")


class CodeApproved(Event):
    """A user approved exactly this code."""

    made_by = ("gateway",)
    type: Literal["code.approved"] = "code.approved"
    code_version: Version = Field(description="the code's version: the version of the event that made it")
    hash: str = Field(description="SHA-256 (hex) of the canonical JSON (RFC 8785) of what was approved")
    number: DisplayNumber = Field(0, description="a number for people: 1, 2, 3 …")


class CodeRejected(Event):
    """A user rejected the code. With `replan` the generator writes other code, else the user's feedback follows."""

    made_by = ("gateway",)
    type: Literal["code.rejected"] = "code.rejected"
    code_version: Version = Field(description="the code's version: the version of the event that made it")
    replan: bool = Field(False, description="true: the person wants a different one; false: Parley waits for feedback")
    number: DisplayNumber = Field(0, description="a number for people: 1, 2, 3 …")


class QuestionAsked(Event):
    """The session waits for the user's answer."""

    made_by = (*WORKERS, "gateway")
    type: Literal["question.asked"] = "question.asked"
    question_id: ActionId = Field(
        description="names the question in its answer; the id of the action that it is about, if any"
    )
    kind: QuestionKind = Field(
        description="the request, what comes next, the budget, whether to go on after many turns, an "
        "action, or an uncertain action"
    )
    text: Text = Field(description="the question")
    options: tuple[Option, ...] = Field((), description="the options to choose from; empty: any text")
    form: dict[str, JsonValue] | None = Field(
        None,
        description="the subject of the question as data, for a page that shows it in its own way; none: "
        "the text says it all",
    )
    several: bool = Field(False, exclude_if=is_empty, description="true: several of the options may be chosen")
    further: tuple[FurtherQuestion, ...] = Field(
        (), exclude_if=is_empty, description="more questions, to be answered after this one or together with it"
    )


class QuestionAnswered(Event):
    """The user's answer to a question."""

    made_by = ("gateway",)
    type: Literal["question.answered"] = "question.answered"
    question_id: ActionId = Field(description="the question that is answered")
    text: Text = Field(description="the answer")
    key: str | None = Field(None, description="the key of the chosen option; none: the person wrote something else")
    kind: QuestionKind | None = Field(
        None, exclude_if=is_none, description="the question's kind; left out where the publisher does not say it"
    )
    more: tuple[Text, ...] = Field((), exclude_if=is_empty, description="the answers to the questions that follow it")
    place: int = Field(
        0, ge=0, exclude_if=is_empty, description="which of several questions it answers: 0 is the first one"
    )
    is_input: bool = Field(
        False,
        exclude_if=is_empty,
        description="true: the action continues with the answer as input; left out where the answer is its result",
    )
    asked_version: Annotated[
        int,
        Field(
            ge=0,
            exclude_if=is_empty,
            description="version of the event that asked; left out where none did, as for an uncertain outcome",
        ),
    ] = 0


class TurnPlanned(Event):
    """The actions of the next turn, and which of them need approval and why.

    Without actions nothing is left to do, and the answer follows.
    """

    made_by = ("planner", "gateway")
    type: Literal["turn.planned"] = "turn.planned"
    turn: Version = Field(description="number of the turn")
    sub_goal: Text = Field(description="what the turn is for")
    actions: Annotated[tuple[ActionSpec, ...], Field(max_length=MAX_ACTIONS, description="the tool calls of the turn")]
    selected_tool: str = Field("", description="the tool that the planner chose first")
    required_skills: tuple[str, ...] = Field((), description="the skills that the sub-goal needs")
    reasoning: str = Field("", description="why the planner chose these actions")
    say: Annotated[
        str, Field(exclude_if=is_empty, description="words to the person beside it: answers, what is new")
    ] = ""
    offer: Version | None = Field(
        None, exclude_if=is_none, description="version of the offer that was taken; absent where none was"
    )
    sub_goals: Annotated[
        tuple[Line, ...],
        Field(max_length=100, description="the sub-goals of the request that remain, in order, this turn's included"),
    ] = ()
    given_up: Annotated[
        tuple[Line, ...],
        Field(
            max_length=100,
            exclude_if=is_empty,
            description="sub-goals that failed, were to be retried, and are not among those of this turn; absent where "
            "there are none",
        ),
    ] = ()
    final: bool = Field(False, description="true: the request is fulfilled when these actions succeed")
    recalled: Annotated[
        tuple[Recalled, ...],
        Field(max_length=10, description="the outcomes of earlier sessions in the planner's prompt"),
    ] = ()
    path: PathPlan | None = Field(
        None, description="the path through nodes of flows; none: the plan does not walk a flow"
    )
    tells_subjects: TellsSubjects = False
    begins_round: bool = Field(
        False,
        description="true: the remark that this event answers is a new request; false: it is about what was in review",
    )
    plan_version: Version | None = Field(
        None,
        exclude_if=is_none,
        description="the execution plan whose steps these are, where the session's settings let it run without an "
        "approval; absent otherwise",
    )
    already_done: Annotated[
        tuple[ActionId, ...],
        Field(
            max_length=100,
            exclude_if=is_empty,
            description="actions that an earlier version of the plan finished: they do not run again",
        ),
    ] = ()


class OfferMade(Event):
    """A draft in answer to a message, beside what waits or runs: it takes its place only when the person says so.

    Taking it makes an event of the draft's kind, which names this one.
    """

    made_by = ("planner", "generator")
    type: Literal["offer.made"] = "offer.made"
    say: Annotated[
        str, Field(exclude_if=is_empty, description="words to the person beside it: answers, what is new")
    ] = ""
    draft: OfferedDraft = Field(description="what is offered")


class OfferKept(Event):
    """What waits or runs is kept, and the offer is turned down."""

    made_by = ("gateway",)
    type: Literal["offer.kept"] = "offer.kept"
    offer: Version = Field(description="version of the offer")


class TurnRequested(Event):
    """A user planned a turn: a run of the approved code, or their own calls after a takeover.

    Sending the calls approves them, so only the gateway may append this event.
    """

    made_by = ("gateway",)
    type: Literal["turn.requested"] = "turn.requested"
    turn: Version = Field(description="number of the turn")
    sub_goal: Text = Field(description="what the turn is for")
    actions: Annotated[
        tuple[ActionSpec, ...], Field(min_length=1, max_length=MAX_ACTIONS, description="the tool calls of the turn")
    ]


class TurnChanged(Event):
    """The open actions of the turn are replaced by these. An unchanged action keeps its approval.

    Reasons: a condition leaves the path, the user changed it, the next node got its arguments, or the executor
    ruled an action more strictly than planned.
    """

    made_by = ("executor", "gateway")
    type: Literal["turn.changed"] = "turn.changed"
    turn: Version = Field(description="number of the turn")
    actions: Annotated[
        tuple[ActionSpec, ...],
        Field(max_length=MAX_ACTIONS, description="the actions that replace all that have not started"),
    ]
    overrides: dict[str, JsonValue] = Field(
        default_factory=dict, description="values that the person set in the flow's state, by name"
    )
    reason: Annotated[
        str,
        Field(
            max_length=5_000,
            description="the condition that left the path, or the executor's ruling; empty when a person changed it",
        ),
    ] = ""
    dropped: Annotated[
        tuple[ActionId, ...],
        Field(exclude_if=is_empty, description="actions that will not run; left out where there are none"),
    ] = ()
    unchanged: Annotated[
        tuple[ActionId, ...],
        Field(
            exclude_if=is_empty,
            description="actions that stay unchanged, with their approval; left out where there are none",
        ),
    ] = ()
    override_id: ActionId | None = Field(
        None,
        exclude_if=is_none,
        description="the id of the finished action that holds `overrides`; left out where there are none",
    )


class ApprovalGiven(Event):
    """A user approved one action with exactly these arguments."""

    made_by = ("gateway",)
    type: Literal["approval.given"] = "approval.given"
    action_id: ActionId = Field(description="the action's id")
    hash: str = Field(description="SHA-256 (hex) of the canonical JSON (RFC 8785) of what was approved")


class ApprovalDenied(Event):
    """A user denied one action."""

    made_by = ("gateway",)
    type: Literal["approval.denied"] = "approval.denied"
    action_id: ActionId = Field(description="the action's id")
    reason: str = Field("", description="why the user denied it; may be empty")


class ApprovalExpired(Event):
    """A request for approval, or a step's question, was not answered in time."""

    made_by = ("plan_store",)
    type: Literal["approval.expired"] = "approval.expired"
    requested_version: Version = Field(description="version of the event that asked")
    denied: Annotated[
        tuple[ActionId, ...],
        Field(
            max_length=MAX_ACTIONS,
            description="the actions that waited for approval and are now denied; none where a plan or code was in "
            "review",
        ),
    ] = ()
    unanswered: ActionId | None = Field(
        None,
        exclude_if=is_none,
        description="the step that fails because its question was not answered; left out where none asked",
    )


class ActionsStarted(Event):
    """A batch starts: recorded before any of its actions runs."""

    made_by = ("executor",)
    type: Literal["actions.started"] = "actions.started"
    actions: Annotated[tuple[ActionAttempt, ...], Field(min_length=1, description="the actions that start together")]


class ActionsWaiting(Event):
    """Steps of a plan begin to wait for a time or to poll for a condition. The other steps go on."""

    made_by = ("executor",)
    type: Literal["actions.waiting"] = "actions.waiting"
    actions: Annotated[
        tuple[Waiting, ...],
        Field(min_length=1, max_length=MAX_ACTIONS, description="the steps that wait, and until when"),
    ]


class ActionWaited(Event):
    """A waiting step's time has come, or a polling step saw a new value or ended.

    Polls that see nothing new are not recorded.
    """

    made_by = ("plan_store",)
    type: Literal["action.waited"] = "action.waited"
    action_id: ActionId = Field(description="the action's id")
    attempt: Attempt = Field(1, description="the number of the attempt at this action, from 1")
    polls: Annotated[int, Field(ge=0, exclude_if=is_empty)] = Field(
        0, description="the number of polls so far; left out for a step that waits for a time"
    )
    value: JsonValue = Field(
        None, description="the value that the poll returned; where the wait has ended well, the step's output"
    )
    error: str = Field("", description="why the poll failed or the step gave up; empty otherwise")
    subject: Subject | None = Field(
        None, exclude_if=is_none, description="whom the poll was about, as in an outcome; absent where it cannot tell"
    )
    end: WaitEnd | None = Field(
        None,
        description="`met`: the time has come, or the condition holds; `given_up`: the step failed; null: it still "
        "waits",
    )


class ActionsFinished(Event):
    """The outcomes of started actions; several if they ended while the previous event was being appended."""

    made_by = ("executor",)
    type: Literal["actions.finished"] = "actions.finished"
    outcomes: Annotated[
        tuple[Outcome, ...],
        Field(
            min_length=1, max_length=MAX_OUTCOMES, description="the outcomes, in the order in which the actions ended"
        ),
    ]


class ResultStored(Event):
    """The full result of an action is in the object store. Its outcome holds only the beginning."""

    made_by = ("executor",)
    type: Literal["result.stored"] = "result.stored"
    action_id: ActionId = Field(description="the action's id")
    attempt: Attempt = Field(1, description="the number of the attempt at this action, from 1")
    artefact: Artefact = Field(description="where the whole result is")


class ResultLost(Event):
    """The full result of an action could not be stored. Only the beginning in its outcome remains."""

    made_by = ("executor", "plan_store")
    type: Literal["result.lost"] = "result.lost"
    action_id: ActionId = Field(description="the action's id")
    attempt: Attempt = Field(1, description="the number of the attempt at this action, from 1")
    reason: str = Field(description="why it could not be stored")


class ActionSkipped(Event):
    """A user skipped an action: it will not run."""

    made_by = ("gateway",)
    type: Literal["action.skipped"] = "action.skipped"
    action_id: ActionId = Field(description="the action's id")
    reason: str = Field("", description="why the user skipped it; may be empty")
    output: JsonValue = Field(
        None,
        exclude_if=is_none,
        description="the output that a person gave in its place, for steps that refer to it; left out "
        "where there is none",
    )
    dependents: Annotated[
        tuple[ActionId, ...],
        Field(
            max_length=100,
            exclude_if=is_empty,
            description="actions that are skipped with it because they refer to its output; left out "
            "where there are none",
        ),
    ] = ()
    planned_again: Annotated[
        tuple[ActionId, ...],
        Field(
            exclude_if=is_empty,
            description="ended actions that will run again; left out where there are none",
        ),
    ] = ()


class ActionUncertain(Event):
    """The outcome of a started action is unknown. The user must decide, unless it was a read, which changed nothing."""

    made_by = ("executor", "plan_store")
    type: Literal["action.uncertain"] = "action.uncertain"
    action_id: ActionId = Field(description="the action's id")
    attempt: Attempt = Field(1, description="the number of the attempt at this action, from 1")
    reason: str = Field(description="why the outcome is unknown")
    effect: Effect | None = Field(None, exclude_if=is_none, description="what the tool does to the world")


class TurnVerified(Event):
    """The verifier's verdict on a turn."""

    made_by = ("verifier",)
    type: Literal["turn.verified"] = "turn.verified"
    turn: Version = Field(description="number of the turn")
    status: Status = Field(description="how the turn went")
    next_action: NextAction = Field(description="what should happen next")
    execution_analysis: str = Field("", description="the verifier's analysis of the execution")
    memory_analysis: str = Field("", description="the verifier's analysis of the memory")
    reasoning: str = Field("", description="the reasons for the verdict")
    rule: str = Field("", description="the rule that gave the verdict; empty when a model did")
    sub_goals: Annotated[
        tuple[SubGoalVerdict, ...],
        Field(
            max_length=MAX_ACTIONS,
            exclude_if=is_empty,
            description="a verdict on each sub-goal, if the turn had several",
        ),
    ] = ()


class AnswerGiven(Event):
    """The generator's answer to the request."""

    made_by = ("generator",)
    type: Literal["answer.given"] = "answer.given"
    text: Text = Field(description="the answer as Markdown")
    confidence: float = Field(ge=0, le=1, description="how sure the answer is, 0 to 1")
    evidence: tuple[ActionId, ...] = Field((), description="ids of the actions that support it")
    next: tuple[Line, ...] = Field(
        (), max_length=MAX_NEXT, exclude_if=is_empty, description="messages that the person could send next"
    )


class AnswerJudged(Event):
    """The user's judgement of the answer."""

    made_by = ("gateway",)
    type: Literal["answer.judged"] = "answer.judged"
    accepted: bool = Field(description="true: the person accepts the answer; its path is an example for later requests")
    saved: bool = Field(False, description="true: the person saves it to their library")


class UsageRecorded(Event):
    """Model calls that no other event accounts for: another call follows, or their work had no result."""

    made_by = WORKERS
    type: Literal["usage.recorded"] = "usage.recorded"
    usage: Annotated[tuple[ModelCall, ...], Field(min_length=1, description="the model calls")]


class BudgetRaised(Event):
    """A user raised the session's budgets by these amounts."""

    made_by = ("gateway",)
    type: Literal["budget.raised"] = "budget.raised"
    tokens: int = Field(0, ge=0, description="the number of tokens to add")
    cost: float = Field(0, ge=0, allow_inf_nan=False, description="US dollars to add")
    calls: int = Field(0, ge=0, exclude_if=is_empty, description="the number of tool calls to add; left out where 0")
    seconds: int = Field(0, ge=0, exclude_if=is_empty, description="the seconds of work to add; left out where 0")


class PolicySet(Event):
    """A user set the approval policy of this tool for the session."""

    made_by = ("gateway",)
    type: Literal["policy.set"] = "policy.set"
    tool: Line = Field(description="name of the tool")
    policy: ToolPolicy = Field(description="which calls of the tool need an approval")


class SessionStopped(Event):
    """A user stopped the session. Drafts that are still being written are refused."""

    made_by = ("gateway",)
    type: Literal["session.stopped"] = "session.stopped"
    reason: str = Field("", description="why the user stopped it; may be empty")


class SessionPaused(Event):
    """The current step may end; no new one starts."""

    made_by = ("gateway",)
    type: Literal["session.paused"] = "session.paused"


class SessionResumed(Event):
    """A paused session goes on."""

    made_by = ("gateway",)
    type: Literal["session.resumed"] = "session.resumed"


class SessionFailed(Event):
    """A phase could not be completed within its attempts."""

    made_by = (*WORKERS, "plan_store")
    type: Literal["session.failed"] = "session.failed"
    phase: Line = Field(description="the phase that failed")
    reason: Text = Field(description="why the phase failed")
    retryable: bool = Field(True, description="whether `retry` can help")
    model_reply: Annotated[
        str,
        Field(
            max_length=20_000,
            description="what a model replied instead of what was asked, at most 20,000 characters; empty: nothing",
        ),
    ] = ""


class SessionRetried(Event):
    """The phase that failed or was stopped is due again."""

    made_by = ("gateway",)
    type: Literal["session.retried"] = "session.retried"
    planned_again: Annotated[
        tuple[ActionId, ...],
        Field(
            exclude_if=is_empty,
            description="ended actions that will run again; left out where there are none",
        ),
    ] = ()


class SessionCompleted(Event):
    """The user is done for now. A later message goes on in the same session."""

    made_by = ("gateway",)
    type: Literal["session.completed"] = "session.completed"


class SessionForked(Event):
    """Version 1 of a fork of another session at version `parent_version`, with everything that it takes over."""

    made_by = ("gateway",)
    type: Literal["session.forked"] = "session.forked"
    parent_id: SessionId = Field(description="the session it was forked from")
    parent_version: Version = Field(description="the parent's version that it was forked at")
    carried: Carried = Field(description="the state that the fork begins with")


class SessionRenamed(Event):
    """The user changed the session's title."""

    made_by = ("gateway",)
    type: Literal["session.renamed"] = "session.renamed"
    title: Line = Field(description="the session's title")


class SessionShared(Event):
    """What another user may do in this session from now on; without a role, nothing any more."""

    type: Literal["session.shared"] = "session.shared"
    user: Line = Field(description="the user's id")
    role: Role | None = Field(
        None,
        description="the new role: `viewer` reads, `editor` also writes and edits, `approver` also approves; none: "
        "no access",
    )


class WorkflowChanged(Event):
    """From the next request on, the session follows this workflow."""

    made_by = ("gateway",)
    type: Literal["session.workflow_changed"] = "session.workflow_changed"
    workflow: Workflow = Field(description="the name of the workflow that the session follows")


SessionEvent = Annotated[
    MessageReceived
    | RemarkAnswered
    | PlanDrafted
    | PlanEdited
    | PlanApproved
    | PlanRejected
    | PlanCancelled
    | PlanDeleted
    | CodeDrafted
    | CodeEdited
    | CodeVerified
    | CodeApproved
    | CodeRejected
    | QuestionAsked
    | QuestionAnswered
    | TurnPlanned
    | OfferMade
    | OfferKept
    | TurnRequested
    | TurnChanged
    | ApprovalGiven
    | ApprovalDenied
    | ApprovalExpired
    | ActionsStarted
    | ActionsWaiting
    | ActionWaited
    | ActionsFinished
    | ResultStored
    | ResultLost
    | ActionSkipped
    | ActionUncertain
    | TurnVerified
    | AnswerGiven
    | AnswerJudged
    | UsageRecorded
    | BudgetRaised
    | PolicySet
    | SessionStopped
    | SessionPaused
    | SessionResumed
    | SessionFailed
    | SessionRetried
    | SessionCompleted
    | SessionForked
    | SessionRenamed
    | SessionShared
    | WorkflowChanged,
    Field(discriminator="type"),
]
