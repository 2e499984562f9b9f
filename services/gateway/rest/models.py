"""Models of requests and responses that are neither protocol messages nor plan_store's, and routes' parameters."""

from typing import Annotated, Self

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from parley.events.values import SESSION_ID, Line, Text, Workflow
from parley.protocol.bounds import Arguments, SentKnowledge, SentTimeZone, Settings
from services.gateway.api_errors import ApiError

PROBLEM_MEDIA_TYPE = "application/problem+json"  # the media type of RFC 9457
SessionId = Annotated[str, Path(pattern=SESSION_ID)]
ActionId = Annotated[str, Path(min_length=1, max_length=64)]
Version = Annotated[int, Path(ge=1, le=2**48)]
From = Annotated[int, Query(alias="from", ge=1, le=2**48)]
To = Annotated[int, Query(alias="to", ge=1, le=2**48)]
OfSession = Annotated[str | None, Query(pattern=SESSION_ID)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000)]


class ResponseModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProblemDetails(ResponseModel):
    """Why a request was refused: an RFC 9457 problem with the fields of an `error` on `/ws`. `code` is for programs.

    Nothing has changed. After `timed_out` the session goes on; `session_id` is its id.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    message: str
    hint: str = ""
    reply_to: str | None = None
    session_id: str | None = None

    @classmethod
    def of(cls, error: ApiError, status: int | None = None) -> Self:
        """The problem for this error. `status` overrides the error's own."""
        return cls(
            type=f"urn:parley:problem:{error.code}",
            title=error.code.replace("_", " ").capitalize(),
            status=status or error.status,
            detail=f"{error.message} {error.hint}".strip(),
            code=error.code,
            message=error.message,
            hint=error.hint,
            reply_to=error.reply_to,
            session_id=error.session_id,
        )


class AboutMe(ResponseModel):
    """`everything`: this user sees all sessions, not only their own."""

    user: str
    everything: bool
    auth: str
    model: str
    rehearsal: bool
    can_run_code: bool
    workflows: tuple[Workflow, ...]


class Ticket(ResponseModel):
    """A ticket that opens one socket, once, within so many seconds."""

    ticket: str
    seconds: int


class NewSession(BaseModel):
    """The first request of a session. With an `id`, sending it twice creates only one session."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    request: Text
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    workflow: Workflow | None = None
    settings: Settings | None = None
    knowledge: SentKnowledge = ()
    time_zone: SentTimeZone = None


class ToolCall(BaseModel):
    """A tool call to preview."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: Line
    arguments: Arguments = Field(default_factory=dict)


class Accepted(ResponseModel):
    """`version`: of the last event that the message caused. `fork_id`: the new session of a `fork`."""

    session_id: str
    version: int
    fork_id: str | None = None


class Alive(ResponseModel):
    alive: bool = True


class Readiness(ResponseModel):
    """`checks`: by name, "ok" or what is missing."""

    ready: bool
    checks: dict[str, str]


class SessionQuery(BaseModel):
    """Filters of the session list: every word of `q` occurs in the session; `state` is the state shown to clients."""

    model_config = ConfigDict(frozen=True)

    q: Annotated[str, Field(max_length=500)] = ""
    state: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    limit: Annotated[int, Field(ge=1, le=1000)] = 50
    offset: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
