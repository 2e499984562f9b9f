"""A question for tables: what may be chosen, and what a line means as an answer. Pure."""

import json
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
