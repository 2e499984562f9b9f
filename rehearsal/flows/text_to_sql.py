"""The replies to the nodes of text_to_sql, by the grammar in `rehearsal.sql`."""

import re
from typing import Any

from rehearsal.flows import cues
from rehearsal.prompt import ParsedPrompt, parsed
from rehearsal.refusals import CONNECT, DEMO_MODEL
from rehearsal.sql.answers import answer
from rehearsal.sql.explanation import explain
from rehearsal.sql.followups import rewrite
from rehearsal.sql.repair import mend
from rehearsal.sql.request_kinds import classify
from rehearsal.sql.schema import Tables, read_tables
from rehearsal.sql.schema_linking import columns_for, relevant
from rehearsal.sql.tokenizer import phrases
from rehearsal.sql.translation import Written, write_sql

_FILLING = phrases(
    "i, we, me, my, a, an, the, and, only, just, please, instead, rather, mean, meant, want, wanted, use, take, show, "
    "give, ones, one, that, those, these, this, it, them, yes, ok, with, for, of, in, to, do"
)


def answer_classify(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `classify_prompt`."""
    if cues.wants_words(prompt["request"]):
        return {"kind": "classification", "reason": "It asks what a statement means.", "category": "general"}
    kind, reason = classify(_request(prompt), prompt.lines("tables"), prompt["previous"] or _asked_before(prompt))
    return {"kind": "classification", "reason": reason, "category": kind}


def _request(prompt: ParsedPrompt) -> str:
    """The request, or the last feedback if only that is a question about data."""
    feedback, lower = prompt.lines("feedback"), cues.plain(prompt["request"])
    follows = prompt["previous"] or _asked_before(prompt)
    ours = follows or (cues.is_question(lower) and not cues.is_talk(lower))
    later = feedback and cues.is_question(cues.plain(feedback[-1]))
    return feedback[-1] if later and not ours else prompt["request"]


def _asked_before(prompt: ParsedPrompt) -> str:
    """The question that the request may follow up: the previous one, or the conversation's questions combined."""
    question = prompt["previous_question"]
    for role, text in [] if question else re.findall(r"^(user|assistant): (.*)", prompt["conversation"], re.MULTILINE):
        if role == "user" and not cues.is_talk(cues.plain(text)):
            question = rewrite(text, question)
    return question


def answer_rewrite(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `rewrite_prompt`."""
    return {
        "kind": "rewritten",
        "question": rewrite(_request(prompt), _asked_before(prompt), prompt.lines("feedback")),
    }


def answer_tables(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `get_relevant_tables`."""
    chosen = relevant(prompt["question"], read_tables(prompt.lines("tables")), prompt.lines("feedback"))
    tables = [{"reason": why, "name": name} for name, why in chosen.tables]
    return {"kind": "tables", "tables": tables, "missing": chosen.missing}


def answer_trim(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `trim_relevant_tables`."""
    columns = columns_for(prompt["question"], read_tables(prompt.lines("tables")))
    tables = [{"table": table, "columns": list(names)} for table, names in columns.items()]
    return {"kind": "columns", "tables": tables}


def answer_generate(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `generate_sql`: a given statement is repaired, an accepted one is reused."""
    tables, dialect = read_tables(prompt.lines("tables")), prompt["dialect"] or "sqlite"
    if prompt["sql"]:
        written = _mended(prompt, tables, dialect)
    elif unheard := _unheard(prompt):
        cannot = f"I do not see how “{unheard[:200]}” changes the question. Please ask it anew, in full."
        written = Written(cannot=cannot)
    elif hint := _accepted(prompt):
        written = Written(hint, "The same question was answered with this before.")
    else:
        written = write_sql(prompt["question"], tables, dialect)
    if not written.sql:
        return {"kind": "cannot", "reason": written.cannot or "There is no rule for this question."}
    return {"kind": "query", "explanation": written.explanation, "sql": written.sql}


def _unheard(prompt: ParsedPrompt) -> str:
    """Feedback with words that the question lacks. Ignoring it would answer another question."""
    question_words = set(_words(prompt["question"]))
    return next((line for line in prompt.lines("feedback") if set(_words(line)) - {*question_words, *_FILLING}), "")


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _mended(prompt: ParsedPrompt, tables: Tables, dialect: str) -> Written:
    """The corrected statement; if it cannot be corrected, a new one for the question."""
    mended = mend(prompt["sql"], prompt["problem"] or prompt["question"], tables)
    if mended.sql:
        return mended
    anew = write_sql(prompt["question"], tables, dialect)
    return anew if anew.sql and anew.sql != prompt["sql"] else mended


def _accepted(prompt: ParsedPrompt) -> str:
    """The SQL of an accepted answer to the same question; "" if there is none, or if there is feedback."""
    question = _normal(prompt["question"])
    if prompt["feedback"] or not question:
        return ""
    return next(
        (str(hint["sql"]) for hint in prompt.objects("hints") if _normal(str(hint.get("question"))) == question), ""
    )


def _normal(question: str) -> str:
    return " ".join(question.casefold().split()).rstrip(" .?!")


def answer_format(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `format_final_response`."""
    rows = [row for line in prompt.lines("rows") if isinstance(row := parsed(line), list)]
    count = int(prompt["row_count"]) if prompt["row_count"].isdecimal() else len(rows)
    columns = [str(name) for name in parsed(prompt["columns"]) or ()]
    text, chart = answer(columns, rows, count, truncated=prompt["truncated"] == "true")
    return {"kind": "answer", "text": text, "chart": chart}


def answer_general(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `general_questions`."""
    if cues.wants_words(prompt["request"]):
        text = explain(prompt["request"]) or f"{DEMO_MODEL}explain a single SELECT without WITH or UNION. {CONNECT}"
        return {"kind": "answer", "text": text}
    tables = ", ".join(prompt.lines("tables")) or "none are shown"
    return {"kind": "answer", "text": f"{DEMO_MODEL}answer plain questions about these tables: {tables}. {CONNECT}"}
