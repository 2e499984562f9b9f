"""How long do lists, searches and diffs of stored plans take? `python -m bench.stored_plans [--plans 10000]`

“list” is a page of plans, “sessions” a page of sessions; “search” looks for words in all of them. Measured on SQLite
and PostgreSQL, with this many sessions, each with three versions of an execution plan of five steps.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import create_async_engine

from parley.events.values import Step
from services.plan_store import plans, queries
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.diff import diff
from services.plan_store.projection import Projector
from shared import store_api as api
from shared.domain import commands as c
from shared.settings import Settings
from shared.testing import InMemoryLog
from tests.support.stories import Conversation

MEASUREMENTS, ROWS_PER_INSERT = 200, 500
WORDS = ("refund", "cancel", "exchange", "address", "invoice", "ticket", "deploy", "report", "survey", "parcel")


def steps_of(number: int) -> tuple[Step, ...]:
    looks = [
        Step(text=f"Look up order {n}", tool="look", id=f"s{n}", effect="read", arguments={"order": f"#W{n}{number}"})
        for n in range(1, 5)
    ]
    last = Step(text="Pay it back", tool="pay", id="s5", effect="write", arguments={"sum": number}, after=("s1", "s4"))
    return (*looks, last)


async def fill(database: ProjectionDatabase, count: int) -> None:
    """Project one session, and copy its rows with other words for the rest."""
    log = InMemoryLog()
    story = Conversation(log)
    await story.commit(
        c.Say(text="Look four orders up", workflow="execution_plan"),
        c.DraftPlan(goal="Look four orders up", steps=steps_of(1), kind="execution"),
        c.EditPlan(base=2, steps=steps_of(2)),
        c.EditPlan(base=3, steps=steps_of(3)),
    )
    await Projector(log, database).load(story.id)
    async with database.begin() as connection:
        (session,) = (await connection.execute(select(t.sessions))).mappings().all()
        versions = (await connection.execute(select(t.plans))).mappings().all()
        for first in range(0, count - 1, ROWS_PER_INSERT):
            numbers = range(first, min(first + ROWS_PER_INSERT, count - 1))
            await connection.execute(insert(t.sessions), [_copy_session(session, number) for number in numbers])
            copies = [{**version, "session_id": f"copy-{number}"} for number in numbers for version in versions]
            await connection.execute(insert(t.plans), copies)


async def vacuum(url: str) -> None:
    """Run at once what PostgreSQL's autovacuum does within a minute after such an insert."""
    engine = create_async_engine(url, isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.exec_driver_sql("VACUUM ANALYZE")
    await engine.dispose()


def _copy_session(session: Any, number: int) -> dict[str, Any]:
    words = f"{WORDS[number % len(WORDS)]} number {number}"
    return {**session, "id": f"copy-{number}", "title": words, "search_text": f"{session['search_text']} {words}"}


async def measure(ask: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Median and 95th percentile, in milliseconds."""
    took = []
    for _ in range(MEASUREMENTS):
        began = time.perf_counter()
        await ask()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took), statistics.quantiles(took, n=20)[-1]


async def run(url: str, count: int) -> None:
    database = ProjectionDatabase(url)
    await database.migrate()
    await fill(database, count)
    if not database.is_sqlite:
        await vacuum(url)
    drawn = random.Random(7)

    async def listed() -> None:
        page = await plans.list_plans(database, api.ListPlans(user="ann", kinds=("execution",), limit=50))
        assert page.total == count

    async def searched() -> None:
        words = f"{drawn.choice(WORDS)} {drawn.randrange(count)}"
        await queries.list_sessions(database, api.ListSessions(user="ann", query=words, limit=50))

    async def looked() -> None:
        await queries.list_sessions(database, api.ListSessions(user="ann", limit=50))

    async def compared() -> None:
        name = f"copy-{drawn.randrange(count - 1)}"
        old, new = [await plans.get_plan(database, api.GetPlan(session_id=name, version=v)) for v in (2, 4)]
        assert diff(old, new).unified

    for name, ask in (("list", listed), ("sessions", looked), ("search", searched), ("diff", compared)):
        median, most = await measure(ask)
        print(f"{name:8} {median:7.1f} ms, at the 95th percentile {most:7.1f} ms")
    await database.close()


def main() -> None:
    from tests.support.postgres import postgres  # noqa: PLC0415  pytest loads it first, in a test that loads us

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--plans", type=int, default=10_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="parley-plans-") as folder, postgres() as server:
        for name, url in (
            ("SQLite", Settings(parley_home=Path(folder)).sql_url),
            ("PostgreSQL", Settings(database_url=server.url).sql_url),
        ):
            print(f"{name}, {args.plans:,} plans")
            asyncio.run(run(url, args.plans))


if __name__ == "__main__":
    main()
