"""Request and response models of flows, planned paths and chats."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool

from parley.events.values import Confirm, Line, Planning, SessionId, Text
from parley.protocol.bounds import SentTimeZone
from parley.protocol.screen import OfferSection
from parley.protocol.server import ApprovalRequest, FailureView, NodeProposalView, Question, TextPlanReview
from services.gateway.rest.models import ResponseModel

MIN_WAIT, MAX_WAIT = 5.0, 600.0  # seconds that a request may wait for its session


class ChatMessage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: Text


class PlanningRequest(BaseModel):
    """What requests for a path have in common. Missing fields keep their defaults, or the session's values.

    `id` is your own id of this request: sent twice, it is carried out once. `timeout` in seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    flow: Annotated[str, Field(max_length=500)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2, strict=True)] | None = None
    max_retries: Annotated[int, Field(ge=1, le=10, strict=True)] | None = None
    fallback_enabled: StrictBool | None = None
    cache: StrictBool | None = None
    time_zone: SentTimeZone = None

    def planning(self, current: Planning) -> Planning:
        """`current` with the fields of this request."""
        overrides = {name: getattr(self, name) for name in Planning.model_fields if name in self.model_fields_set}
        return current.model_copy(update={name: value for name, value in overrides.items() if value is not None})


class PlanRequest(PlanningRequest):
    """A request to plan a path for, and the messages before it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"request": "How many orders are pending?", "flow": "text_to_sql"}]}
    )

    request: Text
    messages: Annotated[tuple[ChatMessage, ...], Field(max_length=200)] = ()
    timeout: Annotated[float, Field(ge=MIN_WAIT, le=MAX_WAIT, strict=True)] = 60.0


class ChatRequest(PlanningRequest):
    """A conversation whose last message is the user's. Without `session_id` it starts a session, with the earlier
    messages as context. With one, it is the next message there: an answer to the open question, or another request.

    Without `use_planning` the full graph of `flow`, or of the first flow, runs. `confirm`: where the path waits for a
    person. `stream`: respond with events as they happen.
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
    timeout: Annotated[float, Field(ge=MIN_WAIT, le=MAX_WAIT, strict=True)] = 120.0


class PathToCheck(BaseModel):
    """A path that a person is editing: its nodes as `<flow>.<node>`, and the values that they set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: Annotated[tuple[Line, ...], Field(max_length=60)]
    given: Annotated[dict[Line, JsonValue], Field(max_length=50)] = Field(default_factory=dict)


class LibraryQuery(BaseModel):
    """Filters of the library: every word of `q` occurs in request, question or SQL."""

    model_config = ConfigDict(frozen=True)

    q: Annotated[str, Field(max_length=500)] = ""
    saved: bool | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 50
    offset: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0


class FlowNodes(ResponseModel):
    """Nodes of one flow, in order."""

    flow: str
    nodes: tuple[str, ...]


class PathStatus(ResponseModel):
    """A session's state and its path. `path`: the nodes that have run and those to come, as `<flow>.<node>`."""

    session_id: str
    version: int
    state: str
    path: tuple[str, ...] = ()
    fallback: bool = False
    why: str = ""
    cached: bool = False
    question: Question | None = None
    failure: FailureView | None = None


class PlannedPathReply(PathStatus):
    """A planned path that has not started: an approval names its `version` and `hash`. `paths`: by flow.

    There is none if there is a `question` or a `failure`.
    """

    hash: str = ""
    paths: tuple[FlowNodes, ...] = ()
    planned_execution_path: tuple[str, ...] = ()
    attempts: int = 0
    reasoning: str = ""
    proposal: NodeProposalView | None = None


class PathMetadata(ResponseModel):
    """The path as planned, and the position in `path`, from 0."""

    planned_execution_path: tuple[str, ...] = ()
    current_path_index: int = 0


class ChatReply(PathStatus):
    """The session's `answer` or `failure`, or what it waits for: an answer to its `question`, the `approval` of an
    action, the approval of the path in `review`, or a decision about the `offer`. `answer` is also the reply to a
    message.

    `sql` and `result`: the path's values with these names, if it made any.
    """

    answer: str = ""
    approval: ApprovalRequest | None = None
    review: TextPlanReview | None = None
    offer: OfferSection | None = None
    metadata: PathMetadata = PathMetadata()
    walked: tuple[str, ...] = ()
    sql: str = ""
    result: JsonValue = None
