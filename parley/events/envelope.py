"""What every event carries, whatever it tells, and how much of it each release reads."""

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from parley.events.values import ActionId, Ended, ModelCall, SessionId, Stored

FORMAT = 2  # the newest format that this release reads
RULES = 1  # the newest rules by which this release folds

Number = Annotated[int, Field(ge=1)]


def _is_empty(value: tuple[object, ...]) -> bool:
    return not value


class Event(Stored):
    """A fact of one session: frozen, in the past tense, never changed once stored.

    `version` counts the accepted events of its session, 1..n. `causation_id` is the id of the event that led to this
    one. `actor` is `user:<id>`, the name of a service, or `keeper`. `needs` is the format that a reader must know: a
    release whose FORMAT is lower does not fold the event. `rules` raises the session's number of rules to this one.
    `usage`: the model calls that are accounted with this event. `ended`: the actions that this event ends without an
    outcome of their own, and why. `begins`: the quiet reads that it sets running. What says nothing is not stored.
    """

    id: Annotated[str, Field(min_length=1, max_length=300)]
    session_id: SessionId
    version: Number
    causation_id: str | None = None
    at: AwareDatetime
    actor: Annotated[str, Field(min_length=1, max_length=200)]
    needs: Number = Field(1, exclude_if=lambda needs: needs == 1)
    rules: Number | None = Field(None, exclude_if=lambda rules: rules is None)
    usage: Annotated[tuple[ModelCall, ...], Field(exclude_if=_is_empty)] = ()
    ended: Annotated[tuple[Ended, ...], Field(exclude_if=_is_empty)] = ()
    begins: Annotated[tuple[ActionId, ...], Field(exclude_if=_is_empty)] = ()

    @classmethod
    def type_name(cls) -> str:
        """What `type` holds in every event of this class: "plan.drafted"."""
        return str(cls.model_fields["type"].default)


class Head(BaseModel):
    """The part of an envelope that every release can read, whatever the event's type and shape are."""

    session_id: str
    version: int
    type: str
    needs: int = 1
    rules: int | None = None


def read_head(body: bytes | str) -> Head | None:
    """The head of a stored body; None where it has none."""
    try:
        return Head.model_validate_json(body)
    except ValidationError:
        return None


def is_newer(head: Event | Head) -> bool:
    """Whether only a newer release knows what this event means."""
    return head.needs > FORMAT or (head.rules or 1) > RULES
