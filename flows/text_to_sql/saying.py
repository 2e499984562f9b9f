"""What the nodes read in the state, and how they tell it: to the model, to each other, to the person. Pure."""

import json
from collections.abc import Sequence

from pydantic import JsonValue

from flows.text_to_sql import tables
from flows.text_to_sql.given import given
from parley.flow import Outputs, Run, State
from sql.outcome import Checked
from sql.schema import Schema

SHOWN, BUDGET = 50, 20_000  # rows that the model answers from, and characters of them


def question(run: Run) -> str:
    return run.text("question") or run.text("request")


def earlier(runs: Sequence[State]) -> Outputs:
    """What the last question was about. A remark between two questions changes nothing; a question without a query
    does: what is said next is about that one, not about an older one."""
    last = next((run for run in reversed(runs) if run.get("kind") != "general"), {})
    sql = last.get("sql") or given(str(last.get("request") or "")).sql
    if not sql:
        return {}
    used = last.get("approved_tables") or last.get("sql_tables") or last.get("tables")
    question_ = last.get("question") or last.get("request")
    return {"previous_question": question_, "previous_sql": sql, "previous_tables": [*tables.names(used)]}


def brief(value: JsonValue, most: int = 80) -> str:
    text = str(value or "")
    return text if len(text) <= most else text[: most - 1] + "…"


def previous(state: State) -> list[str]:
    return [str(value) for name in ("previous_question", "previous_sql") if (value := state.get(name))]


def told(value: JsonValue) -> str | None:
    return value if isinstance(value, str) or value is None else json.dumps(value, ensure_ascii=False)


def named(schema: Schema) -> list[str]:
    return [table.name for table in schema.tables]


def rows(found: list[JsonValue]) -> list[str]:
    """The first rows of a result, as many as a prompt can bear."""
    told: list[str] = []
    left = BUDGET
    for row in found[:SHOWN]:
        line = json.dumps(row, ensure_ascii=False)
        left -= len(line)
        if left < 0 and told:
            break
        told.append(line[:BUDGET])
    return told


def reasons(state: State) -> dict[str, str]:
    """The proposed tables and why each."""
    proposed = state.get("tables")
    entries = proposed if isinstance(proposed, list) else []
    return {str(one.get("name")): str(one.get("reason") or "") for one in entries if isinstance(one, dict)}


def repairs(state: State) -> int:
    count = state.get("repairs")
    return count if isinstance(count, int) else 0


def unasked(state: State, checked: Checked) -> str:
    """Tables that the query reads though the person, who was asked, did not allow them."""
    allowed = {name.lower() for name in tables.names(state.get("approved_tables"))}
    strange = [name for name in checked.tables if name.lower() not in allowed] if allowed else []
    return f"It reads {', '.join(strange)}; only {', '.join(sorted(allowed))} may be used." if strange else ""


def refusal(run: Run) -> str:
    """Why there is no result, in the words of the node that found out."""
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
        return f"The query is valid. It reads {', '.join(tables.names(run.state.get('sql_tables')))}, and was not run."
    return f"The data cannot answer this: {run.text('reason') or 'nothing was found out.'}"
