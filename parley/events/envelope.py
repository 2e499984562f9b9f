"""The envelope of every event, and which formats this release reads."""

from typing import Annotated, ClassVar, Literal

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from parley.events.values import ActionId, Ended, ModelCall, Service, SessionId, Stored

FORMAT = 1  # the newest format that this release reads

Number = Annotated[int, Field(ge=1)]
Maker = Service | Literal["plan_store", "gateway"]


def _is_empty(value: tuple[object, ...]) -> bool:
    return not value


class Event(Stored):
    """A fact of one session: frozen, in the past tense, never changed once stored.

    Fields with their default value are not stored.
    """

    made_by: ClassVar[tuple[Maker, ...]] = ()  # services that NATS lets append it; the gateway for users

    id: Annotated[
        str,
        Field(
            min_length=1,
            max_length=300,
            description="unique and deterministic: `<session>:<command id>` of a person, `<session>:<work "
            "version>:<type>[:…]` of a service",
        ),
    ]
    session_id: SessionId = Field(description="the session")
    version: Number = Field(description="counts the accepted events of the session: 1, 2, 3 …")
    causation_id: str | None = Field(None, description="the id of the event that led to this one")
    at: AwareDatetime = Field(description="when it was decided, with its time zone")
    actor: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            description="`user:<id>` or a service; `keeper` is plan_store's scheduler, which ends overdue work and "
            "approvals",
        ),
    ]
    needs: Number = Field(
        1,
        exclude_if=lambda needs: needs == 1,
        description="the format that a reader must know to fold this event; left out where it is 1",
    )
    usage: Annotated[
        tuple[ModelCall, ...],
        Field(
            exclude_if=_is_empty,
            description="the model calls that this event accounts for; left out where there are none",
        ),
    ] = ()
    read_until: Annotated[
        Number | None,
        Field(
            exclude_if=lambda version: version is None,
            description="version of the newest message that this draft or reply takes in; left out where none came "
            "after the event that made the service due",
        ),
    ] = None
    names_session: str = Field(
        "",
        max_length=200,
        exclude_if=_is_empty,
        description="a title for the session, in place of the beginning of its first request; left out after the "
        "first reply",
    )
    ended: Annotated[
        tuple[Ended, ...],
        Field(
            exclude_if=_is_empty,
            description="actions that this event ends without an outcome of their own; left out where there are none",
        ),
    ] = ()
    begins: Annotated[
        tuple[ActionId, ...],
        Field(
            exclude_if=_is_empty,
            description="the quiet reads that start with this event, without an event of their own; left out where "
            "there are none",
        ),
    ] = ()

    @classmethod
    def type_name(cls) -> str:
        """The value of `type` in every event of this class, such as "plan.drafted"."""
        return str(cls.model_fields["type"].default)


class Head(BaseModel):
    """The part of the envelope that every release can read, whatever the event's type and shape."""

    session_id: str
    version: int
    type: str
    needs: int = 1


def read_head(body: bytes | str) -> Head | None:
    """The head of a stored body; None if it has none."""
    try:
        return Head.model_validate_json(body)
    except ValidationError:
        return None


def is_newer(head: Event | Head) -> bool:
    """Whether only a newer release can fold this event."""
    return head.needs > FORMAT
