"""decide: turns a command into one event, or refuses it with a reason. Pure; handles every command.

`user_commands.py`, `reviews.py` and `worker_commands.py` hold the rules of the two kinds of commands.
"""

from pydantic import ValidationError

from parley.events import Due, SessionEvent
from parley.events.problems import problem_sentences
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import AlreadyDone, Forbidden, Invalid, OutOfTurn, Repeated, Stale, require
from shared.domain.kernel.session import Session
from shared.domain.kernel.storable import storable
from shared.domain.plan.decisions import who_decided_first
from shared.domain.rules.admissible import admissible
from shared.domain.rules.consequences import with_consequences
from shared.domain.rules.event_meta import event_id
from shared.domain.rules.permissions import denial
from shared.domain.rules.user_commands import UserCommand, decide_user_command
from shared.domain.rules.worker_commands import WorkerCommand, decide_worker_command

AnyCommand = UserCommand | WorkerCommand


def decide(session: Session, command: AnyCommand, meta: CommandMeta) -> SessionEvent:
    """The one event that carries out the command.

    Raises a subclass of CommandRefused (errors.py) if the session does not allow the command.
    """
    return decide_and_evolve(session, command, meta)[0]


def decide_and_evolve(session: Session, command: AnyCommand, meta: CommandMeta) -> tuple[SessionEvent, Session]:
    """The event that `decide` returns, and the session after it. Raises CommandRefused."""
    event, after = with_consequences(session, decide_without_consequences(session, command, meta))
    if wrong := admissible(session, event):
        raise AssertionError(f"{event.type} was decided, but readers of the log would refuse it: {wrong}")
    return event, after


def decide_without_consequences(session: Session, command: AnyCommand, meta: CommandMeta) -> SessionEvent:
    """The event without the actions that it ends and begins: enough to know whether the command is refused.

    Raises CommandRefused.
    """
    if meta.id is not None and event_id(session, meta, "") in session.recent_commands:
        raise Repeated("This command has been carried out already; nothing was done twice.")
    begins = session.version > 0 or isinstance(command, (c.Say, c.Fork, c.BeginFor))
    require(begins, "There is no such session yet: begin it with a user_message.")
    try:
        event = _event(session, storable(command), meta)
    except ValidationError as error:
        raise Invalid(problem_sentences(error.errors(), whole="command")) from error
    except (OutOfTurn, Stale, AlreadyDone) as refusal:
        if first := who_decided_first(session.decisions, command, meta.actor):
            raise type(refusal)(f"{first} {refusal}") from refusal
        raise
    if wrong := denial(session, event):
        raise Forbidden(f"{wrong}. Fork the session to continue on your own.")
    return event


def _event(session: Session, command: AnyCommand, meta: CommandMeta) -> SessionEvent:
    if isinstance(command, UserCommand):
        _check_own_id(meta)
        return decide_user_command(session, command, meta)
    return decide_worker_command(session, command, meta)


def due(after: Session) -> Due:
    """Who is due after the event that led to `after`: a service, the user, or nobody."""
    for work in after.works:
        if work.version == after.version:
            return work.service
    return "user" if after.is_awaiting_user else "nobody"


def _check_own_id(meta: CommandMeta) -> None:
    """Raises Invalid for a user's command id that looks like a worker's: those begin with a version number."""
    first, colon, _ = (meta.id or "").partition(":")
    if colon and first.isdigit():
        raise Invalid("A command's id must not begin with a number and a colon.")
