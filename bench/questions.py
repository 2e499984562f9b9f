"""How many English questions become the right result? `python -m bench.questions [store|held|library] [--postgres]`

Each question of `tests/questions` is asked in a session of its own, a follow-up after the questions that it
follows up, and goes through the nodes of `text_to_sql` in the order of the full graph, or with `--planned` as
the model plans it, with the rehearsal model behind them. What came of the query is held against what the gold
SQL gives. A question that is to be refused is right if nothing was run. Prints what was right, wrong and
refused by kind, and everything that was wrong; `-v` also what was refused without need. Of `held` only the ids
are told.
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
from tests.support.path_play import House, housed, outputs
from tests.support.postgres import postgres
from tests.support.questions import DATABASES, Question, load, same

Outcome = Literal["right", "wrong", "refused"]
OUTCOMES: tuple[Outcome, ...] = ("right", "wrong", "refused")
FULL = {"use_planning": False, "flow": "text_to_sql"}
HELD = "held"
SHOWN = 3  # rows of a wrong result


class Judged(NamedTuple):
    """`rows`: how many, and the first of them; None where nothing was run."""

    question: Question
    outcome: Outcome
    sql: str
    rows: str | None
    answer: str


async def measured(house: House, name: str, *, planned: bool = False) -> list[Judged]:
    """All questions of a file, in its order."""
    questions = load(name)
    by_id = {one.id: one for one in questions}
    followed = {one.after for one in questions}
    found: dict[str, Judged] = {}
    for last in (one for one in questions if one.id not in followed):
        talk = house.talk(planning={"flow": "text_to_sql"} if planned else FULL)
        for one in _since(last, by_id):
            judged = judge(one, await talk.says(one.question))
            found.setdefault(one.id, judged)
    return [found[one.id] for one in questions]


def _since(last: Question, by_id: dict[str, Question]) -> list[Question]:
    """The questions of one session: the first one, and what follows it up."""
    chain = [last]
    while chain[0].after:
        chain.insert(0, by_id[chain[0].after])
    return chain


def judge(question: Question, session: Session) -> Judged:
    made = outputs(session, "execute_sql") or {}
    result: Any = made.get("result")
    sql = str((outputs(session, "generate_sql") or {}).get("sql", ""))
    if not isinstance(result, dict):
        return Judged(question, "right" if question.refuse else "refused", sql, None, session.answer.text)
    rows = result["rows"]
    fine = not question.refuse and same(question.rows, result["columns"], rows, question.ordered)
    return Judged(question, "right" if fine else "wrong", sql, f"{len(rows)}: {rows[:SHOWN]}", session.answer.text)


def counted(all_judged: Sequence[Judged]) -> Counter[Outcome]:
    return Counter(one.outcome for one in all_judged)


# --- printing


def table(all_judged: Sequence[Judged]) -> list[str]:
    """By kind, as the performance document has it."""
    kinds = list(dict.fromkeys(one.question.kind for one in all_judged))
    lines = ["| kind | questions | right | wrong | refused |", "| --- | ---: | ---: | ---: | ---: |"]
    for kind in (*sorted(kinds), ""):
        of_kind = [one for one in all_judged if kind in ("", one.question.kind)]
        counts = counted(of_kind)
        cells = " | ".join(str(counts[outcome]) for outcome in OUTCOMES)
        lines.append(f"| {kind or '**all**'} | {len(of_kind)} | {cells} |")
    return lines


def told(one: Judged, *, secret: bool) -> str:
    """`secret`: the questions are kept from whoever makes the rules, so that they are not told."""
    question = one.question
    if secret:
        return f"{one.outcome.upper()} {question.id} [{question.kind}]"
    after = f" (after: {question.after})" if question.after else ""
    gold = (
        question.why if question.refuse else f"{question.sql}\n    gold: {len(question.rows)}: {question.rows[:SHOWN]}"
    )
    return (
        f"\n{one.outcome.upper()} {question.id} [{question.kind}] {question.question}{after}\n  did:  {one.sql}\n"
        f"    rows: {one.rows}\n    said: {one.answer[:300]}\n  gold: {gold}"
    )


def settings_of(name: str, folder: Path, server: str) -> Settings:
    """The store on PostgreSQL is the retail store of a server; else it is a file with the questions' tables alone."""
    if server:
        return Settings(parley_home=folder, retail_database_url=server, parley_sql_database_url="")
    return Settings(parley_home=folder, parley_sql_database_url=f"sqlite:///{DATABASES[name]()}")


async def report(name: str, server: str, *, planned: bool, verbose: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with housed(settings_of(name, Path(folder), server)) as house:
            found = await measured(house, name, planned=planned)
    counts = counted(found)
    print(f"\n{name}{' on PostgreSQL' if server else ''}{', paths planned by the model' if planned else ''}\n")
    print("\n".join(table(found)))
    shares = ", ".join(f"{outcome} {counts[outcome] / len(found):.1%}" for outcome in OUTCOMES)
    print(f"\n{shares} of {len(found)}")
    listed = ("wrong", "refused") if verbose else ("wrong",)
    for one in found:
        if one.outcome in listed:
            print(told(one, secret=name == HELD))


def main() -> None:
    parser = argparse.ArgumentParser(description="Share of English questions that become the right result.")
    parser.add_argument("files", nargs="*", choices=[*DATABASES, []], help="all where none is named")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL of its own (the store's questions)")
    parser.add_argument("--planned", action="store_true", help="along the paths that the model plans")
    parser.add_argument("-v", "--verbose", action="store_true", help="list what was refused without need as well")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with postgres() if given.postgres else nullcontext() as server:
        if given.postgres and server is None:
            parser.error("PostgreSQL is not installed here.")
        names = given.files or [name for name in DATABASES if server is None or name != "library"]
        if server and "library" in names:
            parser.error("The library's tables are written for SQLite.")
        for name in names:
            asyncio.run(report(name, server.url if server else "", planned=given.planned, verbose=given.verbose))


if __name__ == "__main__":
    main()
