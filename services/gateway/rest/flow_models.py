"""What REST takes and answers about flows, planned paths and chats."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool

from parley.events.values import Confirm, Line, Planning, SessionId, Text
from parley.protocol.flows import FlowSpec
from parley.protocol.server import ApprovalRequest, FailureView, NodeProposalView, Question, TextPlanReview
from services.gateway.rest.models import Answer

LEAST_WAIT, MOST_WAIT = 5.0, 600.0  # seconds that a request waits for its session


class FlowView(FlowSpec):
    """A flow with its ordinary way from the first node to an end."""

    full_path: tuple[Line, ...]


class FlowList(Answer):
    """`troubles`: flows that could not be loaded, and why."""

    flows: tuple[FlowView, ...]
    troubles: tuple[str, ...] = ()


class ChatMessage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: Text


class Asked(BaseModel):
    """What both ways to ask for a path have in common. What is not given stays as it is by default, or in the session.

    `id` is your own id of this request: sent twice, it is done once. `timeout` in seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    flow: Annotated[str, Field(max_length=500)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2, strict=True)] | None = None
    max_retries: Annotated[int, Field(ge=1, le=10, strict=True)] | None = None
    fallback_enabled: StrictBool | None = None
    cache: StrictBool | None = None

    def planning(self, now: Planning) -> Planning:
        """`now` with what was asked for."""
        named = {name: getattr(self, name) for name in Planning.model_fields if name in self.model_fields_set}
        return now.model_copy(update={name: value for name, value in named.items() if value is not None})


class PlanRequest(Asked):
    """A request whose path is wanted, and what was said before it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"request": "How many orders are pending?", "flow": "text_to_sql"}]}
    )

    request: Text
    messages: Annotated[tuple[ChatMessage, ...], Field(max_length=200)] = ()
    timeout: Annotated[float, Field(ge=LEAST_WAIT, le=MOST_WAIT, strict=True)] = 60.0


class ChatRequest(Asked):
    """A conversation whose last message is the user's: the request of a new session, which may go on from the messages
    before it; or the next word in `session_id`, which knows the earlier ones: an answer to what it asks, or another
    request.

    Without `use_planning` the full graph is walked, of `flow` or of the first flow. `confirm`: where the path stops for
    a person. `stream`: told as it happens.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"messages": [{"role": "user", "content": "How many orders are pending?"}], "use_planning": True},
                {"messages": [{"role": "user", "content": "Only in Texas"}], "session_id": "b3c1d09e5f6a7788"},
            ]
        }
    )

    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1, max_length=200)]
    use_planning: StrictBool = True
    session_id: SessionId | None = None
    confirm: Confirm = "nothing"
    stream: StrictBool = False
    timeout: Annotated[float, Field(ge=LEAST_WAIT, le=MOST_WAIT, strict=True)] = 120.0


class PathToCheck(BaseModel):
    """A path as a person has it now: its nodes as `<flow>.<node>`, and the values that they set by hand."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: Annotated[tuple[Line, ...], Field(max_length=60)]
    given: Annotated[dict[Line, JsonValue], Field(max_length=50)] = Field(default_factory=dict)


class LibraryQuery(BaseModel):
    """Which entries to list: `q` in request, question or SQL (every word)."""

    model_config = ConfigDict(frozen=True)

    q: Annotated[str, Field(max_length=500)] = ""
    saved: bool | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 50
    offset: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0


class FlowPath(Answer):
    """Nodes of one flow, in order."""

    flow: str
    nodes: tuple[str, ...]


class Walk(Answer):
    """How a session stands, and its path. `path`: as it is now, walked and to come; nodes are `<flow>.<node>`."""

    session_id: str
    version: int
    state: str
    path: tuple[str, ...] = ()
    fallback: bool = False
    why: str = ""
    cached: bool = False
    question: Question | None = None
    failure: FailureView | None = None


class PathReply(Walk):
    """The planned path, not yet walked: `version` and `hash` are what an approval names. `paths`: flow by flow.

    With a `question`, or a `failure`, there is none.
    """

    hash: str = ""
    paths: tuple[FlowPath, ...] = ()
    planned_execution_path: tuple[str, ...] = ()
    attempts: int = 0
    reasoning: str = ""
    proposal: NodeProposalView | None = None


class PathMetadata(Answer):
    """The path as it was planned, and the position in `path`, from 0."""

    planned_execution_path: tuple[str, ...] = ()
    current_path_index: int = 0


class ChatReply(Walk):
    """Where the session has come to: its `answer` or `failure`, or what it waits for: an answer to its `question`, the
    `approval` of an action, or a yes to the path in `review`. To a remark the `answer` is the reply in words.

    `sql` and `result`: what the path made under these names, if it did.
    """

    answer: str = ""
    approval: ApprovalRequest | None = None
    review: TextPlanReview | None = None
    metadata: PathMetadata = PathMetadata()
    walked: tuple[str, ...] = ()
    sql: str = ""
    result: JsonValue = None
