"""What a client sends over `/ws`: one JSON object a message, told apart by `type`.

Every message may carry `id` (its own: sent twice, it is done once) and `session_id` (else the socket's session).
"""

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, StrictBool, TypeAdapter

from parley.events.values import Line, SessionId, Text, ToolPolicy, Workflow
from parley.protocol.bounds import (
    MAX_COST,
    MAX_TOKENS,
    MAX_VERSION,
    Hash,
    IdOrEmpty,
    OwnAction,
    OwnPlan,
    Preapproved,
    SentKnowledge,
    SentSteps,
    Settings,
    Version,
    Words,
)


class ClientMessage(BaseModel):
    # defer_build: a process uses few of these, and a validator takes a moment to make
    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, defer_build=True)

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    session_id: SessionId | None = None


class UserMessage(ClientMessage):
    """A request; a remark on what is in review, or at rest; the answer to an open question; a word during work.

    The first one of a session can bring a `plan` for the workflows that have one.
    """

    type: Literal["user_message"]
    content: Text
    workflow: Workflow | None = None
    settings: Settings | None = None
    knowledge: SentKnowledge = ()
    plan: OwnPlan | None = None


class Approval(ClientMessage):
    """Yes or no to what is in review. Without a version it means the one last shown on this socket.

    Of a plan that acts: `preapprove` names steps whose calls are allowed with whatever values their references get.
    Without `start` nothing begins before a `retry`.
    """

    type: Literal["approval"]
    approved: StrictBool  # a yes is never guessed from a word or a number
    version: Version | None = Field(None, validation_alias=AliasChoices("version", "plan_version", "code_version"))
    hash: Hash | None = None
    action_id: IdOrEmpty | None = None
    remember: StrictBool = False
    reason: Annotated[str, Field(max_length=2_000)] = ""
    preapprove: Preapproved = ()
    start: StrictBool = True


class Feedback(ClientMessage):
    """What should be different about the plan or code in review."""

    type: Literal["feedback"]
    content: Text


class Replan(ClientMessage):
    """Something else instead: another plan, or other code for the same plan."""

    type: Literal["replan"]
    plan_type: Literal["text", "code"] | None = None
    version: Version | None = None


class Edit(ClientMessage):
    """A person's own version: `steps` (or the whole plan as text in `content`), or `content` as code."""

    type: Literal["edit"]
    target: Literal["plan", "code"] = "plan"
    version: Version
    goal: Line | None = None
    steps: SentSteps | None = None
    notes: Words | None = None
    content: Text | None = None


class QuestionReply(ClientMessage):
    """The answer to the open question (the same as `answer`)."""

    type: Literal["question"]
    content: Text
    question_id: IdOrEmpty | None = None


class AnswerReply(ClientMessage):
    """The answer to the open question."""

    type: Literal["answer"]
    content: Text
    question_id: IdOrEmpty | None = None


class ContinueChoice(ClientMessage):
    """One of the options of `continue`, or a new request in `content`."""

    type: Literal["continue"]
    content: Words = ""


class Complete(ClientMessage):
    """Done for now."""

    type: Literal["complete"]


class Run(ClientMessage):
    """Run the approved code in the sandbox."""

    type: Literal["run"]
    stdin: Annotated[str, Field(max_length=50_000)] = ""
    args: Annotated[tuple[Line, ...], Field(max_length=20)] = ()


class Stop(ClientMessage):
    """Stop at once: what is being drafted is dropped."""

    type: Literal["stop"]
    reason: Annotated[str, Field(max_length=500)] = ""


class Pause(ClientMessage):
    """Let the present step end, and begin no other."""

    type: Literal["pause"]


class Unpause(ClientMessage):
    """Go on after `pause`."""

    type: Literal["unpause"]


class Skip(ClientMessage):
    """Do not run this action. The steps that use its output go on with the `output` given here, or are skipped, too."""

    type: Literal["skip"]
    action_id: IdOrEmpty
    output: JsonValue = None
    with_dependents: StrictBool = False


class Cancel(ClientMessage):
    """Give the plan up."""

    type: Literal["cancel"]


class DeletePlan(ClientMessage):
    """Delete the plan, while nobody works on it; the journal keeps it."""

    type: Literal["delete_plan"]


class Retry(ClientMessage):
    """Do the stage again that failed or was stopped."""

    type: Literal["retry"]


class TakeOver(ClientMessage):
    """Plan the turn yourself, after an escalation."""

    type: Literal["take_over"]
    sub_goal: Text
    actions: Annotated[tuple[OwnAction, ...], Field(min_length=1, max_length=50)]


class HandBack(ClientMessage):
    """Give an escalated session back to the planner, with a word about it."""

    type: Literal["hand_back"]
    content: Text


class EditPath(ClientMessage):
    """Another rest of the path that is being walked, and values set in its flow's state on the way."""

    type: Literal["edit_path"]
    after: IdOrEmpty = ""
    nodes: Annotated[tuple[Line, ...], Field(max_length=60)]
    given: Annotated[dict[Line, JsonValue], Field(max_length=50)] = Field(default_factory=dict)


class Judge(ClientMessage):
    """The answer is (not) what was wanted. Accepted, its path is an example for later; saved, it is in the library."""

    type: Literal["judge"]
    accepted: StrictBool
    saved: StrictBool = False


class Remember(ClientMessage):
    """From now on in this session, this approval policy for this tool."""

    type: Literal["remember"]
    tool: Line
    policy: ToolPolicy


class RaiseBudget(ClientMessage):
    """Allow more tokens, money (US dollars), calls of tools, or seconds of work."""

    type: Literal["raise_budget"]
    tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)] = 0
    cost: Annotated[float, Field(ge=0, le=MAX_COST, allow_inf_nan=False)] = 0
    calls: Annotated[int, Field(ge=0, le=MAX_TOKENS)] = 0
    seconds: Annotated[int, Field(ge=0, le=MAX_TOKENS)] = 0


class Rename(ClientMessage):
    """Give the session a title."""

    type: Literal["rename"]
    title: Line


class ChooseWorkflow(ClientMessage):
    """The workflow of the next request."""

    type: Literal["choose_workflow"]
    workflow: Workflow


class SaveToLibrary(ClientMessage):
    """Keep the answer and how it was found: the same as `judge` with `accepted` and `saved`."""

    type: Literal["save_to_library"]
    name: Line | None = None


class Fork(ClientMessage):
    """Begin a new session from this one as it was at `version` (default: now)."""

    type: Literal["fork"]
    version: Version | None = None


class Resume(ClientMessage):
    """Put this socket on a session: a snapshot, every event after `after`, then live."""

    type: Literal["resume"]
    after: Annotated[int, Field(ge=0, le=MAX_VERSION)] = 0


class Close(ClientMessage):
    """The socket leaves; the session does not."""

    type: Literal["close"]


AnyClientMessage = Annotated[
    UserMessage
    | Approval
    | Feedback
    | Replan
    | Edit
    | QuestionReply
    | AnswerReply
    | ContinueChoice
    | Complete
    | Run
    | Stop
    | Pause
    | Unpause
    | Skip
    | Cancel
    | DeletePlan
    | Retry
    | TakeOver
    | HandBack
    | EditPath
    | Judge
    | Remember
    | RaiseBudget
    | Rename
    | ChooseWorkflow
    | SaveToLibrary
    | Fork
    | Resume
    | Close,
    Field(discriminator="type"),
]
CLIENT_MESSAGES: TypeAdapter[AnyClientMessage] = TypeAdapter(AnyClientMessage)
