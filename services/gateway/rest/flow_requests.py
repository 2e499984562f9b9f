"""Sends REST requests as user messages: the first of a new session, or the next of an existing one."""

from collections.abc import Callable, Sequence

from parley.events.values import Confirm, Knowledge, Planning, SessionSettings
from parley.protocol import client as m
from services.gateway import handlers
from services.gateway.access.users import User, check_can_write, session_not_found
from services.gateway.api_errors import ApiError
from services.gateway.flows import flow_page, known_flow
from services.gateway.live.hub import Follower
from services.gateway.ports import Core
from services.gateway.rest.flow_models import ChatMessage, ChatRequest, PlanningRequest
from services.gateway.rest.models import ProblemDetails
from shared.domain.messages import CHAT_HISTORY
from shared.domain.session import SERVICE_OF, Session

WAITING_RESPONSES: dict[int | str, dict[str, object]] = {
    400: {"model": ProblemDetails, "description": "The body cannot be read"},
    429: {"model": ProblemDetails, "description": "Too many requests wait at once"},
    504: {"model": ProblemDetails, "description": "No result in time; the session continues"},
}
MAX_HISTORY_CHARS = 50_000  # of the earlier messages


def first_message(
    body: PlanningRequest, text: str, history: Sequence[ChatMessage], *, confirm: Confirm
) -> m.UserMessage:
    """The message that begins a session."""
    settings = SessionSettings(confirm=confirm, planning=body.planning(Planning()))
    transcript = "\n\n".join(f"{message.role}: {message.content}" for message in history)[-MAX_HISTORY_CHARS:]
    knowledge = (Knowledge(name=CHAT_HISTORY, text=transcript),) if transcript else ()
    return _with_settings(body, text, settings).model_copy(update={"knowledge": knowledge})


def next_message(body: ChatRequest, text: str, session: Session) -> m.UserMessage | m.AnswerReply:
    """The answer to the open question, which the last reply told; or the next message of a session, which changes only
    the settings that the request names. Raises ApiError.
    """
    if session.version == 0:
        raise session_not_found(session.id)
    if session.question and session.question.about != "continue":
        return m.AnswerReply(type="answer", id=body.id, content=text)
    confirm = body.confirm if "confirm" in body.model_fields_set else session.settings.confirm
    planning = body.planning(session.settings.planning)
    return _with_settings(body, text, session.settings.model_copy(update={"confirm": confirm, "planning": planning}))


def _with_settings(body: PlanningRequest, text: str, settings: SessionSettings) -> m.UserMessage:
    return m.UserMessage(
        type="user_message", id=body.id, content=text, workflow="flow", settings=settings, time_zone=body.time_zone
    )


async def send_once(
    body: PlanningRequest,
    message_for: Callable[[Session], m.UserMessage | m.AnswerReply],
    user: User,
    core: Core,
    follower: Follower,
) -> int:
    """Send the message once. Returns the version after it. Raises ApiError, CommandRefused, or one of UNAVAILABLE."""
    if body.flow:
        known_flow(body.flow, await flow_page(core.bus))
    session = await follower.refresh()
    check_can_write(user, session)
    message = message_for(session)
    sent_before = f"{session.id}:{body.id}" in session.recent_commands
    if not sent_before:
        _check_idle(session)
    return (await handlers.act(message, session.id, handlers.Sender(user), core, follower.channel)).version


def _check_idle(session: Session) -> None:
    """Raises ApiError while the session works: it would read the message only later, and answer something else."""
    if session.paused:
        raise ApiError("not_now", "The session is paused.", "Send `unpause` to it first.", session_id=session.id)
    if session.phase in SERVICE_OF or session.reply:
        hint = (
            f"Wait for it (/api/sessions/{session.id}), stop it, or send a user_message to "
            f"/api/sessions/{session.id}/messages: that is taken in while it works."
        )
        activity = "answering a message" if session.reply else session.phase
        raise ApiError("not_now", f"The session is {activity} now.", hint, session_id=session.id)
