"""decide: what a command makes of the session: one fact, or a refusal that says why. Pure and total.

`people.py`, `reviews.py` and `workers.py` hold the rules of the two kinds of commands.
"""

from pydantic import ValidationError

from parley.events import Due, SessionEvent, envelope
from parley.events.problems import sentences
from shared.domain import commands as c
from shared.domain.admissible import admissible
from shared.domain.commands import CommandMeta
from shared.domain.consequences import followed
from shared.domain.errors import Invalid, Repeated, need
from shared.domain.event_meta import event_id
from shared.domain.people import PersonCommand, decide_person
from shared.domain.session import Session
from shared.domain.workers import WorkerCommand, decide_worker

AnyCommand = PersonCommand | WorkerCommand


def decide(session: Session, command: AnyCommand, meta: CommandMeta) -> SessionEvent:
    """The one event that carries this command out now.

    Raises a `Refused` (errors.py) and changes nothing where the session does not allow it.
    """
    return decided(session, command, meta)[0]


def decided(session: Session, command: AnyCommand, meta: CommandMeta) -> tuple[SessionEvent, Session]:
    """The event as `decide` gives it, and the session after it. Raises a `Refused`."""
    event, after = followed(session, bare(session, command, meta))
    if wrong := admissible(session, event):
        raise AssertionError(f"{event.type} was decided, and no reader of the log would take it: {wrong}")
    return event, after


def bare(session: Session, command: AnyCommand, meta: CommandMeta) -> SessionEvent:
    """The same event, but for the actions that it ends and begins: to know whether the command is refused. Raises a
    `Refused`."""
    if meta.id is not None and event_id(session, meta, "") in session.recent_commands:
        raise Repeated("This command has been carried out already; nothing was done twice.")
    begins = session.version > 0 or isinstance(command, (c.Say, c.Fork, c.BeginFor))
    need(begins, "There is no such session yet: begin it with a user_message.")
    try:
        return _by_newest_rules(session, _event(session, command, meta))
    except ValidationError as error:
        raise Invalid(sentences(error.errors(), whole="command")) from error


def _event(session: Session, command: AnyCommand, meta: CommandMeta) -> SessionEvent:
    if isinstance(command, PersonCommand):
        _own_id(meta)
        return decide_person(session, command, meta)
    return decide_worker(session, command, meta)


def _by_newest_rules(session: Session, event: SessionEvent) -> SessionEvent:
    """A session goes over to the rules of this release when it is at rest: nothing that was begun by older ones is left
    to be ended by newer ones."""
    rests = session.phase == "resting" and session.resume_phase is None
    if rests and session.rules < envelope.RULES:
        return event.model_copy(update={"rules": envelope.RULES})
    return event


def due(after: Session) -> Due:
    """Who is due by the event that led to `after`: a service on that one event, else a person or nobody."""
    if after.work and after.work.version == after.version:
        return after.work.service
    return "user" if after.asking else "nobody"


def _own_id(meta: CommandMeta) -> None:
    """A worker's event ids begin with a version: a person's must not, or it would pass for one of them."""
    first, colon, _ = (meta.id or "").partition(":")
    if colon and first.isdigit():
        raise Invalid("A command's id must not begin with a number and a colon.")
