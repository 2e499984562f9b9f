"""The recorded events of a session, to be republished under other session ids."""

import json
import secrets
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from parley.events import Due

SESSION_ID_PLACEHOLDER = "the-session-at-hand"  # as long as a session id


class RecordedEvent(NamedTuple):
    """One recorded event. `due` must act next."""

    actor: str
    due: Due
    type: str
    body: bytes

    @property
    def is_by_user(self) -> bool:
        return self.actor.startswith("user:")

    def subject(self, session_id: str) -> str:
        return f"session.{session_id}.{self.due}.{self.type}"

    def body_of(self, session_id: str) -> bytes:
        """The body as an event of this session. An id of another length changes the body's size."""
        return self.body.replace(SESSION_ID_PLACEHOLDER.encode(), session_id.encode())


type Recording = tuple[RecordedEvent, ...]


def new_session_ids(count: int) -> list[str]:
    """New session ids, as long as the placeholder."""
    return [secrets.token_hex(len(SESSION_ID_PLACEHOLDER))[: len(SESSION_ID_PLACEHOLDER)] for _ in range(count)]


def stage_events(events: Sequence[RecordedEvent], number: int) -> Sequence[RecordedEvent]:
    """The events that the service due after event `number` appends, until another one is due."""
    own = list(takewhile(lambda event: event.actor == events[number].due, events[number + 1 :]))
    last = next((at for at, event in enumerate(own) if event.due != "nobody"), len(own))
    return own[: last + 1]


def save(events: Recording, file: Path) -> None:
    """Write the recording to a file, for another process to `load`."""
    rows = [(event.actor, event.due, event.type, event.body.decode()) for event in events]
    file.write_text(json.dumps(rows), encoding="utf-8")


def load(file: Path) -> Recording:
    return tuple(
        RecordedEvent(by, due, kind, body.encode())
        for by, due, kind, body in json.loads(file.read_text(encoding="utf-8"))
    )
