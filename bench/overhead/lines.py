"""A recorded session's events, to be published again under other session ids."""

import json
import secrets
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from parley.events import Due

ID = "the-session-at-hand"  # stands for the session's id, which has as many characters


class Line(NamedTuple):
    """One recorded event: `by` wrote it, and it makes `due` act next."""

    by: str
    due: Due
    type: str
    body: bytes

    @property
    def is_person(self) -> bool:
        return self.by.startswith("user:")

    def subject(self, session_id: str) -> str:
        return f"session.{session_id}.{self.due}.{self.type}"

    def body_of(self, session_id: str) -> bytes:
        """The body as an event of this session. An id of another length changes the body's size."""
        return self.body.replace(ID.encode(), session_id.encode())


type Lines = tuple[Line, ...]


def ids(count: int) -> list[str]:
    """Session ids, as long as the one in the recorded events."""
    return [secrets.token_hex(len(ID))[: len(ID)] for _ in range(count)]


def stage(lines: Sequence[Line], number: int) -> Sequence[Line]:
    """The lines that the service which line `number` makes due writes, until its turn ends."""
    own = list(takewhile(lambda line: line.by == lines[number].due, lines[number + 1 :]))
    ends = next((at for at, line in enumerate(own) if line.due != "nobody"), len(own))
    return own[: ends + 1]


def save(lines: Lines, file: Path) -> None:
    """Write them to a file, for another process to `load`."""
    rows = [(line.by, line.due, line.type, line.body.decode()) for line in lines]
    file.write_text(json.dumps(rows), encoding="utf-8")


def load(file: Path) -> Lines:
    return tuple(
        Line(by, due, kind, body.encode()) for by, due, kind, body in json.loads(file.read_text(encoding="utf-8"))
    )
