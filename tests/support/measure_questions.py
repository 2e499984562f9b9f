"""How many English questions become the right result?

    python -m tests.support.measure_questions [store|held|library] [--postgres]

Each question of `tests/questions` is asked in a session of its own, a follow-up in that of the questions before it. It
runs through the full graph of `text_to_sql`, or with `--planned` along the model's path, with the rehearsal model. The
result is compared with that of the gold SQL. A question to be refused is right if no query ran. Prints right, wrong and
refused counts by kind, and every wrong answer; `-v` also lists needless refusals. Of `held` only the ids are printed.
"""

import argparse
import asyncio
import logging
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal, NamedTuple

import structlog

from shared.domain.session import Session
from shared.settings import Settings
from tests.support.path_play import LocalServices, local_services, outputs
from tests.support.postgres import postgres
from tests.support.questions import DATABASES, Question, load, same

Outcome = Literal["right", "wrong", "refused"]
OUTCOMES: tuple[Outcome, ...] = ("right", "wrong", "refused")
FULL_GRAPH = {"use_planning": False, "flow": "text_to_sql"}
HELD_OUT = "held"
MAX_ROWS_SHOWN = 3  # of a wrong result


class JudgedAnswer(NamedTuple):
    """`rows`: their number and the first ones; None if no query ran."""

    question: Question
    outcome: Outcome
    sql: str
    rows: str | None
    answer: str


async def ask_all(house: LocalServices, name: str, *, planned: bool = False) -> list[JudgedAnswer]:
    """Ask all questions of a file. The answers come in the file's order."""
    questions = load(name)
    by_id = {question.id: question for question in questions}
    followed = {question.after for question in questions}
    answers: dict[str, JudgedAnswer] = {}
    for last in (question for question in questions if question.id not in followed):
        talk = house.talk(planning={"flow": "text_to_sql"} if planned else FULL_GRAPH)
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


# --- printing


def table(all_judged: Sequence[JudgedAnswer]) -> list[str]:
    """Outcomes by kind, as a Markdown table for docs/performance.md."""
    kinds = list(dict.fromkeys(answer.question.kind for answer in all_judged))
    lines = ["| kind | questions | right | wrong | refused |", "| --- | ---: | ---: | ---: | ---: |"]
    for kind in (*sorted(kinds), ""):
        of_kind = [answer for answer in all_judged if kind in ("", answer.question.kind)]
        counts = count_outcomes(of_kind)
        cells = " | ".join(str(counts[outcome]) for outcome in OUTCOMES)
        lines.append(f"| {kind or '**all**'} | {len(of_kind)} | {cells} |")
    return lines


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


def settings_of(name: str, folder: Path, server: str) -> Settings:
    """With a server, the questions read its retail store; otherwise a SQLite file with only their tables."""
    if server:
        return Settings(parley_home=folder, retail_database_url=server, parley_sql_database_url="")
    return Settings(parley_home=folder, parley_sql_database_url=f"sqlite:///{DATABASES[name]()}")


async def print_report(name: str, server: str, *, planned: bool, verbose: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with local_services(settings_of(name, Path(folder), server)) as house:
            answers = await ask_all(house, name, planned=planned)
    counts = count_outcomes(answers)
    print(f"\n{name}{' on PostgreSQL' if server else ''}{', paths planned by the model' if planned else ''}\n")
    print("\n".join(table(answers)))
    shares = ", ".join(f"{outcome} {counts[outcome] / len(answers):.1%}" for outcome in OUTCOMES)
    print(f"\n{shares} of {len(answers)}")
    listed = ("wrong", "refused") if verbose else ("wrong",)
    for answer in answers:
        if answer.outcome in listed:
            print(describe(answer, secret=name == HELD_OUT))


def main() -> None:
    parser = argparse.ArgumentParser(description="Share of English questions that become the right result.")
    parser.add_argument("files", nargs="*", choices=[*DATABASES, []], help="all where none is named")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL of its own (the store's questions)")
    parser.add_argument("--planned", action="store_true", help="along the paths that the model plans")
    parser.add_argument("-v", "--verbose", action="store_true", help="list what was refused without need as well")
    args = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with postgres() if args.postgres else nullcontext() as server:
        if args.postgres and server is None:
            parser.error("PostgreSQL is not installed here.")
        names = args.files or [name for name in DATABASES if server is None or name != "library"]
        if server and "library" in names:
            parser.error("The library's tables are written for SQLite.")
        for name in names:
            asyncio.run(print_report(name, server.url if server else "", planned=args.planned, verbose=args.verbose))


if __name__ == "__main__":
    main()
