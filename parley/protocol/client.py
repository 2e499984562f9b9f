"""The messages of clients on `/ws`: one JSON object per message, distinguished by `type`.

Every message may have an `id` (sent twice, it is carried out once) and a `session_id` (default: the socket's session).
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
    SentTimeZone,
    Settings,
    Version,
    Words,
)


class ClientMessage(BaseModel):
    # defer_build: building validators takes time, and a process uses few of them
    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, defer_build=True)

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = Field(
        None, description="your id of this message: a message that you send twice is carried out once"
    )
    session_id: SessionId | None = Field(None, description="the session meant; without it, the one the socket is on")


class UserMessage(ClientMessage):
    """A request, a question or a wish, or the answer to a question about the request. It withdraws nothing.

    A question that a call asks is answered by one of its options; anything else is a message beside it.

    The first message of a session can bring a `plan`, in workflows that have one.
    """

    type: Literal["user_message"]
    content: Text = Field(description="the message")
    workflow: Workflow | None = Field(None, description="the workflow to follow from now on; none: as before")
    settings: Settings | None = Field(None, description="the session's settings from now on; none: as before")
    knowledge: SentKnowledge = Field((), description="texts and files that came with the request")
    time_zone: SentTimeZone = Field(
        None,
        description="the IANA name of your time zone, such as `Europe/Berlin`, by which the session knows your day; "
        "one that the server does not know changes nothing",
    )
    plan: OwnPlan | None = Field(
        None, description="your own plan, with the first message of a session; Parley drafts none"
    )


class Approval(ClientMessage):
    """Approve or reject what is in review. Without a version it means the one last shown on this socket."""

    type: Literal["approval"]
    approved: StrictBool = Field(description="true to approve, false to reject")  # strict: "yes" or 1 is no approval
    version: Version | None = Field(
        None,
        validation_alias=AliasChoices("version", "plan_version", "code_version"),
        description="the version that you mean; `plan_version` and `code_version` are accepted too",
    )
    hash: Hash | None = Field(None, description="the `hash` you were shown; if given, the content must still have it")
    action_id: IdOrEmpty | None = Field(
        None, description="the action that you decide on; none: the plan or code in review"
    )
    remember: StrictBool = Field(
        False,
        description="remember the decision for this tool in this session: with true never ask again, with false "
        "never use it",
    )
    reason: Annotated[str, Field(max_length=2_000, description="why; may be empty")] = ""
    preapprove: Preapproved = Field(
        (),
        description="of an execution plan: steps whose calls you approve in advance, whatever values their "
        "references get",
    )
    start: StrictBool = Field(True, description="of an execution plan: false only approves it, and `retry` starts it")


class Feedback(ClientMessage):
    """Say what should be different about the plan or code in review."""

    type: Literal["feedback"]
    content: Text = Field(description="what should be different")


class Replan(ClientMessage):
    """Ask for a different plan, or for different code for the same plan."""

    type: Literal["replan"]
    plan_type: Literal["text", "code"] | None = Field(None, description="what is meant; none: what is in review")
    version: Version | None = Field(None, description="the version you want replaced; none: the newest")


class Edit(ClientMessage):
    """The user's own version: of a plan as `steps` or as text in `content`, of code as `content`."""

    type: Literal["edit"]
    target: Literal["plan", "code"] = Field("plan", description="what you edited")
    version: Version = Field(description="the version you edited")
    goal: Line | None = Field(None, description="what the plan is for, in a sentence")
    steps: SentSteps | None = Field(None, description="what to do, in order: steps, or their texts")
    notes: Words | None = Field(None, description="anything the steps do not say")
    content: Text | None = Field(None, description="a whole plan as text, or the whole program")


MORE = Field((), max_length=2, description="the answers to the questions that follow the open one, in their order")


class QuestionReply(ClientMessage):
    """The answer to the open question (the same as `answer`)."""

    type: Literal["question"]
    content: Text = Field(description="the answer")
    question_id: IdOrEmpty | None = Field(None, description="the question meant; none: the open one")
    more: tuple[Text, ...] = MORE


class AnswerReply(ClientMessage):
    """The answer to the open question."""

    type: Literal["answer"]
    content: Text = Field(description="the answer")
    question_id: IdOrEmpty | None = Field(None, description="the question meant; none: the open one")
    more: tuple[Text, ...] = MORE


class ContinueChoice(ClientMessage):
    """Choose one of the options of `continue`, or send a new request in `content`."""

    type: Literal["continue"]
    content: Words = Field("", description="one of the options offered, or a new request; empty asks what to do next")


class TakeOffer(ClientMessage):
    """Put the offer in the place of what waits or runs."""

    type: Literal["take_offer"]
    version: Version = Field(description="the version of the offer that was shown")


class KeepOffer(ClientMessage):
    """Keep what waits or runs, and turn the offer down."""

    type: Literal["keep_offer"]
    version: Version = Field(description="the version of the offer that was shown")


class Complete(ClientMessage):
    """Mark the session as done. A later message still goes on."""

    type: Literal["complete"]


class Run(ClientMessage):
    """Run the approved code in the sandbox."""

    type: Literal["run"]
    stdin: Annotated[str, Field(max_length=50_000, description="the program's standard input")] = ""
    args: Annotated[tuple[Line, ...], Field(max_length=20, description="its command line arguments")] = ()


class Stop(ClientMessage):
    """Stop at once. The current draft is dropped."""

    type: Literal["stop"]
    reason: Annotated[str, Field(max_length=500, description="why; may be empty")] = ""


class Pause(ClientMessage):
    """Let the current step end, and start no other."""

    type: Literal["pause"]


class Unpause(ClientMessage):
    """Resume after `pause`."""

    type: Literal["unpause"]


class Skip(ClientMessage):
    """Do not run this action. Steps that use its output get the `output` given here, or are skipped, too."""

    type: Literal["skip"]
    action_id: IdOrEmpty = Field(description="the action's id")
    output: JsonValue = Field(None, description="the output in the step's place: any JSON value but null")
    with_dependents: StrictBool = Field(
        False,
        description="true: also skip the steps that refer to its output; false: refuse, with their names, where "
        "there are any",
    )


class Cancel(ClientMessage):
    """Cancel the plan."""

    type: Literal["cancel"]


class DeletePlan(ClientMessage):
    """Delete the plan, while no service works on it. The journal keeps it."""

    type: Literal["delete_plan"]


class Retry(ClientMessage):
    """Repeat the stage that failed or was stopped."""

    type: Literal["retry"]


class TakeOver(ClientMessage):
    """Plan the turn yourself, after an escalation."""

    type: Literal["take_over"]
    sub_goal: Text = Field(description="what the turn is for")
    actions: Annotated[
        tuple[OwnAction, ...], Field(min_length=1, max_length=50, description="the tool calls of the turn")
    ]


class HandBack(ClientMessage):
    """Hand an escalated session back to the planner, with a message about it."""

    type: Literal["hand_back"]
    content: Text = Field(description="the message to the planner")


class EditPath(ClientMessage):
    """Change the rest of the running path, and set values in its flow's state."""

    type: Literal["edit_path"]
    after: IdOrEmpty = Field("", description="the newest started action on your screen; empty: none")
    nodes: Annotated[tuple[Line, ...], Field(max_length=60, description="what is left of the path from here on")]
    given: Annotated[dict[Line, JsonValue], Field(max_length=50)] = Field(
        default_factory=dict, description="values that the person sets in the flow's state, by name"
    )


class Judge(ClientMessage):
    """Accept or reject the answer."""

    type: Literal["judge"]
    accepted: StrictBool = Field(
        description="true: the person accepts the answer; its path is an example for later requests"
    )
    saved: StrictBool = Field(False, description="true: the person saves it to their library")


class Remember(ClientMessage):
    """Set the approval policy of a tool for the rest of the session."""

    type: Literal["remember"]
    tool: Line = Field(description="name of the tool")
    policy: ToolPolicy = Field(description="which calls of the tool need an approval")


class RaiseBudget(ClientMessage):
    """Allow more tokens, cost (US dollars), tool calls, or seconds of work."""

    type: Literal["raise_budget"]
    tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS, description="the number of tokens to add")] = 0
    cost: Annotated[float, Field(ge=0, le=MAX_COST, allow_inf_nan=False, description="US dollars to add")] = 0
    calls: Annotated[int, Field(ge=0, le=MAX_TOKENS, description="the number of tool calls to add")] = 0
    seconds: Annotated[int, Field(ge=0, le=MAX_TOKENS, description="the seconds of work to add")] = 0


class Rename(ClientMessage):
    """Give the session a title."""

    type: Literal["rename"]
    title: Line = Field(description="the session's title")


class ChooseWorkflow(ClientMessage):
    """Choose the workflow of the next request."""

    type: Literal["choose_workflow"]
    workflow: Workflow = Field(description="the workflow's name")


class SaveToLibrary(ClientMessage):
    """Save the answer and its path: the same as `judge` with `accepted` and `saved`."""

    type: Literal["save_to_library"]
    name: Line | None = Field(None, description="accepted from older clients, and not used")


class Fork(ClientMessage):
    """Begin a new session from this one as it was at `version` (default: now)."""

    type: Literal["fork"]
    version: Version | None = Field(None, description="as the session was at this version; none: now")


class Resume(ClientMessage):
    """Subscribe this socket to a session: a snapshot, every event after `after`, then live events."""

    type: Literal["resume"]
    after: Annotated[int, Field(ge=0, le=MAX_VERSION, description="the last version you know; 0: everything")] = 0


class Close(ClientMessage):
    """Close the socket. The session goes on."""

    type: Literal["close"]


SessionMessage = (
    UserMessage
    | Approval
    | Feedback
    | Replan
    | Edit
    | QuestionReply
    | AnswerReply
    | ContinueChoice
    | TakeOffer
    | KeepOffer
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
)  # those that a session decides on
AnyClientMessage = Annotated[SessionMessage | Fork | Resume | Close, Field(discriminator="type")]
CLIENT_MESSAGES: TypeAdapter[AnyClientMessage] = TypeAdapter(AnyClientMessage)
