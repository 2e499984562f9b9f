"""Reads, writes, replays and compares the recorded logs."""

import json
import lzma
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from shared.domain.kernel.session import Session
from shared.domain.rules.decide import due
from shared.log import SessionAtPosition, StoredMessage, accept
from tests.logs.exporter import State, digest, export

FOLDER = Path(__file__).parent
RANDOM = FOLDER / "random.jsonl.xz"
GUARD = ("Nats-Expected-Last-Subject-Sequence", "Nats-Expected-Last-Subject-Sequence-Subject", "Nats-Msg-Id")
AT = datetime(2030, 1, 1, 12, tzinfo=UTC)


class RecordedLog(NamedTuple):
    """One session's messages. `steps`: after each, who is due, the phase and the state's digest. `state`: the final
    state."""

    session_id: str
    messages: tuple[StoredMessage, ...]
    steps: tuple[str, ...]
    state: State


def replay(session_id: str, messages: Iterable[StoredMessage]) -> Iterator[tuple[SessionAtPosition, str]]:
    """The session after each message, and why the message is not accepted as an event ("" if it is)."""
    loaded = SessionAtPosition(Session(session_id), 0)
    for raw in messages:
        loaded, _, reason = accept(loaded, raw)
        yield loaded, reason


def record_messages(session_id: str, messages: Iterable[StoredMessage]) -> RecordedLog:
    """The recording of these messages. Raises ValueError if one is not an event."""
    messages, session, steps = tuple(messages), Session(session_id), []
    for loaded, reason in replay(session_id, messages):
        if reason:
            raise ValueError(f"{session_id}, position {loaded.position}: {reason}")
        session = loaded.session
        steps.append(f"{due(session)} {session.phase} {digest(export(session))}")
    return RecordedLog(session_id, messages, tuple(steps), export(session))


def differences(recorded: RecordedLog) -> list[str]:
    """The differences from the recording: the first differing step, and those of the final state."""
    first_difference: list[str] = []
    state: State = {}
    for raw, expected, (loaded, reason) in zip(
        recorded.messages, recorded.steps, replay(recorded.session_id, recorded.messages), strict=True
    ):
        state = export(loaded.session)
        is_now = reason or f"{due(loaded.session)} {loaded.session.phase} {digest(state)}"
        if is_now != expected and not first_difference:
            first_difference.append(f"after {raw.subject} at {raw.position}: {is_now}, recorded: {expected}")
    names = sorted(state.keys() | recorded.state.keys())
    both = ((name, json.loads(json.dumps(state.get(name))), recorded.state.get(name)) for name in names)
    return first_difference + [f"{name}: {is_now}, recorded: {was}" for name, is_now, was in both if is_now != was]


# --- files


def names() -> list[str]:
    """The names of the logs recorded from the services."""
    return sorted(path.name.removesuffix(".log.jsonl") for path in FOLDER.glob("*.log.jsonl"))


def load(name: str) -> RecordedLog:
    lines = [json.loads(line) for line in (FOLDER / f"{name}.log.jsonl").read_text().splitlines()]
    messages = tuple(
        StoredMessage(line["position"], line["subject"], line["headers"], line["body"].encode(), AT) for line in lines
    )
    expected = json.loads((FOLDER / f"{name}.state.json").read_text())
    return RecordedLog(messages[0].subject.split(".")[1], messages, tuple(expected["steps"]), expected["state"])


def store(name: str, recorded: RecordedLog) -> None:
    lines = (
        {
            "position": raw.position,
            "subject": raw.subject,
            "headers": {header: raw.headers[header] for header in GUARD if header in raw.headers},
            "body": raw.data.decode(),
        }
        for raw in recorded.messages
    )
    (FOLDER / f"{name}.log.jsonl").write_text("".join(f"{_json(line)}\n" for line in lines))
    state = json.dumps({"steps": recorded.steps, "state": recorded.state}, indent=1, ensure_ascii=False)
    (FOLDER / f"{name}.state.json").write_text(f"{state}\n")


def load_random() -> Iterator[RecordedLog]:
    """The random sessions. Each message gets the headers of a guarded append."""
    with lzma.open(RANDOM, "rt") as lines:
        for line in lines:
            session_id, messages, steps, state = json.loads(line)
            raws = tuple(
                StoredMessage(at, subject, headers, body.encode(), AT) for at, subject, headers, body in messages
            )
            yield RecordedLog(session_id, raws, tuple(steps), state)


def store_random(sessions: Iterable[RecordedLog]) -> None:
    with lzma.open(RANDOM, "wt", preset=9 | lzma.PRESET_EXTREME) as file:
        for session_id, messages, steps, state in sessions:
            rows = [(raw.position, raw.subject, dict(raw.headers), raw.data.decode()) for raw in messages]
            file.write(f"{_json((session_id, rows, steps, state))}\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
