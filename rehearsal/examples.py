"""Loads what the rehearsal model knows: examples.toml, and the programs beside it."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

Workflow = Literal["conversation", "agentflow", "flow", "execution_plan"]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProgramExtra(_Entry):
    """Something that a person may add to a program. `replaces`: pairs of old and new text in its code and tests."""

    phrases: tuple[str, ...]
    step: str
    replaces: tuple[tuple[str, str], ...]


class ExampleProgram(_Entry):
    """A kind of program, with the steps of the two ways to write it."""

    name: str
    title: str
    phrases: tuple[str, ...]
    plans: tuple[tuple[str, ...], tuple[str, ...]]
    extra: ProgramExtra | None = None

    @property
    def goal(self) -> str:
        """The goal of its plans."""
        return f"Write {self.title} in Python."


class ExampleQuestion(_Entry):
    """Ways to ask a question about data, and its query. Both have places for values."""

    asks: tuple[str, ...]
    sql: str


class ExampleData(_Entry):
    """Everything that the rehearsal model knows. `places`: the values of a pattern's places, by their words."""

    unanswerable: tuple[str, ...]
    examples: dict[Workflow, tuple[str, ...]]
    programs: tuple[ExampleProgram, ...]
    questions: tuple[ExampleQuestion, ...]
    places: dict[str, dict[str, str]]


def _read(name: str) -> str:
    return files("rehearsal").joinpath(name).read_text(encoding="utf-8")


@cache
def program_text(name: str) -> str:
    """The file of a program (`todo_1`) or of its tests (`todo_tests`)."""
    return _read(f"programs/{name}.py.txt")


EXAMPLE_DATA = ExampleData.model_validate(tomllib.loads(_read("examples.toml")))
EXAMPLES = EXAMPLE_DATA.examples
PROGRAMS = EXAMPLE_DATA.programs
CONFIGURE = "To use a language model, set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL and start Parley again."
BY_NAME = 'Any tool can be called by its exact name: Call server.tool with {"name": "value"}.'
INTRODUCTION = (
    "This is Parley's rehearsal model. It is a set of rules and no language model. "
    f"It can plan, write and revise these programs: {', '.join(program.title for program in PROGRAMS)}. "
    "It plans paths through flows, and knows the SQL for a few questions about the sample store. "
    f"With tools it serves the customers of that store. {BY_NAME} {CONFIGURE}"
)
