"""`parley publish`: appends events to the log, as any program can; guarded unless `--raw` is given."""

import json
import sys
import uuid
from codecs import BOM_UTF8
from pathlib import Path
from typing import get_args

from pydantic import ValidationError
from pydantic.alias_generators import to_snake

from cli.bus_client import LOCAL_USER, command_of, connect_bus
from cli.chat.first_request import check_workflow as check_workflow
from cli.command import Declined, Unreachable
from parley.events import SessionEvent, dump_event, parse_event
from parley.events.problems import problem_sentences
from parley.events.values import Workflow
from shared.bus import Bus, BusUnavailable, MessageTooLarge
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.consequences import complete
from shared.domain.rules.decide import decide, due
from shared.domain.rules.user_commands import UserCommand
from shared.log import (
    Indeterminate,
    LogUnavailable,
    SessionAtPosition,
    StoredMessage,
    Unstorable,
    VersionConflict,
    accept,
    commit,
    guard_headers,
    subject_of,
)
from shared.settings import Settings

PAGE = 1000


async def begin_session(
    settings: Settings, words: str, *, workflow: Workflow | None, session_id: str, user: str = LOCAL_USER
) -> int:
    """Begin a session with this request and print its id. Raises Declined if the session exists."""
    session_id = session_id or uuid.uuid4().hex[:16]
    event = decide(Session(session_id), c.Say(text=words, workflow=workflow), command_of(user))
    async with connect_bus(settings) as bus:
        await _append(bus, event, SessionAtPosition(Session(session_id), 0))
    print(session_id)
    return 0


COMMANDS = {to_snake(kind.__name__): kind for kind in get_args(UserCommand) if kind is not c.Fork}


async def send_command(settings: Settings, command_json: str, *, session_id: str, user: str = LOCAL_USER) -> int:
    """Load the session, decide the user's command, and append the resulting event. Raises Declined with the reason.

    `command_json`: `{"<command>": {<its fields>}}`, a command of `shared/domain/kernel/commands.py`.
    """
    person_command = _command(command_json)
    async with connect_bus(settings) as bus:
        loaded = await _load(bus, session_id)
        try:
            _, event = await commit(bus.log, loaded, person_command, command_of(user))
        except (CommandRefused, Unstorable) as error:
            raise Declined(str(error)) from error
        except LogUnavailable as error:
            raise Unreachable(str(error)) from error
    print(f"stored {event.type} as version {event.version} of {session_id}")
    return 0


def _command(command_json: str) -> UserCommand:
    try:
        [(name, fields)] = json.loads(command_json).items()
        person_command: UserCommand = COMMANDS[name].model_validate(fields)
    except ValidationError as error:
        raise Declined(f"This is no command {name}. {problem_sentences(error.errors(), whole='command')}") from error
    except (AttributeError, KeyError, ValueError) as error:
        every = ", ".join(COMMANDS)
        raise Declined(f'A command is written {{"name": {{its fields}}}}. There are {every}.') from error
    return person_command


async def publish_event(settings: Settings, data: bytes) -> int:
    """Append one event given as JSON, if it is the next one of its session. Raises Declined with the reason."""
    try:
        event = parse_event(data.removeprefix(BOM_UTF8))
    except ValidationError as error:
        problems = problem_sentences(error.errors(), whole="event", skip=1)
        raise Declined(f"This is not an event of Parley. {problems}\ndocs/events.md describes every event.") from error
    async with connect_bus(settings) as bus:
        loaded = await _load(bus, event.session_id)
        if event.version != loaded.session.version + 1:
            raise Declined(_conflict_message(event, loaded.session.version))
        event = complete(loaded.session, event)
        position = await _append(bus, event, loaded)
    print(f"stored {event.type} as version {event.version} of {event.session_id}, position {position}")
    return 0


async def publish_bytes(settings: Settings, subject: str, data: bytes) -> int:
    """Publish these bytes as they are, without a guard. Anything but an event is quarantined."""
    print(
        "No guard, no check: readers park the message if it is not an event of its session (`parley dead`).",
        file=sys.stderr,
    )
    async with connect_bus(settings) as bus:
        try:
            answer = json.loads(await bus.request(subject, data))
        except MessageTooLarge as error:
            raise Declined(str(error)) from error
        except (BusUnavailable, ValueError) as error:
            raise Declined(f"It was not stored: no stream has the subject {subject}.") from error
    if isinstance(answer, dict) and "seq" in answer:
        print(f"stored in {answer.get('stream')} at position {answer['seq']}")
        return 0
    raise Declined(f"It was not stored: {answer}")


def read_input(file: str) -> bytes:
    """The bytes of a file, or of stdin for "-". Raises Declined."""
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Declined(f"{file} cannot be read: {error.strerror}") from error


async def _load(bus: Bus, session_id: str) -> SessionAtPosition:
    """Fold the session from the log itself, so that plan_store need not be up."""
    loaded = SessionAtPosition(Session(session_id), 0)
    try:
        while page := await bus.log.read(session_id, after=loaded.position, limit=PAGE, leader=True):
            for message in page:
                loaded = accept(loaded, message)[0]
    except LogUnavailable as error:
        raise Unreachable(f"{error} Are the streams there? `parley provision --check` shows it.") from error
    return loaded


async def _append(bus: Bus, event: SessionEvent, loaded: SessionAtPosition) -> int:
    """Append the event. Raises Declined if readers would reject it, or another writer was first."""
    due_service = due(evolve(loaded.session, event))
    headers, after = guard_headers(event.session_id, loaded.position, event.id), loaded.position
    message = StoredMessage(after + 1, subject_of(event, due_service), headers, dump_event(event), event.at)
    if problem := accept(loaded, message)[2]:
        raise Declined(f"The log's readers would park this event: {problem}")
    try:
        return await bus.log.append(event, after=after, due=due_service)
    except VersionConflict as error:
        raise Declined(_conflict_message(event, None)) from error
    except Unstorable as error:
        raise Declined(str(error)) from error
    except Indeterminate as error:
        return await _find_appended(bus, event, after, error)


async def _find_appended(bus: Bus, event: SessionEvent, after: int, why: Indeterminate) -> int:
    """Find the event in the log after an append with an unknown result. Raises Declined if it is not there."""
    try:
        tail = await bus.log.read(event.session_id, after=after, leader=True)
    except LogUnavailable as error:
        raise Unreachable(f"{error} `parley provision --check` shows what is missing.") from error
    for message in tail:
        if message.data == dump_event(event):
            return message.position
    raise Declined(f"It was not stored: {why}")


def _conflict_message(event: SessionEvent, version: int | None) -> str:
    conflict = "another writer was faster" if version is None else f"the session is at version {version}"
    if version is None and event.version == 1:
        conflict = "this session exists already"
    return (
        f"The log has moved on: this event is version {event.version} of {event.session_id}, but {conflict}.\n"
        "Read its journal (`parley sessions show ID`), and decide again."
    )
