"""What REST answers where no message of the protocol and no answer of plan_store says it already."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from parley.events.values import Line, Text, Workflow
from parley.protocol.bounds import Arguments, SentKnowledge, Settings
from services.gateway.trouble import Trouble

PROBLEM = "application/problem+json"  # the media type of RFC 9457


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Problem(Answer):
    """Why a request was refused, as RFC 9457 has it, and as `/ws` tells it: `code` for programs, the rest for people.

    Nothing has changed. After `timed_out` the session goes on: `session_id` is its id.
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
    def of(cls, trouble: Trouble, status: int | None = None) -> Self:
        """`status` where it is another one than the code's own."""
        return cls(
            type=f"urn:parley:problem:{trouble.code}",
            title=trouble.code.replace("_", " ").capitalize(),
            status=status or trouble.status,
            detail=f"{trouble.message} {trouble.hint}".strip(),
            code=trouble.code,
            message=trouble.message,
            hint=trouble.hint,
            reply_to=trouble.reply_to,
            session_id=trouble.session_id,
        )


class AboutMe(Answer):
    """`everything`: all sessions are shown, not only one's own."""

    user: str
    everything: bool
    auth: str
    model: str
    rehearsal: bool
    can_run_code: bool
    workflows: tuple[Workflow, ...]


class Ticket(Answer):
    """Opens one socket, once, within so many seconds."""

    ticket: str
    seconds: int


class NewSession(BaseModel):
    """A first request. `id` makes sending it twice begin one session."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    request: Text
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    workflow: Workflow | None = None
    settings: Settings | None = None
    knowledge: SentKnowledge = ()


class Call(BaseModel):
    """A call of a tool that a person thinks of making."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: Line
    arguments: Arguments = Field(default_factory=dict)


class Accepted(Answer):
    """`version` is that of the last event the message made; `fork_id` the new session of a `fork`."""

    session_id: str
    version: int
    fork_id: str | None = None


class Alive(Answer):
    alive: bool = True


class Readiness(Answer):
    """`checks`: "ok", or what is missing, by name."""

    ready: bool
    checks: dict[str, str]


class SessionQuery(BaseModel):
    """Which sessions to list: `q` in title or requests (every word), `state` as clients name it."""

    model_config = ConfigDict(frozen=True)

    q: Annotated[str, Field(max_length=500)] = ""
    state: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    limit: Annotated[int, Field(ge=1, le=1000)] = 50
    offset: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
