"""Questions for tables, and those with a form: what may be answered, and what a line means as an answer. Pure."""

import json
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from cli.chat.state import Ask

AS_PROPOSED = ("yes", "ok", "y")


class Table(NamedTuple):
    """One line of the question for tables."""

    name: str
    reason: str
    chosen: bool
    columns: tuple[str, ...]


def tables(ask: Ask | None) -> tuple[Table, ...]:
    """What may be chosen from, where tables are asked for; else ()."""
    form = ask.question.form if ask and ask.question else None
    lines = form.get("tables") if form and form.get("kind") == "tables" else None
    return tuple(_table(line) for line in lines if isinstance(line, dict)) if isinstance(lines, list) else ()


def _table(line: dict[str, JsonValue]) -> Table:
    columns = line.get("columns")
    names = tuple(map(str, columns)) if isinstance(columns, list) else ()
    return Table(str(line.get("name", "")), str(line.get("reason", "")), line.get("chosen") is True, names)


def picked(line: str, offered: tuple[Table, ...]) -> str:
    """The answer that a line of numbers or names means; "" and “yes”: as proposed. Other words go as they are."""
    names = {name: table.name for n, table in enumerate(offered, 1) for name in (str(n), table.name.casefold())}
    words = line.replace(",", " ").casefold().split()
    if not words or line.casefold() in AS_PROPOSED:
        chosen = [table.name for table in offered if table.chosen]
    elif all(word in names for word in words):
        chosen = list(dict.fromkeys(names[word] for word in words))
    else:
        return line
    return json.dumps({"tables": chosen}, ensure_ascii=False)


class Field(NamedTuple):
    """One field of a question's form. `allowed`: the only values that it takes, if it names any."""

    name: str
    required: bool
    description: str
    allowed: tuple[str, ...]


def fields(form: Mapping[str, JsonValue] | None) -> tuple[Field, ...]:
    """The fields of a question whose answer is an object; () of any other."""
    properties = form.get("properties") if form and form.get("type") == "object" else None
    if form is None or not isinstance(properties, dict):
        return ()
    required = form.get("required")
    needed = required if isinstance(required, list) else []
    return tuple(_field(name, schema, name in needed) for name, schema in properties.items())


def _field(name: str, schema: JsonValue, required: bool) -> Field:
    said = schema if isinstance(schema, dict) else {}
    allowed = said.get("enum")
    description = said.get("description")
    return Field(
        name,
        required,
        description if isinstance(description, str) else "",
        tuple(map(str, allowed)) if isinstance(allowed, list) else (),
    )


def form_answer(line: str, offered: tuple[Field, ...]) -> str:
    """The answer that `name=value` pairs mean, as JSON; other words go as they are."""
    names = {one.name for one in offered}
    try:
        pairs = [part.partition("=") for part in shlex.split(line)]
    except ValueError:  # a quotation mark without another
        return line
    if not pairs or any(name not in names for name, _, _ in pairs):
        return line
    return json.dumps({name: value for name, _, value in pairs}, ensure_ascii=False)
