"""What every event carries, whatever it tells."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from shared.events.values import SessionId


class Event(BaseModel):
    """A fact of one session: frozen, in the past tense, never changed once stored.

    `version` counts the accepted events of its session, 1..n. `schema` is the version of the event's own shape.
    `causation_id` is the id of the event that led to this one. `actor` is `user:<id>`, or the name of a service.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, defer_build=True, serialize_by_alias=True
    )

    id: Annotated[str, Field(min_length=1, max_length=300)]
    session_id: SessionId
    version: Annotated[int, Field(ge=1)]
    causation_id: str | None = None
    at: AwareDatetime
    actor: Annotated[str, Field(min_length=1, max_length=200)]
    schema_: Annotated[Literal[1], Field(alias="schema")] = 1
