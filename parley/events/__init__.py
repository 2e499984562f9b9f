"""Every fact a session can record (`facts`), as one discriminated union with its JSON.

Subject: `session.<session_id>.<due>.<type>`; who is due is computed by `shared.domain`.
"""

from typing import Annotated, Literal, get_args

from pydantic import Field, JsonValue, TypeAdapter

from parley.events import envelope, facts
from parley.events.envelope import Event
from parley.events.upcasting import UPCASTERS, lift
from parley.events.values import Service

type Due = Service | Literal["user", "nobody"]

SessionEvent = Annotated[
    facts.MessageReceived
    | facts.RemarkAnswered
    | facts.PlanDrafted
    | facts.PlanEdited
    | facts.PlanApproved
    | facts.PlanRejected
    | facts.PlanCancelled
    | facts.PlanDeleted
    | facts.CodeDrafted
    | facts.CodeEdited
    | facts.CodeVerified
    | facts.CodeApproved
    | facts.CodeRejected
    | facts.QuestionAsked
    | facts.QuestionAnswered
    | facts.TurnPlanned
    | facts.TurnRequested
    | facts.TurnChanged
    | facts.ApprovalGiven
    | facts.ApprovalDenied
    | facts.ApprovalExpired
    | facts.ActionsStarted
    | facts.ActionsWaiting
    | facts.ActionsWoken
    | facts.ActionPolled
    | facts.ActionsFinished
    | facts.ResultStored
    | facts.ResultLost
    | facts.ActionSkipped
    | facts.ActionUncertain
    | facts.TurnVerified
    | facts.AnswerGiven
    | facts.AnswerJudged
    | facts.UsageRecorded
    | facts.BudgetRaised
    | facts.PolicySet
    | facts.SessionStopped
    | facts.SessionPaused
    | facts.SessionResumed
    | facts.SessionFailed
    | facts.SessionRetried
    | facts.SessionCompleted
    | facts.SessionForked
    | facts.SessionRenamed
    | facts.SessionShared
    | facts.WorkflowChanged,
    Field(discriminator="type"),
]

EVENT_CLASSES: tuple[type[Event], ...] = get_args(get_args(SessionEvent)[0])
EVENTS: TypeAdapter[SessionEvent] = TypeAdapter(SessionEvent)
BODY: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


def parse_event(body: bytes | str) -> SessionEvent:
    """A stored body as an event.

    Raises pydantic.ValidationError (a ValueError) for whatever is not an event of a known type and shape.
    """
    if UPCASTERS:
        body = _lifted(body)
    return EVENTS.validate_json(body)


def _lifted(body: bytes | str) -> bytes | str:
    """What is no object of JSON, or not of the older shape, is left to the parser, which says so."""
    try:
        return BODY.dump_json(lift(BODY.validate_json(body), UPCASTERS))
    except (ValueError, LookupError, TypeError, AttributeError):  # whatever an upcaster meets in a stranger's message
        return body


def dump_event(event: SessionEvent) -> bytes:
    """The stored body: compact JSON with every field, but for those of the envelope that say nothing."""
    return event.model_dump_json().encode()


__all__ = ["EVENTS", "EVENT_CLASSES", "Due", "Event", "SessionEvent", "dump_event", "envelope", "facts", "parse_event"]
