"""Asks the English questions of `tests/questions`, and compares the results with those of the gold SQL.

Each question is asked in a session of its own, a follow-up in that of the questions before it. It runs through the full
graph of `text_to_sql` with the rehearsal model. A question to be refused is right if no query ran.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from shared.domain.session import Session
from shared.settings import Settings
from tests.support.path_play import LocalServices, outputs
from tests.support.questions import DATABASES, Question, load, same

Outcome = Literal["right", "wrong", "refused"]
FULL_GRAPH = {"use_planning": False, "flow": "text_to_sql"}
MAX_ROWS_SHOWN = 3  # of a wrong result


class JudgedAnswer(NamedTuple):
    """`rows`: their number and the first ones; None if no query ran."""

    question: Question
    outcome: Outcome
    sql: str
    rows: str | None
    answer: str


async def ask_all(house: LocalServices, name: str) -> list[JudgedAnswer]:
    """Ask all questions of a file. The answers come in the file's order."""
    questions = load(name)
    by_id = {question.id: question for question in questions}
    followed = {question.after for question in questions}
    answers: dict[str, JudgedAnswer] = {}
    for last in (question for question in questions if question.id not in followed):
        talk = house.talk(planning=FULL_GRAPH)
        for question in _follow_up_chain(last, by_id):
            judged = judge(question, await talk.says(question.question))
            answers.setdefault(question.id, judged)
    return [answers[question.id] for question in questions]


def _follow_up_chain(last: Question, by_id: dict[str, Question]) -> list[Question]:
    """The questions of one session: the first one and its follow-ups."""
    chain = [last]
    while chain[0].after:
        chain.insert(0, by_id[chain[0].after])
    return chain


def judge(question: Question, session: Session) -> JudgedAnswer:
    execution = outputs(session, "execute_sql") or {}
    result: Any = execution.get("result")
    sql = str((outputs(session, "generate_sql") or {}).get("sql", ""))
    if not isinstance(result, dict):
        return JudgedAnswer(question, "right" if question.refuse else "refused", sql, None, session.answer.text)
    rows = result["rows"]
    fine = not question.refuse and same(question.rows, result["columns"], rows, question.ordered)
    return JudgedAnswer(
        question, "right" if fine else "wrong", sql, f"{len(rows)}: {rows[:MAX_ROWS_SHOWN]}", session.answer.text
    )


def count_outcomes(all_judged: Sequence[JudgedAnswer]) -> Counter[Outcome]:
    return Counter(answer.outcome for answer in all_judged)


def describe(answer: JudgedAnswer, *, secret: bool) -> str:
    """`secret`: print the id only, because the authors of the rules must not see held-out questions."""
    question = answer.question
    if secret:
        return f"{answer.outcome.upper()} {question.id} [{question.kind}]"
    after = f" (after: {question.after})" if question.after else ""
    gold = (
        question.why
        if question.refuse
        else f"{question.sql}\n    gold: {len(question.rows)}: {question.rows[:MAX_ROWS_SHOWN]}"
    )
    return (
        f"\n{answer.outcome.upper()} {question.id} [{question.kind}] {question.question}{after}\n  did:  {answer.sql}\n"
        f"    rows: {answer.rows}\n    said: {answer.answer[:300]}\n  gold: {gold}"
    )


def settings_of(name: str, folder: Path) -> Settings:
    """The questions read a SQLite file with only their tables."""
    return Settings(parley_home=folder, parley_sql_database_url=f"sqlite:///{DATABASES[name]()}")
