"""Chooses tables: by the words of the question where the model chose none, and by the user's answer. Pure."""

import json
import re
from collections.abc import Sequence

from pydantic import JsonValue

from parley.flow import State
from sql.schema import Schema, TableInfo

MAX_CHOSEN = 8  # a schema with no more tables is used completely
MAX_FORM_COLUMNS, MAX_FORM_TEXT = 60, 60_000  # columns of a table in the form, and characters of all columns
MAX_PROMPT_TEXT = 100_000  # characters of tables in a prompt
STEM_LENGTH = 5
YES = r"yes|yep|ok|okay|sure|fine|good|go ahead|approved?|agreed?|correct|right|take them|use them|looks good"
ADD = r"add|also|plus|with|and|include|too"
LEAVE = (
    r"without|except|not|don'?t|never|leave out|leave|remove|drop|minus|skip|exclud(?:e|ing)|ignore|instead of"
    r"|rather than"
)
ONLY = r"only|just|nothing but"
NOW_ADDS = r"but|instead"


def names_in(value: JsonValue) -> list[str]:
    """The names in a list of names, or of {name, reason}."""
    entries = value if isinstance(value, list) else []
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in entries]
    return [entry for entry in names if isinstance(entry, str)]


def rank_tables(question: str, schema: Schema) -> list[str]:
    """The tables with most words in common with the question; all tables of a small schema."""
    if len(schema.tables) <= MAX_CHOSEN:
        return [table.name for table in schema.tables]
    stems = _stems(question)
    scored = [(_score(stems, table), table.name) for table in schema.tables]
    best = sorted(scored, key=lambda item: (-item[0], item[1]))[:MAX_CHOSEN]
    return [name for score, name in best if score] or [name for _, name in best]


def schema_lines(question: str, schema: Schema, budget: int = MAX_PROMPT_TEXT) -> list[str]:
    """The schema for a prompt. In a large schema, the least relevant tables are listed by name only."""
    whole = schema.lines()
    if sum(map(len, whole)) <= budget:
        return whole
    stems = _stems(question)
    by_table: dict[str, str] = {}
    for table in sorted(schema.tables, key=lambda table: -_score(stems, table)):
        line = json.dumps(table.line(), ensure_ascii=False)
        budget -= len(line)
        by_table[table.name] = line if budget >= 0 else json.dumps({"name": table.name})
    return [by_table[table.name] for table in schema.tables]


def _score(stems: set[str], table: TableInfo) -> int:
    columns = " ".join(f"{column.name} {column.comment}" for column in table.columns)
    samples = " ".join(str(sample) for column in table.columns for sample in column.samples)
    own = f"{table.name} {table.comment}"
    return 3 * len(stems & _stems(own)) + 2 * len(stems & _stems(columns)) + len(stems & _stems(samples))


def _stems(text: str) -> set[str]:
    return {word[:STEM_LENGTH] for word in re.findall(r"[^\W_]{3,}", text.lower())}


def relevant_schema(state: State, question: str, schema: Schema) -> Schema:
    """The tables for a query: approved, else proposed, else those of the previous question and the best matches."""
    for name in ("approved_tables", "tables"):
        if tables := schema.only(names_in(state.get(name))).tables:
            return schema.only(table.name for table in tables)
    return schema.only((*names_in(state.get("previous_tables")), *rank_tables(question, schema)))


def choice_form(proposed: dict[str, str], schema: Schema) -> dict[str, JsonValue]:
    """The form with all tables and their columns; the proposed tables come first, with their reasons."""
    entries: list[JsonValue] = []
    left = MAX_FORM_TEXT
    for table in sorted(schema.tables, key=lambda table: table.name not in proposed):
        columns = [_column(table, number) for number in range(min(len(table.columns), MAX_FORM_COLUMNS))]
        shown_columns = columns if (left := left - sum(map(len, columns))) > 0 else []
        chosen = table.name in proposed
        entries.append(
            {"name": table.name, "reason": proposed.get(table.name, ""), "chosen": chosen, "columns": [*shown_columns]}
        )
    return {"kind": "tables", "tables": entries}


def _column(table: TableInfo, number: int) -> str:
    column = table.columns[number]
    refers = f"→ {column.references}" if column.references else ""
    return " ".join(part for part in (column.name, column.type, "key" if column.key else "", refers) if part)


def approved_tables(answer: str, proposed: Sequence[str], schema: Schema) -> list[str]:
    """The tables that this answer allows: a form's JSON, or words. Empty if the user wants other tables."""
    ticked = _ticked_names(answer)
    if ticked is not None:
        return [table.name for name in dict.fromkeys(ticked) if (table := schema.table(name))]
    mentions = _mentions(answer, schema)
    is_agreed = mentions["yes"] or mentions["add"] or (mentions["leave"] and not mentions["denied"])
    tables = list(proposed) if is_agreed else []
    if mentions["only"] or mentions["named"]:
        tables = [*mentions["only"], *mentions["named"]]
    return [name for name in dict.fromkeys((*tables, *mentions["add"])) if name not in mentions["leave"]]


def _ticked_names(answer: str) -> list[str] | None:
    try:
        form = json.loads(answer)
    except ValueError:
        return None
    return names_in(form.get("tables")) if isinstance(form, dict) else None


def _mentions(answer: str, schema: Schema) -> dict[str, list[str]]:
    """Tables by what the answer says about them, from left to right: “yes, but without users, and add payments”."""
    names = "|".join(sorted((re.escape(table.name) for table in schema.tables), key=len, reverse=True))
    known = names or "(?!)"
    leave = rf"{LEAVE}|no(?=\s+(?:to\s+)?(?:{known})\b)"
    modes = {"yes": YES, "leave": leave, "only": ONLY, "back": NOW_ADDS, "add": ADD, "no": "no"}
    parts = "|".join(f"(?P<{mode}>{words})" for mode, words in modes.items())
    mentions: dict[str, list[str]] = {kind: [] for kind in ("yes", "denied", "add", "leave", "only", "named")}
    mode = "named"
    for match in re.finditer(rf"\b(?:(?P<table>{known})|{parts})\b", answer.replace("’", "'"), re.IGNORECASE):
        kind = match.lastgroup or ""
        if kind == "table":
            table = schema.table(match[0])
            mentions[mode] += [table.name] if table else []
        elif kind == "yes":
            mentions["denied" if mode == "leave" else "yes"].append(match[0])
        else:
            mode = _mode(kind, match[0].lower(), mode, bool(mentions["yes"]))
    return mentions


def _mode(kind: str, word: str, mode: str, agreed: bool) -> str:
    """The mode for the next table. “and” keeps the mode; a bare “no” resets it."""
    if word == "and":
        return mode
    if kind == "no":
        return "named"
    if kind == "back":
        return "add" if agreed else "named"
    return kind
