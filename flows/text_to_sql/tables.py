"""Which tables: by the words of the question where a model's choice is of no use, and by the person's own. Pure."""

import json
import re
from collections.abc import Sequence

from pydantic import JsonValue

from parley.flow import State
from sql.schema import Schema, TableInfo

SMALL = 8  # tables that are all shown rather than chosen from
COLUMNS, TOLD = 60, 60_000  # of one table in the form, and characters of all columns in it
PROMPT = 100_000  # characters of tables in a prompt
STEM = 5
YES = r"yes|yep|ok|okay|sure|fine|good|go ahead|approved?|agreed?|correct|right|take them|use them|looks good"
ADD = r"add|also|plus|with|and|include|too"
LEAVE = r"without|except|not|no|don'?t|leave out|leave|remove|drop|minus|skip"
ONLY = r"only|just|nothing but"
NOW_ADDS = r"but|instead"


def names(value: JsonValue) -> list[str]:
    """The names in a list of names, or of {name, reason}."""
    entries = value if isinstance(value, list) else []
    found = [one.get("name") if isinstance(one, dict) else one for one in entries]
    return [one for one in found if isinstance(one, str)]


def by_words(question: str, schema: Schema) -> list[str]:
    """The tables that have most words in common with the question; of a small schema all."""
    if len(schema.tables) <= SMALL:
        return [table.name for table in schema.tables]
    wanted = _stems(question)
    scored = [(_score(wanted, table), table.name) for table in schema.tables]
    best = sorted(scored, key=lambda one: (-one[0], one[1]))[:SMALL]
    return [name for score, name in best if score] or [name for _, name in best]


def lines(question: str, schema: Schema, budget: int = PROMPT) -> list[str]:
    """The schema for a prompt. Of a large one, the tables that the words do not name are told by name only."""
    whole = schema.lines()
    if sum(map(len, whole)) <= budget:
        return whole
    wanted = _stems(question)
    told: dict[str, str] = {}
    for table in sorted(schema.tables, key=lambda one: -_score(wanted, one)):
        line = json.dumps(table.line(), ensure_ascii=False)
        budget -= len(line)
        told[table.name] = line if budget >= 0 else json.dumps({"name": table.name})
    return [told[table.name] for table in schema.tables]


def _score(wanted: set[str], table: TableInfo) -> int:
    columns = " ".join(f"{column.name} {column.comment}" for column in table.columns)
    samples = " ".join(str(sample) for column in table.columns for sample in column.samples)
    own = f"{table.name} {table.comment}"
    return 3 * len(wanted & _stems(own)) + 2 * len(wanted & _stems(columns)) + len(wanted & _stems(samples))


def _stems(text: str) -> set[str]:
    return {word[:STEM] for word in re.findall(r"[^\W_]{3,}", text.lower())}


def of_state(state: State, question: str, schema: Schema) -> Schema:
    """The tables a query is written from: approved, or chosen, or those of the question before and what words say."""
    for name in ("approved_tables", "tables"):
        if found := schema.only(names(state.get(name))).tables:
            return schema.only(table.name for table in found)
    return schema.only((*names(state.get("previous_tables")), *by_words(question, schema)))


def form(proposed: dict[str, str], schema: Schema) -> dict[str, JsonValue]:
    """All tables with their columns; the proposed ones first, with the reason."""
    entries: list[JsonValue] = []
    left = TOLD
    for table in sorted(schema.tables, key=lambda one: one.name not in proposed):
        columns = [_column(table, number) for number in range(min(len(table.columns), COLUMNS))]
        told = columns if (left := left - sum(map(len, columns))) > 0 else []
        chosen = table.name in proposed
        entries.append(
            {"name": table.name, "reason": proposed.get(table.name, ""), "chosen": chosen, "columns": [*told]}
        )
    return {"kind": "tables", "tables": entries}


def _column(table: TableInfo, number: int) -> str:
    column = table.columns[number]
    refers = f"→ {column.references}" if column.references else ""
    return " ".join(part for part in (column.name, column.type, "key" if column.key else "", refers) if part)


def approved(answer: str, proposed: Sequence[str], schema: Schema) -> list[str]:
    """The tables that this answer allows: a form's JSON, or words. None of them: other ones are wanted."""
    ticked = _ticked(answer)
    if ticked is not None:
        return [table.name for name in dict.fromkeys(ticked) if (table := schema.table(name))]
    said = _said(answer, schema)
    kept = list(proposed) if said["yes"] or said["add"] or said["leave"] else []
    if said["only"] or said["named"]:
        kept = [*said["only"], *said["named"]]
    return [name for name in dict.fromkeys((*kept, *said["add"])) if name not in said["leave"]]


def _ticked(answer: str) -> list[str] | None:
    try:
        found = json.loads(answer)
    except ValueError:
        return None
    return names(found.get("tables")) if isinstance(found, dict) else None


def _said(answer: str, schema: Schema) -> dict[str, list[str]]:
    """Tables by what is said of them, read from left to right: “yes, but without users, and add payments”."""
    known = "|".join(sorted((re.escape(table.name) for table in schema.tables), key=len, reverse=True))
    modes = {"yes": YES, "leave": LEAVE, "only": ONLY, "back": NOW_ADDS, "add": ADD}
    parts = "|".join(f"(?P<{mode}>{words})" for mode, words in modes.items())
    said: dict[str, list[str]] = {"yes": [], "add": [], "leave": [], "only": [], "named": []}
    mode = "named"
    for found in re.finditer(rf"\b(?:(?P<table>{known or '(?!)'})|{parts})\b", answer, re.IGNORECASE):
        kind = found.lastgroup or ""
        if kind == "table":
            table = schema.table(found[0])
            said[mode] += [table.name] if table else []
        elif kind == "yes":
            said["yes"].append(found[0])
        else:
            mode = _mode(kind, found[0].lower(), mode, bool(said["yes"]))
    return said


def _mode(kind: str, word: str, mode: str, agreed: bool) -> str:
    """What the next table is said to be. “and” goes on as before; a bare “no” begins anew."""
    if word == "and":
        return mode
    if word == "no":
        return "named"
    if kind == "back":
        return "add" if agreed else "named"
    return kind
