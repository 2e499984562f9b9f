"""`parley publish`: events straight onto the log, as any program could write them; guarded, unless told otherwise."""

import json
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from pydantic import ValidationError
from pydantic.alias_generators import to_snake

from cli.chat.first import known as known
from cli.command import Declined, Unreachable
from cli.running import LOCAL_USER, bus
from parley.events import SessionEvent, dump_event, parse_event
from parley.events.problems import sentences
from parley.events.values import Workflow
from shared.bus import Bus, BusDown, MessageTooLarge
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.consequences import complete
from shared.domain.decide import decide, due
from shared.domain.errors import Refused
from shared.domain.evolve import evolve
from shared.domain.people import PersonCommand
from shared.domain.session import Session
from shared.log import (
    Indeterminate,
    LogDown,
    SessionAtPosition,
    StoredMessage,
    Unstorable,
    VersionConflict,
    accept,
    commit,
    guard,
    subject_of,
)
from shared.settings import Settings

PAGE = 1000


async def text(
    settings: Settings, words: str, *, workflow: Workflow | None, session_id: str, user: str = LOCAL_USER
) -> int:
    """Begin a session with this request, expected to be the first under its subject; prints its id."""
    session_id = session_id or uuid.uuid4().hex[:16]
    by = CommandMeta(actor=f"user:{user}", at=datetime.now(UTC), id=uuid.uuid4().hex)
    event = decide(Session(session_id), c.Say(text=words, workflow=workflow), by)
    async with bus(settings) as found:
        await _append(found, event, SessionAtPosition(Session(session_id), 0))
    print(session_id)
    return 0


COMMANDS = {to_snake(kind.__name__): kind for kind in get_args(PersonCommand) if kind is not c.Fork}


async def command(settings: Settings, said: str, *, session_id: str, user: str = LOCAL_USER) -> int:
    """Load the session, decide what this person wants of it, and append the event that comes of it.

    `said`: `{"<command>": {<its fields>}}`, a command of `shared/domain/commands.py`. Raises Declined with the reason.
    """
    wanted, by = _command(said), CommandMeta(actor=f"user:{user}", at=datetime.now(UTC), id=uuid.uuid4().hex)
    async with bus(settings) as found:
        loaded = await _load(found, session_id)
        try:
            _, event = await commit(found.log, loaded, wanted, by)
        except (Refused, Unstorable) as error:
            raise Declined(str(error)) from error
        except LogDown as error:
            raise Unreachable(str(error)) from error
    print(f"stored {event.type} as version {event.version} of {session_id}")
    return 0


def _command(said: str) -> PersonCommand:
    try:
        [(name, fields)] = json.loads(said).items()
        wanted: PersonCommand = COMMANDS[name].model_validate(fields)
    except ValidationError as error:
        raise Declined(f"This is no command {name}. {sentences(error.errors(), whole='command')}") from error
    except (AttributeError, KeyError, ValueError) as error:
        every = ", ".join(COMMANDS)
        raise Declined(f'A command is written {{"name": {{its fields}}}}. There are {every}.') from error
    return wanted


async def body(settings: Settings, data: bytes) -> int:
    """Publish one event given as JSON, if it is the next one of its session. Raises Declined with the reason."""
    try:
        event = parse_event(data)
    except ValidationError as error:
        told = sentences(error.errors(), whole="event", skip=1)
        raise Declined(f"This is no event of Parley. {told}\ndocs/events.md tells what each looks like.") from error
    async with bus(settings) as found:
        loaded = await _load(found, event.session_id)
        if event.version != loaded.session.version + 1:
            raise Declined(_moved_on(event, loaded.session.version))
        event = complete(loaded.session, event)
        position = await _append(found, event, loaded)
    print(f"stored {event.type} as version {event.version} of {event.session_id}, position {position}")
    return 0


async def raw(settings: Settings, subject: str, data: bytes) -> int:
    """Publish these bytes as they are, without a guard. What is no event will be parked."""
    print("No guard, no check: what is no event of its session is parked (`parley dead`).", file=sys.stderr)
    async with bus(settings) as found:
        try:
            answer = json.loads(await found.request(subject, data))
        except MessageTooLarge as error:
            raise Declined(str(error)) from error
        except (BusDown, ValueError) as error:
            raise Declined(f"Nobody stored it: no stream takes the subject {subject}.") from error
    if isinstance(answer, dict) and "seq" in answer:
        print(f"stored in {answer.get('stream')} at position {answer['seq']}")
        return 0
    raise Declined(f"It was not stored: {answer}")


def read(file: str) -> bytes:
    """A file's bytes, or with "-" those of stdin. Raises Declined."""
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Declined(f"{file} cannot be read: {error.strerror}") from error


async def _load(found: Bus, session_id: str) -> SessionAtPosition:
    """The session folded from the log itself: plan_store need not be up."""
    loaded = SessionAtPosition(Session(session_id), 0)
    try:
        while page := await found.log.read(session_id, after=loaded.position, limit=PAGE, leader=True):
            for message in page:
                loaded = accept(loaded, message)[0]
    except LogDown as error:
        raise Unreachable(f"{error} Are the streams there? `parley provision --check` tells.") from error
    return loaded


async def _append(found: Bus, event: SessionEvent, loaded: SessionAtPosition) -> int:
    """Store it as the next event of the session, if the log's readers would take it and nobody was faster."""
    whose = due(evolve(loaded.session, event))
    headers, after = guard(event.session_id, loaded.position, event.id), loaded.position
    message = StoredMessage(after + 1, subject_of(event, whose), headers, dump_event(event), event.at)
    if wrong := accept(loaded, message)[2]:
        raise Declined(f"The log's readers would park this event: {wrong}")
    try:
        return await found.log.append(event, after=after, due=whose)
    except VersionConflict as error:
        raise Declined(_moved_on(event, None)) from error
    except Unstorable as error:
        raise Declined(str(error)) from error
    except Indeterminate as error:
        return await _find(found, event, after, error)


async def _find(found: Bus, event: SessionEvent, after: int, why: Indeterminate) -> int:
    """Nobody could tell whether it was stored: this very event in the tail means yes."""
    try:
        tail = await found.log.read(event.session_id, after=after, leader=True)
    except LogDown as error:
        raise Unreachable(f"{error} `parley provision --check` tells what is missing.") from error
    for message in tail:
        if message.data == dump_event(event):
            return message.position
    raise Declined(f"It was not stored: {why}")


def _moved_on(event: SessionEvent, version: int | None) -> str:
    there = "somebody else was faster" if version is None else f"the session is at version {version}"
    if version is None and event.version == 1:
        there = "this session exists already"
    return (
        f"The log has moved on: this event is version {event.version} of {event.session_id}, but {there}.\n"
        "Read its journal (`parley sessions show ID`), and decide again."
    )
