"""What the nodes of text_to_sql ask a model: the prompt's sections are read here, the grammar of questions answers."""

import json
import re
from typing import Any

from rehearsal.flows.terms import is_general
from rehearsal.flows.words import LONGEST
from rehearsal.prompt import Prompt
from rehearsal.retail.state import json_lines
from rehearsal.sql import (
    Tables,
    Written,
    classify,
    columns_for,
    mend,
    read_tables,
    relevant,
    rewrite,
    write_sql,
)
from rehearsal.sql import answer as told

_FILLING = frozenset(
    re.findall(
        r"\w+",
        "i we me my a an the and only just please instead rather mean meant want wanted use take show give ones one"
        " that those these this it them yes ok with for of in to do",
    )
)


def answer_classify(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `classify_prompt`."""
    kind, reason = classify(prompt["request"], _lines(prompt["tables"]), prompt["previous"])
    if kind != "unsafe" and is_general(prompt["request"][:LONGEST]):  # as the path was planned
        return {"kind": "general", "reason": "It is no question about the rows of a table."}
    return {"kind": kind, "reason": reason}


def answer_rewrite(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `rewrite_prompt`."""
    earlier = (prompt["previous_question"], prompt["previous_sql"])
    return {"question": rewrite(prompt["request"], *earlier, _lines(prompt["feedback"]))}


def answer_tables(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `get_relevant_tables`."""
    found = relevant(prompt["question"], read_tables(_lines(prompt["tables"])), _lines(prompt["feedback"]))
    return {"tables": [{"name": name, "reason": why} for name, why in found.tables], "missing": found.missing}


def answer_trim(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `trim_relevant_tables`."""
    columns = columns_for(prompt["question"], read_tables(_lines(prompt["tables"])))
    return {"columns": {table: list(names) for table, names in columns.items()}}


def answer_generate(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `generate_sql`: a statement that is given is mended, an accepted one is taken again."""
    tables, dialect = read_tables(_lines(prompt["tables"])), prompt["dialect"] or "sqlite"
    if prompt["sql"]:
        written = _mended(prompt, tables, dialect)
    elif unheard := _unheard(prompt):
        written = Written(
            cannot=f"I do not see how “{unheard[:200]}” changes the question. Please ask it anew, in full."
        )
    elif hint := _accepted(prompt):
        written = Written(hint, "The same question was answered with this before.")
    else:
        written = _written(prompt, tables, dialect)
    return {"sql": written.sql, "explanation": written.explanation, "cannot": written.cannot}


def _unheard(prompt: Prompt) -> str:
    """What was said since the question and is not in it: to leave it out would answer something else."""
    asked = set(_words(prompt["question"]))
    return next((line for line in _lines(prompt["feedback"]) if set(_words(line)) - asked), "")


def _words(text: str) -> list[str]:
    """The words that say something."""
    return [word for word in re.findall(r"[^\W_]+", text.casefold()) if word not in _FILLING]


def _mended(prompt: Prompt, tables: Tables, dialect: str) -> Written:
    """The statement put right; where it cannot be, another one for the question, if the tables allow one."""
    mended = mend(prompt["sql"], prompt["problem"] or prompt["question"], tables, dialect)
    if mended.sql:
        return mended
    anew = _written(prompt, tables, dialect)
    return anew if anew.sql and anew.sql != prompt["sql"] else mended


def _written(prompt: Prompt, tables: Tables, dialect: str) -> Written:
    return write_sql(prompt["question"], tables, dialect, previous_sql=prompt["previous_sql"])


def answer_format(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `format_final_response`."""
    rows = [row for line in _lines(prompt["rows"]) if isinstance(row := _json(line), list)]
    count = int(prompt["row_count"]) if prompt["row_count"].isdecimal() else len(rows)
    truncated = prompt["truncated"].lower() == "true"
    text, chart = told(prompt["question"], _columns(prompt["columns"]), rows, count, truncated, prompt["problem"])
    return {"answer": text, "chart": chart}


def _accepted(prompt: Prompt) -> str:
    """The SQL of an accepted answer to the same question; what was said since may want it otherwise."""
    asked = _normal(prompt["question"])
    if prompt["feedback"] or not asked:
        return ""
    hints = (line for line in json_lines(prompt["hints"]) if _normal(str(line.get("question", ""))) == asked)
    return next((str(line.get("sql", "")) for line in hints), "")


def _normal(question: str) -> str:
    return " ".join(re.findall(r"[^\W_]+|[#@%<>=.-]", question.lower())).rstrip(" .")


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _columns(text: str) -> list[str]:
    """Names as a JSON list, or one a line."""
    found = _json(text)
    return [str(one) for one in found] if isinstance(found, list) else _lines(text)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
