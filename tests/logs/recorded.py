"""The recorded logs: how they lie in their files, and how they are folded and compared."""

import json
import lzma
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from shared.domain.decide import due
from shared.domain.session import Session
from shared.log import SessionAtPosition, StoredMessage, accept
from tests.logs.exporter import State, digest, exported

FOLDER = Path(__file__).parent
RANDOM = FOLDER / "random.jsonl.xz"
GUARD = ("Nats-Expected-Last-Subject-Sequence", "Nats-Expected-Last-Subject-Sequence-Subject", "Nats-Msg-Id")
AT = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Recorded(NamedTuple):
    """One session's messages. `steps`: who was due after each, the phase, the state's digest. `state`: the last one."""

    session_id: str
    messages: tuple[StoredMessage, ...]
    steps: tuple[str, ...]
    state: State


def folded(session_id: str, messages: Iterable[StoredMessage]) -> Iterator[tuple[SessionAtPosition, str]]:
    """The session after each message, and why the message is no event of it ("" when it is)."""
    loaded = SessionAtPosition(Session(session_id), 0)
    for raw in messages:
        loaded, _, reason = accept(loaded, raw)
        yield loaded, reason


def of(session_id: str, messages: Iterable[StoredMessage]) -> Recorded:
    """What is to be recorded. Raises ValueError where a message is no event."""
    messages, session, steps = tuple(messages), Session(session_id), []
    for loaded, reason in folded(session_id, messages):
        if reason:
            raise ValueError(f"{session_id}, position {loaded.position}: {reason}")
        session = loaded.session
        steps.append(f"{due(session)} {session.phase} {digest(exported(session))}")
    return Recorded(session_id, messages, tuple(steps), exported(session))


def differences(recorded: Recorded) -> list[str]:
    """What has become different since it was recorded: from the first step that is, and of the state at the end."""
    found: list[str] = []
    state: State = {}
    for raw, wanted, (loaded, reason) in zip(
        recorded.messages, recorded.steps, folded(recorded.session_id, recorded.messages), strict=True
    ):
        state = exported(loaded.session)
        is_now = reason or f"{due(loaded.session)} {loaded.session.phase} {digest(state)}"
        if is_now != wanted and not found:
            found.append(f"after {raw.subject} at {raw.position}: {is_now}, recorded: {wanted}")
    names = sorted(state.keys() | recorded.state.keys())
    both = ((name, json.loads(json.dumps(state.get(name))), recorded.state.get(name)) for name in names)
    return found + [f"{name}: {is_now}, recorded: {was}" for name, is_now, was in both if is_now != was]


# --- files


def names() -> list[str]:
    """Of the logs that were recorded from the services."""
    return sorted(path.name.removesuffix(".log.jsonl") for path in FOLDER.glob("*.log.jsonl"))


def load(name: str) -> Recorded:
    lines = [json.loads(line) for line in (FOLDER / f"{name}.log.jsonl").read_text().splitlines()]
    messages = tuple(
        StoredMessage(line["position"], line["subject"], line["headers"], line["body"].encode(), AT) for line in lines
    )
    told = json.loads((FOLDER / f"{name}.state.json").read_text())
    return Recorded(messages[0].subject.split(".")[1], messages, tuple(told["steps"]), told["state"])


def store(name: str, recorded: Recorded) -> None:
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


def load_random() -> Iterator[Recorded]:
    """The random sessions, one after the other. A message's headers are those that the guarded append gave it."""
    with lzma.open(RANDOM, "rt") as lines:
        for line in lines:
            session_id, messages, steps, state = json.loads(line)
            raws = tuple(
                StoredMessage(at, subject, headers, body.encode(), AT) for at, subject, headers, body in messages
            )
            yield Recorded(session_id, raws, tuple(steps), state)


def store_random(sessions: Iterable[Recorded]) -> None:
    with lzma.open(RANDOM, "wt", preset=9 | lzma.PRESET_EXTREME) as file:
        for session_id, messages, steps, state in sessions:
            told = [(raw.position, raw.subject, dict(raw.headers), raw.data.decode()) for raw in messages]
            file.write(f"{_json((session_id, told, steps, state))}\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
