"""The replies to the nodes of text_to_sql, for the questions that are known."""

import re
from collections.abc import Sequence
from typing import Any

from rehearsal.examples import EXAMPLE_DATA
from rehearsal.flows import cues
from rehearsal.flows.questions import UNKNOWN, known_query, rewrite, tables_of
from rehearsal.flows.statements import correct, explain
from rehearsal.matching import has_phrase, words_of
from rehearsal.prompt import ParsedPrompt, parsed
from rehearsal.refusals import CONNECT, DEMO_MODEL

_CHANGES = frozenset(words_of("delete drop remove erase update change set insert create alter cancel refund"))
_AGREEMENT = frozenset(words_of("yes ok okay please i mean"))
LISTED, BARS = 10, 40  # rows listed in an answer; rows that a chart can show
Rows = Sequence[Sequence[object]]


def answer_classify(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `classify_prompt`."""
    question = _question(prompt)
    if cues.is_talk(question) or cues.wants_words(question):
        return _classification("general", "It is not a question about the rows of a table.")
    if words_of(question)[:1] in [[word] for word in _CHANGES]:
        return _classification("unsafe", "The request asks to change data; here data are only read.")
    if has_phrase(question, EXAMPLE_DATA.unanswerable):
        return _classification("unanswerable", "No table is about this.")
    return _classification("data", "It may be about values in the tables.")


def _classification(category: str, reason: str) -> dict[str, Any]:
    return {"kind": "classification", "reason": reason, "category": category}


def _question(prompt: ParsedPrompt) -> str:
    """The request, or the newest feedback if that is a question that is known."""
    feedback = prompt.lines("feedback")[-1:]
    return feedback[0] if feedback and known_query(feedback[0]) else prompt["request"]


def answer_rewrite(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `rewrite_prompt`."""
    previous = prompt["previous_question"]
    for text in [] if previous else re.findall(r"^user: (.*)", prompt["conversation"], re.MULTILINE):
        previous = rewrite(text, previous)
    return {"kind": "rewritten", "question": rewrite(_question(prompt), previous)}


def _columns(prompt: ParsedPrompt) -> dict[str, list[str]]:
    """The columns of each table that the prompt shows."""
    return {
        str(table.get("name")): [str(column.get("name")) for column in table.get("columns") or ()]
        for table in prompt.objects("tables")
    }


def answer_tables(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `get_relevant_tables`: those of the query, else those that the question names."""
    shown, question = _columns(prompt), prompt["question"]
    used = [name for name in tables_of(known_query(question)) if name in shown]
    named = [name for name in shown if has_phrase(question, (f"{name.replace('_', ' ').rstrip('s')}*",))]
    tables = [{"reason": "The question is about it.", "name": name} for name in used or named]
    return {"kind": "tables", "tables": tables, "missing": ""}


def answer_trim(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `trim_relevant_tables`: the columns of the query, else all."""
    words = set(re.findall(r"\w+", known_query(prompt["question"])))
    tables = [
        {"table": table, "columns": [name for name in names if name in words] or names}
        for table, names in _columns(prompt).items()
    ]
    return {"kind": "columns", "tables": tables}


def answer_generate(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `generate_sql`: a given statement is corrected."""
    shown, given = _columns(prompt), prompt["sql"]
    if given:
        corrected = correct(given, shown, {name for names in shown.values() for name in names})
        if corrected != given:
            return _query(corrected, "Words that were misspelled are corrected.")
    for line in prompt.lines("feedback"):
        if not set(words_of(line)) <= _AGREEMENT | set(words_of(prompt["question"])):
            return _cannot(f"I do not see how “{line[:200]}” changes the question. Please ask it anew, in full.")
    query = known_query(prompt["question"])
    if not query or query == given:
        return _cannot(f"I do not see how to correct it: {prompt['problem']}" if given else UNKNOWN)
    missing = [name for name in tables_of(query) if name not in shown]
    return _cannot(f"No table here is called {missing[0]}.") if missing else _query(query, "It is a known question.")


def _query(sql: str, explanation: str) -> dict[str, Any]:
    return {"kind": "query", "explanation": explanation, "sql": sql}


def _cannot(reason: str) -> dict[str, Any]:
    return {"kind": "cannot", "reason": reason}


def answer_format(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `format_final_response`."""
    rows = [row for line in prompt.lines("rows") if isinstance(row := parsed(line), list)]
    count = int(prompt["row_count"]) if prompt["row_count"].isdecimal() else len(rows)
    columns = [str(name) for name in parsed(prompt["columns"]) or ()]
    text, chart = answer(columns, rows, count, truncated=prompt["truncated"] == "true")
    return {"kind": "answer", "text": text, "chart": chart}


def answer_general(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `general_questions`."""
    tables = ", ".join(prompt.lines("tables")) or "none are shown"
    text = f"{DEMO_MODEL}, of questions about these tables: {tables}. {CONNECT}"
    explained = explain(prompt["request"]) if cues.wants_words(prompt["request"]) else ""
    return {"kind": "answer", "text": explained or text}


def answer(columns: Sequence[str], rows: Rows, row_count: int, *, truncated: bool) -> tuple[str, str]:
    """What the rows say, and a chart: none, bar or line. `row_count`: how many rows there are."""
    if not rows:
        return "There are no rows: nothing in the data matches the question.", "none"
    if len(rows) == 1 and row_count <= 1:
        values = (f"{name}: **{_formatted(value)}**" for name, value in zip(columns, rows[0], strict=False))
        return f"{'; '.join(values)}.", "none"
    more = "at least " if truncated else ""
    head = f"There are {more}{row_count} rows{f'; the first {LISTED}' if row_count > LISTED else ''}:"
    lines = [f"- {': '.join(map(_formatted, row))}" for row in rows[:LISTED]]
    return "\n".join([head, *lines]), _chart(rows, row_count)


def _formatted(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:,.2f}" if isinstance(value, float) and not value.is_integer() else str(value)


def _chart(rows: Rows, row_count: int) -> str:
    """A line for a number over time, bars for a number of each thing."""
    if not all(len(row) == 2 and isinstance(row[1], int | float) for row in rows) or row_count > BARS:
        return "none"
    return "line" if all(re.match(r"\d{4}-\d\d", str(row[0])) for row in rows) else "bar"
