"""A request over REST becomes what a person says in a session: the first word of a new one, or the next of another."""

from collections.abc import Callable, Sequence

from parley.events.values import Confirm, Knowledge, Planning, SessionSettings
from parley.protocol import client as m
from services.gateway import handlers
from services.gateway.access.users import User, may_write, missing
from services.gateway.flows import flow_page, known_flow
from services.gateway.live.following import Follower
from services.gateway.ports import Core
from services.gateway.rest.flow_models import Asked, ChatMessage, ChatRequest
from services.gateway.rest.models import Problem
from services.gateway.trouble import Trouble
from shared.domain.said import SAID_BEFORE
from shared.domain.session import SERVICE_OF, Session

REFUSALS: dict[int | str, dict[str, object]] = {
    400: {"model": Problem, "description": "The body cannot be read"},
    429: {"model": Problem, "description": "Too many requests wait at once"},
    504: {"model": Problem, "description": "Nothing came of it in time; the session goes on"},
}
REMEMBERED = 50_000  # characters of what was said before


def first(asked: Asked, words: str, before: Sequence[ChatMessage], *, confirm: Confirm) -> m.UserMessage:
    """The first request of a session."""
    settings = SessionSettings(confirm=confirm, planning=asked.planning(Planning()))
    said = "\n\n".join(f"{message.role}: {message.content}" for message in before)[-REMEMBERED:]
    knowledge = (Knowledge(name=SAID_BEFORE, text=said),) if said else ()
    return _message(asked, words, settings).model_copy(update={"knowledge": knowledge})


def following(asked: ChatRequest, words: str, session: Session) -> m.UserMessage:
    """The next word in a session, whose settings stay as they are but for what was asked for. Raises Trouble."""
    if session.version == 0:
        raise missing(session.id)
    confirm = asked.confirm if "confirm" in asked.model_fields_set else session.settings.confirm
    planning = asked.planning(session.settings.planning)
    return _message(asked, words, session.settings.model_copy(update={"confirm": confirm, "planning": planning}))


def _message(asked: Asked, words: str, settings: SessionSettings) -> m.UserMessage:
    return m.UserMessage(type="user_message", id=asked.id, content=words, workflow="flow", settings=settings)


async def say(
    asked: Asked, words: Callable[[Session], m.UserMessage], user: User, core: Core, follower: Follower
) -> int:
    """Say it, once; the version after it. Raises Trouble, a Refused, or one of AWAY."""
    if asked.flow:
        known_flow(asked.flow, await flow_page(core.bus))
    session = await follower.look()
    may_write(user, session)
    message = words(session)
    sent_before = f"{session.id}:{asked.id}" in session.recent_commands
    if not sent_before:
        _free(session)
    return (await handlers.act(message, session.id, handlers.Sender(user), core, follower.channel)).version


def _free(session: Session) -> None:
    """A word to a session at work would only be taken in later, and its answer be that of the work."""
    if session.paused:
        raise Trouble("not_now", "The session is paused.", "Send `unpause` to it first.", session_id=session.id)
    if session.phase in SERVICE_OF:
        hint = (
            f"Wait for it (/api/sessions/{session.id}), stop it, or send a user_message to "
            f"/api/sessions/{session.id}/messages: that is taken in while it works."
        )
        raise Trouble("not_now", f"The session is {session.phase} now.", hint, session_id=session.id)
