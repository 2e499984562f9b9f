"""Loads the English questions of tests/questions, creates their databases, and compares results."""

import atexit
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue
from sqlalchemy import create_engine

from packs.retail import relations
from packs.retail.relations import METADATA
from tests.support.store import STORE

FOLDER = Path(__file__).parents[1] / "questions"

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)([.][0-9]+)?")

type Row = Sequence[JsonValue]


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str


class Question(_Line):
    """A question in English with its gold SQL and expected rows; or one that must be refused, and why."""

    kind: str
    question: str
    after: str = ""  # id of the question before it in the conversation
    sql: str = ""
    columns: int = 0
    rows: list[list[JsonValue]] = []
    ordered: bool = False
    refuse: bool = False
    why: str = ""


class Walk(BaseModel):
    """The expected path through one flow, and other paths that are also correct."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    flow: str
    path: tuple[str, ...]
    also: tuple[tuple[str, ...], ...] = ()


class Request(_Line):
    """A request with its expected path. `paths`: it needs two flows. `question`: the planner must ask the user."""

    request: str
    given: dict[str, JsonValue] = {}
    flow: str = ""
    path: tuple[str, ...] = ()
    also: tuple[tuple[str, ...], ...] = ()
    paths: tuple[Walk, ...] = ()
    question: bool = False

    def walks(self) -> tuple[Walk, ...]:
        """The expected paths in order; empty if the planner must ask the user."""
        return () if self.question else self.paths or (Walk(flow=self.flow, path=self.path, also=self.also),)

    def right(self, proposed: Sequence[tuple[str, Sequence[str]]]) -> bool:
        """Whether these proposed flows and paths (none: a question) are correct."""
        walks = self.walks()
        return len(walks) == len(proposed) and all(
            walk.flow == flow and tuple(path) in (walk.path, *walk.also)
            for walk, (flow, path) in zip(walks, proposed, strict=True)
        )


def load(name: str) -> list[Question]:
    """All questions of `store`, `more`, `held` or `library`."""
    return [Question.model_validate_json(line) for line in _lines(name)]


def load_requests(name: str = "paths") -> list[Request]:
    return [Request.model_validate_json(line) for line in _lines(name)]


def _lines(name: str) -> list[str]:
    return (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()


# --- the databases


@cache
def store_database() -> Path:
    """An SQLite file with the seven tables of the sample store; created once per process."""
    path = _folder() / "store.db"
    engine = create_engine(f"sqlite:///{path}")
    try:
        METADATA.create_all(engine, tables=relations.TABLES)
        with engine.begin() as connection:
            relations.fill(connection, STORE)
    finally:
        engine.dispose()
    return path


@cache
def library_database() -> Path:
    """An SQLite file created from library.sql."""
    path = _folder() / "library.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((FOLDER / "library.sql").read_text(encoding="utf-8"))
    return path


@cache
def _folder() -> Path:
    folder = Path(mkdtemp(prefix="parley-questions-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


DATABASES: dict[str, Callable[[], Path]] = {
    "store": store_database,
    "more": store_database,
    "held": store_database,
    "library": library_database,
}


def recompute(name: str) -> list[Question]:
    """The questions of a file with the columns and rows that their gold SQL returns now."""
    with closing(sqlite3.connect(f"file:{DATABASES[name]()}?mode=ro", uri=True)) as connection:
        return [case if case.refuse else _computed(connection, case) for case in load(name)]


def _computed(connection: sqlite3.Connection, case: Question) -> Question:
    with closing(connection.execute(case.sql)) as cursor:
        rows = [[round(value, 2) if isinstance(value, float) else value for value in row] for row in cursor]
        return case.model_copy(update={"columns": len(cursor.description), "rows": rows})


# --- comparing results


def same(
    expected_rows: Sequence[Row], got_columns: Sequence[str], got_rows: Sequence[Row], ordered: bool = False
) -> bool:
    """Whether the rows are equal, as a multiset or in order; the result may have more columns, in any order."""
    if len(expected_rows) != len(got_rows):
        return False
    if not expected_rows:
        return True
    collect: Callable[[Iterable[Any]], Any] = list if ordered else Counter
    expected = list(zip(*(map(_plain, row) for row in expected_rows), strict=True))
    got = list(zip(*(map(_plain, row) for row in got_rows), strict=True))
    if len(got) != len(got_columns):
        return False
    choices = [[at for at, column in enumerate(got) if collect(column) == collect(column)] for column in expected]
    expected = collect(zip(*expected, strict=True))
    return any(
        collect(zip(*(got[at] for at in chosen), strict=True)) == expected for chosen in _distinct_choices(choices)
    )


def _distinct_choices(choices: Sequence[Sequence[int]]) -> Iterable[tuple[int, ...]]:
    """All ways to choose one position from each sequence without choosing one twice."""
    if not choices:
        yield ()
        return
    for rest in _distinct_choices(choices[:-1]):
        yield from ((*rest, at) for at in choices[-1] if at not in rest)


def _plain(value: Any) -> Any:
    """The value for comparisons: 5 equals 5.001, true equals 1, and "2024" equals 2024; but "0577" is no number."""
    if isinstance(value, bool | int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value)):
        return round(float(value), 2)
    return value
