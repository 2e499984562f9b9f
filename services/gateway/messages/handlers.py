"""Carries out client messages: load the session, check permission, translate to commands, append events."""

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, Protocol

from parley.events import Due, SessionEvent
from parley.protocol import client as m
from parley.protocol.flows import FlowPage
from parley.protocol.tools import ListTools
from services.gateway.access.users import User, check_can_read, check_can_write, session_not_found
from services.gateway.api_errors import ApiError
from services.gateway.messages.commands import NO_TOOLS, ApprovalTarget, SessionMessage, to_commands
from services.gateway.messages.flows import NO_FLOWS, flow_page, walking_turn
from services.gateway.messages.plan_commands import approves_plan
from services.gateway.messages.tools import Tools, tools_by_name
from services.gateway.ports import Core, copy_files, load
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import CommandRefused, OutOfTurn, Repeated
from shared.domain.kernel.session import SERVICE_OF, Session
from shared.domain.rules.user_commands import UserCommand
from shared.domain.workflows.flow import path_of
from shared.log import LogUnavailable, SessionAtPosition, SessionLog, StoredMessage, VersionConflict, commit, fork
from shared.telemetry import tracing

LOST = "The log has lost this session's newest events, so it cannot go on."
LOST_HINT = (
    "Nothing was changed, and sending it again does not help. Ask your operator to restore NATS from a backup; "
    "`parley doctor` says more. Its earlier events are still shown."
)


# Append the event of a command, as `shared.log.commit`. Raises ConcurrentChange.
type Append = Callable[[SessionAtPosition, UserCommand, CommandMeta], Awaitable[tuple[SessionAtPosition, SessionEvent]]]


class MessageResult(NamedTuple):
    """The version of the last event that a message caused. `repeated`: the message had been carried out before."""

    session_id: str
    version: int
    repeated: bool = False


class Sender(NamedTuple):
    """The user who sends a message, and what their screen shows for approval."""

    user: User
    target: ApprovalTarget | None = None


class ConcurrentChange(Exception):
    """Another writer appended first: the message must be translated again on the new state."""


class _FailOnConflict:
    """A log that raises ConcurrentChange instead of letting `commit` retry.

    The sender's permissions, and whether a text is feedback or a new request, depend on the newest state. So the
    gateway starts over from there.
    """

    def __init__(self, log: SessionLog) -> None:
        self._log = log

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        try:
            return await self._log.append(event, after=after, due=due)
        except VersionConflict as lost:
            raise ConcurrentChange(event.session_id) from lost

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return await self._log.read(session_id, after=after, limit=limit, leader=leader)


class FollowedSession(Protocol):
    """A session that the hub already follows."""

    @property
    def loaded(self) -> SessionAtPosition | None:
        """The last known state, which may be behind the log; None before the first load."""

    async def refresh(self) -> SessionAtPosition:
        """The current state, read through the log's leader."""

    async def commit(
        self,
        log: SessionLog,
        loaded: SessionAtPosition,
        command: UserCommand,
        meta: CommandMeta,
        *,
        timeout: float,  # noqa: ASYNC109  as in `shared.log.commit`
    ) -> tuple[SessionAtPosition, SessionEvent]:
        """As `shared.log.commit`; the hub then has the event, too."""


async def act(
    message: SessionMessage, session_id: str, sender: Sender, core: Core, followed: FollowedSession | None = None
) -> MessageResult:
    """Carry the message out once, however often it is sent with the same id.

    With `followed`, the first attempt decides on its cached state and loads nothing. A stale state cannot let anything
    through, because an append must follow the version that was decided on; it can only refuse wrongly. So after a
    refusal or a concurrent change, the log is read and the message is decided again.
    Raises ApiError, CommandRefused, or one of `api_errors.UNAVAILABLE`; none of them changes the session.
    """
    attributes = {tracing.COMMAND: message.type}
    with tracing.session_span(f"command {message.type}", session_id, kind="server", attributes=attributes):
        return await _act(message, session_id, sender, core, followed)


async def _act(
    message: SessionMessage, session_id: str, sender: Sender, core: Core, followed: FollowedSession | None
) -> MessageResult:
    message = message.model_copy(update={"id": message.id or secrets.token_hex(8)})
    append = partial(followed.commit if followed else commit, _FailOnConflict(core.log), timeout=core.log_timeout)
    deadline = time.monotonic() + core.log_timeout
    cached = followed.loaded if followed else None
    fruitless, refused_after = 0, -1
    while True:
        loaded = cached or (await followed.refresh() if followed else await load(core, session_id))
        try:
            return await _decide_and_commit(message, loaded, sender, core, append)
        except ConcurrentChange as lost:
            # A conflict without a newer message; a new leader of a cluster may not know that message yet.
            fruitless = fruitless + 1 if loaded.position == refused_after else 0
            refused_after = loaded.position
            is_late = time.monotonic() > deadline
            if fruitless and (is_late or not core.log.clustered):
                raise ApiError("not_available", LOST, LOST_HINT) from lost
            if is_late:
                raise LogUnavailable("Others keep changing this session.") from lost
        except (ApiError, CommandRefused):
            if cached is None:
                raise
        cached = None


async def _decide_and_commit(
    message: SessionMessage,
    loaded: SessionAtPosition,
    sender: Sender,
    core: Core,
    append: Append,
) -> MessageResult:
    """Carry the message out on this state. Raises ConcurrentChange if it is not the newest."""
    session = loaded.session
    check_can_write(sender.user, session)
    if f"{session.id}:{_last_command_id(message)}" in session.recent_commands:
        return MessageResult(session.id, session.version, repeated=True)
    if session.version == 0 and message.session_id and not isinstance(message, m.UserMessage):
        raise session_not_found(session.id)
    tools = await _needed_tools(message, session, core)
    flows = await _needed_flows(message, session, core)
    commands = to_commands(message, session, sender.target, tools, flows)
    return await _commit_all(commands, loaded, append, actor=f"{USER_PREFIX}{sender.user.id}", key=str(message.id))


async def _needed_tools(message: SessionMessage, session: Session, core: Core) -> Tools:
    """The tools that `to_commands` needs: none, unless the message names one or decides on an execution plan.

    A plan can be approved while no executor answers: executors compare the tools again before they run a step.
    """
    if session.plan and approves_plan(message, session):
        tracing = tuple({step.tool for step in session.plan.steps if step.tool})
        with suppress(ApiError):
            return await tools_by_name(core.bus, ListTools(names=tracing, limit=1))
        return NO_TOOLS
    edits = isinstance(message, m.Edit) and session.plan is not None and bool(session.plan.task)
    acts = edits or (isinstance(message, m.UserMessage) and _names_tools(message))
    if acts or isinstance(message, m.Remember) or (isinstance(message, m.TakeOver) and session.phase == "escalated"):
        return await tools_by_name(core.bus)
    return NO_TOOLS


def _names_tools(message: m.UserMessage) -> bool:
    return message.plan is not None or (message.settings is not None and bool(message.settings.tools))


async def _needed_flows(message: SessionMessage, session: Session, core: Core) -> FlowPage:
    """The flows that `to_commands` needs: none, unless the message changes a path."""
    walking = isinstance(message, m.EditPath) and walking_turn(session)
    if walking or (isinstance(message, m.Edit) and path_of(session.plan)):
        return await flow_page(core.bus, session.id)
    return NO_FLOWS


def _last_command_id(message: SessionMessage) -> str:
    """The id of the message's last command: `remember`, and a plan that comes with a request, add a second command."""
    second = (isinstance(message, m.Approval) and message.remember) or (
        isinstance(message, m.UserMessage) and message.plan
    )
    return f"{message.id}.1" if second else str(message.id)


async def _commit_all(
    commands: tuple[UserCommand, ...],
    loaded: SessionAtPosition,
    append: Append,
    *,
    actor: str,
    key: str,
) -> MessageResult:
    """Append one event per command; the second command of a message gets an id of its own."""
    for number, command in enumerate(commands):
        meta = CommandMeta(actor=actor, at=datetime.now(UTC), id=f"{key}.{number}" if number else key)
        try:
            loaded, _ = await append(loaded, command, meta)
        except Repeated:
            continue
    return MessageResult(loaded.session.id, loaded.session.version)


async def fork_session(message: m.Fork, session_id: str, *, user: User, core: Core) -> str:
    """Fork the session at `message.version` (None: now). Returns the new session's id."""
    with tracing.session_span("command fork", session_id, kind="server", attributes={tracing.COMMAND: "fork"}):
        return await _fork_session(message, session_id, user=user, core=core)


async def _fork_session(message: m.Fork, session_id: str, *, user: User, core: Core) -> str:
    parent = (await load(core, session_id)).session
    check_can_read(user, parent)
    if parent.version == 0:
        raise session_not_found(session_id)
    if message.version is not None:
        if message.version > parent.version:
            raise ApiError("not_found", f"The session has {parent.version} versions, not {message.version}.")
        parent = (await load(core, session_id, version=message.version)).session
    if parent.phase in SERVICE_OF:
        raise OutOfTurn(
            f"At version {parent.version} the session is {parent.phase}: fork it where it waits for a person."
        )
    key = message.id or secrets.token_hex(8)
    new_id = _derived_id(core, session_id, user.id, key)
    meta = CommandMeta(actor=f"{USER_PREFIX}{user.id}", at=datetime.now(UTC), id=key)
    await copy_files(parent, new_id, core)
    with suppress(VersionConflict):  # the same message created it before
        await fork(core.log, parent, new_id, meta)
    await load(core, new_id)  # makes plan_store aware of the fork, which then protects the parent
    return new_id


def new_session_id() -> str:
    return secrets.token_hex(8)


def session_id_for(user: User, key: str | None, core: Core) -> str:
    """A new session's id; the same user and key give the same id, so a repeated request creates one session."""
    return _derived_id(core, user.id, key) if key else new_session_id()


def _derived_id(core: Core, *parts: str) -> str:
    """A keyed hash: a user who could predict another's session id could take it first."""
    return hmac.digest(core.id_key, "\n".join(parts).encode(), "sha256").hex()[:16]
