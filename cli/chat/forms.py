"""Questions about tables and questions with a form: what can be answered, and what a line means. Pure."""

import json
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from cli.chat.state import InputRequest

AS_PROPOSED = ("yes", "ok", "y")


class TableOption(NamedTuple):
    """One table in a question about tables."""

    name: str
    reason: str
    chosen: bool
    columns: tuple[str, ...]


def table_options(request: InputRequest | None) -> tuple[TableOption, ...]:
    """The tables to choose from; () if the request is not about tables."""
    form = request.question.form if request and request.question else None
    lines = form.get("tables") if form and form.get("kind") == "tables" else None
    return tuple(_table(line) for line in lines if isinstance(line, dict)) if isinstance(lines, list) else ()


def _table(line: dict[str, JsonValue]) -> TableOption:
    columns = line.get("columns")
    names = tuple(map(str, columns)) if isinstance(columns, list) else ()
    return TableOption(str(line.get("name", "")), str(line.get("reason", "")), line.get("chosen") is True, names)


def tables_answer(line: str, offered: tuple[TableOption, ...]) -> str:
    """The answer for a line of numbers or names; "" and "yes" accept the proposal. Other text is sent unchanged."""
    names = {
        name: table.name for number, table in enumerate(offered, 1) for name in (str(number), table.name.casefold())
    }
    words = line.replace(",", " ").casefold().split()
    if not words or line.casefold() in AS_PROPOSED:
        chosen = [table.name for table in offered if table.chosen]
    elif all(word in names for word in words):
        chosen = list(dict.fromkeys(names[word] for word in words))
    else:
        return line
    return json.dumps({"tables": chosen}, ensure_ascii=False)


class FormField(NamedTuple):
    """One field of a question's form. `allowed`: the only permitted values, if there are any."""

    name: str
    required: bool
    description: str
    allowed: tuple[str, ...]


def form_fields(form: Mapping[str, JsonValue] | None) -> tuple[FormField, ...]:
    """The fields of a form whose answer is an object; () for any other."""
    properties = form.get("properties") if form and form.get("type") == "object" else None
    if form is None or not isinstance(properties, dict):
        return ()
    required = form.get("required")
    needed = required if isinstance(required, list) else []
    return tuple(_field(name, schema, name in needed) for name, schema in properties.items())


def _field(name: str, schema: JsonValue, required: bool) -> FormField:
    properties = schema if isinstance(schema, dict) else {}
    allowed = properties.get("enum")
    description = properties.get("description")
    return FormField(
        name,
        required,
        description if isinstance(description, str) else "",
        tuple(map(str, allowed)) if isinstance(allowed, list) else (),
    )


def form_answer(line: str, offered: tuple[FormField, ...]) -> str:
    """The answer for `name=value` pairs, as JSON. Other text is sent unchanged."""
    names = {field.name for field in offered}
    try:
        pairs = [part.partition("=") for part in shlex.split(line)]
    except ValueError:  # an unclosed quotation mark
        return line
    if not pairs or any(name not in names for name, _, _ in pairs):
        return line
    return json.dumps({name: value for name, _, value in pairs}, ensure_ascii=False)
