"""Texts that the nodes make from the state: for the model, for other nodes, and for the user. Pure."""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from flows.text_to_sql import table_choice
from flows.text_to_sql.user_sql import find_sql
from parley.flow import NodeRun, Outputs, State
from shared.text import cut
from sql.outcome import QueryCheck
from sql.schema import Schema

MAX_ROWS, MAX_ROW_TEXT = 50, 20_000  # rows that the model sees, and characters of these rows


def question(run: NodeRun) -> str:
    return run.text("question") or run.text("request")


def previous_question_state(runs: Sequence[State]) -> Outputs:
    """The last question with its query and tables, for follow-up questions.

    Small talk between two questions is ignored. A question without a query is not: a follow-up refers to it.
    """
    last = next((run for run in reversed(runs) if run.get("kind") != "general"), {})
    sql = last.get("sql") or find_sql(str(last.get("request") or "")).sql
    if not sql:
        return {}
    used = last.get("approved_tables") or last.get("sql_tables") or last.get("tables")
    question_ = last.get("question") or last.get("request")
    return {"previous_question": question_, "previous_sql": sql, "previous_tables": [*table_choice.names_in(used)]}


def shorten(value: JsonValue, limit: int = 80) -> str:
    return cut(str(value or ""), limit)


def previous_lines(state: State) -> list[str]:
    return [str(value) for name in ("previous_question", "previous_sql") if (value := state.get(name))]


def as_text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) or value is None else json.dumps(value, ensure_ascii=False)


def table_names(schema: Schema) -> list[str]:
    return [table.name for table in schema.tables]


def row_lines(rows: list[JsonValue]) -> list[str]:
    """The first rows of a result as lines, as many as the prompt has room for."""
    lines: list[str] = []
    left = MAX_ROW_TEXT
    for row in rows[:MAX_ROWS]:
        line = json.dumps(row, ensure_ascii=False)
        left -= len(line)
        if left < 0 and lines:
            break
        lines.append(line[:MAX_ROW_TEXT])
    return lines


def table_reasons(state: State) -> dict[str, str]:
    """The proposed tables with their reasons."""
    proposed = state.get("tables")
    entries = proposed if isinstance(proposed, list) else []
    return {str(entry.get("name")): str(entry.get("reason") or "") for entry in entries if isinstance(entry, dict)}


def repair_count(state: State) -> int:
    count = state.get("repairs")
    return count if isinstance(count, int) else 0


def unapproved_tables_problem(state: State, checked: QueryCheck) -> str:
    """The problem of a query that reads tables which the user did not allow; "" if there is none."""
    allowed = {name.lower() for name in table_choice.names_in(state.get("approved_tables"))}
    unapproved = [name for name in checked.tables if name.lower() not in allowed] if allowed else []
    return f"It reads {', '.join(unapproved)}; only {', '.join(sorted(allowed))} may be used." if unapproved else ""


def no_result_reason(run: NodeRun) -> str:
    """Why there is no result, in the words of the node that ended the path."""
    if run.text("kind") == "unsafe":
        return f"This is not done: {run.text('reason') or 'only questions are answered here.'}"
    if missing := run.text("missing"):
        return f"The data cannot answer this: {missing}"
    if cannot := run.text("cannot"):
        return cannot[:1].upper() + cannot[1:]
    if problem := run.text("problem"):
        sql = run.text("sql")
        return f"The query was not run to an end: {problem}" + (f"\n\n```sql\n{sql}\n```" if sql else "")
    if run.state.get("valid"):
        names = ", ".join(table_choice.names_in(run.state.get("sql_tables")))
        return f"The query is valid. It reads {names}, and was not run."
    return f"The data cannot answer this: {run.text('reason') or 'nothing was found out.'}"
