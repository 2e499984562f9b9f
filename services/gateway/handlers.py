"""A client's message becomes facts: load the session, may they, what does it ask, append."""

import hmac
import secrets
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from parley.events import Due, SessionEvent
from parley.protocol import client as m
from parley.protocol.flows import FlowPage
from parley.protocol.tools import ListTools
from services.gateway.access.users import User, may_read, may_write, missing
from services.gateway.commands import NO_TOOLS, SessionMessage, Shown, approves_plan, to_commands
from services.gateway.files import copy_files
from services.gateway.flows import NO_FLOWS, flow_page, walked_now
from services.gateway.ports import Core, load
from services.gateway.tools import Tools, tools_by_name
from services.gateway.trouble import Trouble
from shared.domain.commands import CommandMeta
from shared.domain.errors import OutOfTurn, Refused, Repeated
from shared.domain.people import PersonCommand
from shared.domain.session import SERVICE_OF, Session
from shared.domain.workflows.flow import path_of
from shared.log import Log, LogDown, SessionAtPosition, StoredMessage, VersionConflict, commit, fork
from shared.telemetry import names, tracing


class Done(NamedTuple):
    """What became of a message: the version of the last event it made. `repeated`: it was carried out before."""

    session_id: str
    version: int
    repeated: bool = False


class Sender(NamedTuple):
    """Who sends a message, and what is on their screen."""

    user: User
    shown: Shown | None = None


class Overtaken(Exception):
    """Somebody else appended first: what the message means must be looked at again."""


class _Strict:
    """A log on which a lost race ends the attempt: the sender's rights, and whether a text is feedback or a new
    request, are a matter of the newest state, so the gateway begins again from there."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        try:
            return await self._log.append(event, after=after, due=due)
        except VersionConflict as lost:
            raise Overtaken(event.session_id) from lost

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return await self._log.read(session_id, after=after, limit=limit, leader=leader)


class Copy(Protocol):
    """A session that is followed already."""

    @property
    def loaded(self) -> SessionAtPosition | None:
        """As last heard: it may be behind the log."""

    async def newest(self) -> SessionAtPosition:
        """As the log has it now, read through its leader."""


async def act(message: SessionMessage, session_id: str, sender: Sender, core: Core, copy: Copy | None = None) -> Done:
    """Carry the message out once, however often it is sent with one id.

    Where there is a `copy`, it is decided on that, and nothing is loaded. What the copy has not heard yet lets nothing
    through, because an event is only appended behind the last one that was decided on; it can only make a refusal
    wrong. So before a refusal, and when somebody else was faster, the log is read and it is decided once more.
    Raises Trouble, a domain Refused, or one of trouble.AWAY; the session is unharmed by any of them.
    """
    attributes = {names.COMMAND: message.type}
    with tracing.of_session(f"command {message.type}", session_id, kind="server", attributes=attributes):
        return await _act(message, session_id, sender, core, copy)


async def _act(message: SessionMessage, session_id: str, sender: Sender, core: Core, copy: Copy | None) -> Done:
    key = message.id or secrets.token_hex(8)
    deadline = time.monotonic() + core.patience
    heard = copy.loaded if copy else None
    while True:
        loaded = heard or (await copy.newest() if copy else await load(core, session_id))
        try:
            return await _decided(message, loaded, key, sender, core)
        except Overtaken as lost:
            if time.monotonic() > deadline:
                raise LogDown("Others keep changing this session.") from lost
        except (Trouble, Refused):
            if heard is None:
                raise
        heard = None


async def _decided(message: SessionMessage, loaded: SessionAtPosition, key: str, sender: Sender, core: Core) -> Done:
    """The message, carried out on this state of the session. Raises Overtaken where that is not the newest."""
    session = loaded.session
    may_write(sender.user, session)
    if f"{session.id}:{_last_id(message, key)}" in session.recent_commands:
        return Done(session.id, session.version, repeated=True)
    if session.version == 0 and message.session_id and not isinstance(message, m.UserMessage):
        raise missing(session.id)
    tools = await _tools(message, session, core)
    flows = await _flows(message, session, core)
    commands = to_commands(message, session, sender.shown, tools, flows)
    return await _carry_out(commands, loaded, key, user=sender.user, core=core)


async def _tools(message: SessionMessage, session: Session, core: Core) -> Tools:
    """What `to_commands` must know of the tools: nothing, but where a person names one, or decides on a plan of calls.

    A plan can be approved while no executor answers: each compares the tools again before it runs a step.
    """
    if session.plan and approves_plan(message, session):
        names = tuple({step.tool for step in session.plan.steps if step.tool})
        with suppress(Trouble):
            return await tools_by_name(core.bus, ListTools(names=names, limit=1))
        return NO_TOOLS
    edits = isinstance(message, m.Edit) and session.plan is not None and bool(session.plan.task)
    acts = edits or (isinstance(message, m.UserMessage) and _names_tools(message))
    if acts or isinstance(message, m.Remember) or (isinstance(message, m.TakeOver) and session.phase == "escalated"):
        return await tools_by_name(core.bus)
    return NO_TOOLS


def _names_tools(message: m.UserMessage) -> bool:
    return message.plan is not None or (message.settings is not None and bool(message.settings.tools))


async def _flows(message: SessionMessage, session: Session, core: Core) -> FlowPage:
    """What `to_commands` must know of the flows: nothing, but where a person changes a path."""
    walking = isinstance(message, m.EditPath) and walked_now(session)
    if walking or (isinstance(message, m.Edit) and path_of(session.plan)):
        return await flow_page(core.bus, session.id)
    return NO_FLOWS


def _last_id(message: SessionMessage, key: str) -> str:
    """The id of the message's last command: to remember an approval, and to bring a plan along, takes a second one."""
    second = (isinstance(message, m.Approval) and message.remember) or (
        isinstance(message, m.UserMessage) and message.plan
    )
    return f"{key}.1" if second else key


async def _carry_out(
    commands: tuple[PersonCommand, ...], loaded: SessionAtPosition, key: str, *, user: User, core: Core
) -> Done:
    """One event a command; the second one of a message has an id of its own."""
    for number, command in enumerate(commands):
        by = CommandMeta(actor=f"user:{user.id}", at=datetime.now(UTC), id=f"{key}.{number}" if number else key)
        try:
            loaded, _ = await commit(_Strict(core.log), loaded, command, by, patience=core.patience)
        except Repeated:
            continue
    return Done(loaded.session.id, loaded.session.version)


async def begin_fork(message: m.Fork, session_id: str, *, user: User, core: Core) -> str:
    """A new session from this one as it was at `message.version` (now, if None); its id."""
    with tracing.of_session("command fork", session_id, kind="server", attributes={names.COMMAND: "fork"}):
        return await _begin_fork(message, session_id, user=user, core=core)


async def _begin_fork(message: m.Fork, session_id: str, *, user: User, core: Core) -> str:
    parent = (await load(core, session_id)).session
    may_read(user, parent)
    if parent.version == 0:
        raise missing(session_id)
    if message.version is not None:
        if message.version > parent.version:
            raise Trouble("not_found", f"The session has {parent.version} versions, not {message.version}.")
        parent = (await load(core, session_id, version=message.version)).session
    if parent.phase in SERVICE_OF:
        raise OutOfTurn(f"At version {parent.version} the session is {parent.phase}: fork it where a person is asked.")
    key = message.id or secrets.token_hex(8)
    new_id = _id_from(core, session_id, user.id, key)
    by = CommandMeta(actor=f"user:{user.id}", at=datetime.now(UTC), id=key)
    await copy_files(parent, new_id, core)
    with suppress(VersionConflict):  # the same message has begun it before
        await fork(core.log, parent, new_id, by)
    await load(core, new_id)  # from here on plan_store knows that the parent has a fork, and guards it
    return new_id


def new_session_id() -> str:
    return secrets.token_hex(8)


def session_id_for(user: User, key: str | None, core: Core) -> str:
    """A new session's id; the same for the same user and key, so that beginning twice begins one."""
    return _id_from(core, user.id, key) if key else new_session_id()


def _id_from(core: Core, *parts: str) -> str:
    """Whoever could work it out for another user could begin that session first, and so keep the user out of it."""
    return hmac.digest(core.id_key, "\n".join(parts).encode(), "sha256").hex()[:16]
