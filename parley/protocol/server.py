"""The messages of the gateway on `/ws`. Each names its session, and its event's version if it is about one.

The version of a plan or of code is that of the event that created it; `number` counts 1, 2, 3 for people.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from parley.events import SessionEvent
from parley.events.values import Check, PlanKind, SessionSettings, Step, Workflow, is_empty, is_none
from parley.protocol.bounds import MAX_MESSAGE_BYTES
from parley.protocol.views import ActionView as ActionView
from parley.protocol.views import AnswerView as AnswerView
from parley.protocol.views import CodeView as CodeView
from parley.protocol.views import FailureView as FailureView
from parley.protocol.views import MemoryView as MemoryView
from parley.protocol.views import NodeProposalView as NodeProposalView
from parley.protocol.views import PathView as PathView
from parley.protocol.views import PlannedPathView as PlannedPathView
from parley.protocol.views import PlanView as PlanView
from parley.protocol.views import SubGoalView as SubGoalView
from parley.protocol.views import TurnView as TurnView
from parley.protocol.views import VerdictView as VerdictView
from parley.protocol.views import View as View


class ServerMessage(BaseModel):
    # defer_build: building validators takes time, and a process uses few of them
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    session_id: str
    version: int | None = None


class Greeting(ServerMessage):
    """The first message on a socket. `session_id`: the session that a `user_message` will begin."""

    type: Literal["greeting"] = "greeting"
    message: str = Field(description="for people")
    protocol: Literal[1] = Field(1, description="version of this protocol")
    user: str = Field(description="who you are here")
    rehearsal: bool = Field(description="the rehearsal model is in use")
    model: str = Field(description="its name at the endpoint")
    workflows: tuple[Workflow, ...] = Field(description="the workflows that can be chosen today")
    can_run_code: bool = Field(description="there is a sandbox on this machine")
    max_message_bytes: int = Field(MAX_MESSAGE_BYTES, description="the most bytes that one of your messages may have")


class Log(ServerMessage):
    """A notice for people; it changes nothing."""

    type: Literal["log"] = "log"
    content: str = Field(description="the notice")


class EventMessage(ServerMessage):
    """One event of the session, as stored."""

    type: Literal["event"] = "event"
    event: SessionEvent = Field(description="the event as stored: see [events](events.md)")


class TextPlanReview(ServerMessage):
    """A plan to approve, change or reject. An approval names its `version` and `hash`."""

    type: Literal["text_plan_review"] = "text_plan_review"
    plan: str = Field(description="the plan as Markdown")
    goal: str = Field(description="what the plan is for, in a sentence")
    kind: PlanKind = Field(description="`text`: sentences; `path`: nodes of a flow; `execution`: calls of tools")
    steps: tuple[Step, ...] = Field(description="what to do, in order")
    notes: str = Field(description="anything the steps do not say")
    number: int = Field(description="a number for people: 1, 2, 3 …")
    hash: str = Field(description="the content hash that an approval may name")
    message: str = Field(description="for people")
    path: PlannedPathView | None = Field(
        None, description="the path through nodes of flows; none: the plan does not walk a flow"
    )


class CodeReview(ServerMessage):
    """Code to approve, change or reject, with the verifier's checks. `version` is the code's, for the approval."""

    type: Literal["code_review"] = "code_review"
    code: str = Field(description="the whole program")
    explanation: str = Field(description="what the generator says about it")
    number: int = Field(description="a number for people: 1, 2, 3 …")
    hash: str = Field(description="the content hash that an approval may name")
    checks: tuple[Check, ...] = Field(description="checks, with their results")
    tests: str = Field(description="the tests that were written from the plan")
    message: str = Field(description="for people")


class FeedbackRequest(ServerMessage):
    """The plan or code was rejected, and Parley asks what should be different."""

    type: Literal["feedback_request"] = "feedback_request"
    plan_type: Literal["text", "code"] = Field(description="what was rejected: the plan (`text`) or the code")
    message: str = Field(description="for people")


class Question(ServerMessage):
    """A question for the user. The answer names its `question_id`.

    A `form` has the question as data. `{"kind": "tables", "tables": [{"name", "reason", "chosen", "columns"}]}`: which
    tables to use; the answer is `{"tables": [names]}` as JSON, or words.
    """

    type: Literal["question"] = "question"
    question_id: str = Field(description="the question's id, which the answer names")
    about: str = Field(
        description="what the question is about: the request, what comes next, the budget, whether to go on "
        "after many turns, an action, or an uncertain action"
    )
    content: str = Field(description="the question")
    options: tuple[str, ...] = Field((), description="the answers to choose from; empty: any text")
    form: dict[str, JsonValue] | None = Field(
        None, description="the subject of the question as data; none: the text says it all"
    )


class ApprovalRequest(ServerMessage):
    """Actions that await approval; each is approved by its `action_id` and `hash`."""

    type: Literal["approval_request"] = "approval_request"
    actions: tuple[ActionView, ...] = Field(description="the actions, with the hash an approval may name")
    message: str = Field(description="for people")


class ContinueContent(View):
    message: str = Field(description="for people")
    options: tuple[str, ...] = Field(description="the options to choose from")


class Continue(ServerMessage):
    """The session rests. The user can choose an option, or send a new request."""

    type: Literal["continue"] = "continue"
    content: ContinueContent = Field(description="what can come next")


class Completion(ServerMessage):
    """The plan and code that were approved in this round."""

    type: Literal["completion"] = "completion"
    final_plan: str = Field(description="the approved plan as Markdown; empty if none")
    final_code: str = Field(description="the approved program; empty if none")
    message: str = Field(description="for people")


class Answer(ServerMessage):
    """The answer to the request."""

    type: Literal["answer"] = "answer"
    text: str = Field(description="the answer as Markdown")
    confidence: float = Field(description="how sure the answer is, 0 to 1")
    evidence: tuple[str, ...] = Field(description="ids of the actions that support it")


class Completed(ServerMessage):
    """The user marked the session as done. A later message still goes on."""

    type: Literal["completed"] = "completed"
    content: str = Field(description="for people")


class Stopped(ServerMessage):
    """The session rests because a user stopped it."""

    type: Literal["stopped"] = "stopped"
    message: str = Field(description="for people")


class StageFailed(ServerMessage):
    """A stage failed. `retry` repeats it."""

    type: Literal["failed"] = "failed"
    failure: FailureView = Field(description="what failed")
    message: str = Field(description="for people")


class Delta(ServerMessage):
    """A piece of a draft: from `offset` (characters) on, the draft is `text`. Not stored, and not sent again."""

    type: Literal["delta"] = "delta"
    draft_id: str = Field(description="the draft's id")
    kind: Literal["plan", "code", "tests", "answer", "verdict", "node"] = Field(description="what is being written")
    offset: int = Field(description="characters before `text`")
    text: str = Field(description="from `offset` on, the draft is this")
    wait: Annotated[
        int | None,
        Field(
            exclude_if=is_none,
            description="seconds that the model's server asks to wait from now on; absent: the draft goes on",
        ),
    ] = None


class Usage(ServerMessage):
    """The session's usage so far."""

    type: Literal["usage"] = "usage"
    calls: int = Field(description="the number of model calls")
    prompt_tokens: int = Field(description="tokens sent")
    cached_tokens: int = Field(description="prompt tokens that the provider served from its cache")
    completion_tokens: int = Field(description="tokens received")
    cost: float = Field(description="US dollars")
    token_budget: int | None = Field(None, description="the largest number of tokens; none: no limit")
    cost_budget: float | None = Field(None, description="the largest cost in US dollars; none: no limit")
    tool_calls: Annotated[
        int | None, Field(exclude_if=is_none, description="tool calls so far; absent where no budget limits them")
    ] = None
    call_budget: Annotated[
        int | None,
        Field(
            exclude_if=is_none,
            description="the largest number of tool calls, polls included; none: no limit",
        ),
    ] = None
    seconds: Annotated[
        float | None,
        Field(exclude_if=is_none, description="seconds of work so far; absent where no budget limits it"),
    ] = None
    time_budget: Annotated[
        int | None,
        Field(exclude_if=is_none, description="the largest working time of all services in seconds; none: no limit"),
    ] = None


class Forked(ServerMessage):
    """A new session was forked from this one."""

    type: Literal["forked"] = "forked"
    fork_id: str = Field(description="the id of the new session")


class Error(ServerMessage):
    """A refused message. Nothing has changed. `code` is for programs, `message` and `hint` are for people."""

    type: Literal["error"] = "error"
    code: str = Field(description="the code of the error: see [errors](#errors)")
    message: str = Field(description="for people")
    hint: str = Field("", description="what to do about it")
    content: str = Field("", description="the message again")  # the message again, where older clients look for it
    reply_to: str | None = Field(None, description="the `id` of the message that was refused, if it had one")
    retry_after: int | None = Field(None, description="seconds after which to try again, where that is known")
    steps: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        exclude_if=is_empty,
        description='the problems of an execution plan\'s steps, by step id; `""` for those of the whole plan',
    )


class Snapshot(ServerMessage):
    """The whole state of a session, for a screen."""

    type: Literal["snapshot"] = "snapshot"
    state: str = Field(description="where the session stands, in one word: see [states](#states)")
    phase: str = Field(description="the phase of the machine")
    reason: str = Field(
        description="why it rests: `answered`, `completed`, `stopped`; `new` before and during the first request"
    )
    paused: bool = Field(description="true: no new step begins")
    title: str = Field(description="the session's title")
    owner: str = Field(description="whose session it is")
    workflow: Workflow = Field(description="the name of the workflow that the session follows")
    settings: SessionSettings = Field(description="the session's settings")
    request: str = Field(description="the request of this round")
    unread: tuple[str, ...] = Field(description="messages sent during work that no draft has used yet")
    plan: PlanView | None = Field(description="the newest plan")
    code: CodeView | None = Field(description="the newest code")
    turn: TurnView | None = Field(description="the newest turn")
    path: PathView | None = Field(None, description="the path as planned and as it runs; none: no flow is walked")
    memory: MemoryView = Field(description="what is remembered of the request at hand")
    answer: str = Field(description="the answer of this round")
    answer_view: AnswerView | None = Field(
        description="the answer with its confidence and evidence; none: there is none yet"
    )
    failure: FailureView | None = Field(description="the failure, and whether `retry` can help")
    review: TextPlanReview | CodeReview | None = Field(description="the plan or code in review")
    feedback_request: FeedbackRequest | None = Field(description="set while Parley waits for feedback")
    question: Question | None = Field(description="the open question")
    approval_request: ApprovalRequest | None = Field(description="the actions that wait for approval")
    continue_: Annotated[Continue | None, Field(alias="continue", description="what can be done next, at rest")] = None
    draft: Delta | None = Field(None, description="the draft that is being written")
    usage: Usage = Field(description="what was spent so far")
    can: tuple[str, ...] = Field(
        description="the client messages that would be accepted now (`edit_code` is `edit` with `target: code`)"
    )
    parent: str | None = Field(None, description="the session it was forked from")

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)


AnyServerMessage = Annotated[
    Greeting
    | Log
    | EventMessage
    | TextPlanReview
    | CodeReview
    | FeedbackRequest
    | Question
    | ApprovalRequest
    | Continue
    | Completion
    | Answer
    | Completed
    | Stopped
    | StageFailed
    | Delta
    | Usage
    | Forked
    | Error
    | Snapshot,
    Field(discriminator="type"),
]
SERVER_MESSAGES: TypeAdapter[AnyServerMessage] = TypeAdapter(AnyServerMessage)


def dump(message: ServerMessage) -> dict[str, Any]:
    """The message as JSON-ready data."""
    return message.model_dump(mode="json", by_alias=True)
