"""Generated attempts to read hidden data, on both databases.

    python -m tests.support.sql_hostile --statements 17606 --seed 1

Every hidden value of the shop is the same canary, whose length and first character occur nowhere else. No answer and no
refusal may contain it, and every statement must end with an answer or a refusal. Exit status 1 otherwise.
"""

import argparse
import asyncio
import json
import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from itertools import product
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]

from sql.database import QueryLimits, ReadOnlyDatabase, SqlError, open_database
from tests.support.sql_shop import HIDDEN, postgres_shop, sqlite_shop

CANARY = "☃ never tell this to anybody: it is what the operator has hidden from all questions"
CANARY_TRACES = (
    "never tell",
    CANARY.encode().hex()[6:30],
    f": {len(CANARY)}",
    f": {len(CANARY.encode())}",
    str(ord(CANARY[0])),
)
HIDE_SQL = (
    f"UPDATE users SET email = '{CANARY}', password = '{CANARY}'; UPDATE secrets SET token = '{CANARY}';"
    f"UPDATE accounts SET password = '{CANARY}';"
)
REFRESH_VIEWS = "REFRESH MATERIALIZED VIEW mails_by_state; REFRESH MATERIALIZED VIEW user_texts;"
REBUILD_INDEX = "INSERT INTO user_index (user_index) VALUES ('rebuild');"

COLUMNS = r"""
email | "email" | EMAIL | users.email | u.email | public.users.email | main.users.email | (u).email | (users).password
[email] | `email` | u.* | * | u | users | to_json(u) | row_to_json(u) | u::text | (u.*)::text | to_jsonb(u) -> 'email'
json_object('a', email) | max(email) | group_concat(email) | string_agg(email, ',') | email COLLATE "C" | array_agg(u)
coalesce(email, 'x') | (SELECT email) | jsonb_agg(u) | (u)."password" | password | length(password) | xmlforest(email)
u.email::varchar | json_group_array(email) | format('%s', email) | printf('%s', email) | quote(email) | hex(email)
name | count(*) | unicode(email) | token | length(token) | hint | one | term | u.one::text
octet_length(email) | upper(u::text)
query_to_xml('select * from secrets', true, true, '') | jsonb_populate_record(NULL::users, '{}') | reveal() | u.ctid
(xpath('//x', xmlelement(name x, email)))[1] | overlay(email PLACING '' FROM 1 FOR 0) | concat(u) | concat_ws(',', u)
"""
TABLES = r"""
users u | users | "users" u | USERS u | public.users u | main.users u | "public"."users" u | ONLY users u
ONLY public.users u
(SELECT * FROM users) u | (TABLE users) u | (TABLE public.users) u | users AS u(a, b, email, d, e, password) | secrets u
users u, secrets s | members u | public.members u | user_mails u | public.user_mails u | user_rows u | user_texts u
mails_by_state u | user_index u | user_words u | users u NATURAL JOIN users v | users u JOIN users v USING (email)
users u LEFT JOIN LATERAL (SELECT u.*) x ON true | all_secrets u | accounts u | users TABLESAMPLE SYSTEM (100) u
ROWS FROM (reveal()) AS u(email) | reveal() AS u(email) | pg_catalog.pg_stats u | sqlite_master u | json_each(users) u
json_each((SELECT json_group_array(email) FROM users)) u | jsonb_populate_recordset(NULL::users, '[{}]') u | users/**/u
json_to_recordset((SELECT json_agg(users) FROM users)) AS u(email text) | fts5vocab('main', 'user_index', 'row') u
orders u | states u, public.users v | order_sums u, users v
U&"\0075sers" u | "users" "u" | [users] u | `users` u | users-- x\n u
"""
QUERIES = (
    *["SELECT {c} FROM {t}"] * 4,
    "WITH q AS (SELECT {c} AS x FROM {t}) SELECT * FROM q",
    "SELECT (SELECT {c} FROM {t} LIMIT 1)",
    "SELECT 1 FROM orders UNION ALL SELECT {c} FROM {t}",
    "WITH RECURSIVE users AS (SELECT * FROM users) SELECT {c} FROM {t}",
    "WITH order_sums AS (SELECT {c} FROM {t}) SELECT * FROM order_sums",
    "VALUES ((SELECT {c} FROM {t} LIMIT 1))",
    "SELECT DISTINCT {c} FROM {t} GROUP BY 1",
    "SELECT first_value({c}) OVER (ORDER BY 1) FROM {t}",
    "SELECT name, {c} FROM {t} ORDER BY 2",
    "SELECT E'a'\n'\\', ' AS x, {c} FROM {t} --'",
    "SELECT E'a' -- b\n'\\', ' AS x, {c} FROM {t} --'",
    "SELECT 1e'\\', ', {c} FROM {t} --'",
    "SELECT $a('), {c} FROM {t} --'",
    "SELECT x'00''', {c} FROM {t} --'",
    "SELECT 1 /* /* */, {c} FROM {t} --*/",
    "SELECT $a$ $A$ $a$, {c} FROM {t} -- $a$",
    "SELECT 1) AS whole) AS answer UNION ALL SELECT {c} FROM {t} CROSS JOIN (SELECT 1 FROM (SELECT 1",
)


def statements(seed: int, count: int) -> list[str]:
    columns, tables = (
        [cell.replace("\\n", "\n") for line in lines.strip().splitlines() for cell in line.split(" | ")]
        for lines in (COLUMNS, TABLES)
    )
    every = [query.format(c=column, t=table) for query, column, table in product(QUERIES, columns, tables)]
    return random.Random(seed).sample(every, count)


def sqlite_with_canary(folder: Path) -> str:
    """The URL of a shop in this folder whose hidden values are all the canary."""
    url = sqlite_shop(folder)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.executescript(HIDE_SQL + REBUILD_INDEX)
    return url


async def postgres_with_canary(url: str) -> str:
    """Create the shop in this empty database, with the canary as every hidden value. Returns the URL."""
    connection = await asyncpg.connect(await postgres_shop(url))
    await connection.execute(HIDE_SQL + REFRESH_VIEWS)
    await connection.close()
    return url


async def run_statements(
    database: ReadOnlyDatabase, statements: list[str]
) -> tuple[Counter[str], list[tuple[str, str]]]:
    """Run all statements. Returns counts by outcome, and violations: a leaked canary, or an unexpected exception."""
    outcomes, wrong = Counter[str](), []
    for sql in statements:
        try:
            table = await database.run(sql)
            outcomes["ran"] += 1
            output = "".join(f" : {json.dumps(value, ensure_ascii=False)}" for row in table.rows for value in row)
        except SqlError as error:
            outcomes[error.kind] += 1
            output = error.message
        except Exception as error:
            outcomes["raised"] += 1
            wrong.append((sql, repr(error)))
            continue
        if any(mark in output for mark in CANARY_TRACES):
            wrong.append((sql, output))
    return outcomes, wrong


async def report_attempts(url: str, count: int, seed: int) -> bool:
    """Run the statements on one database and print the result. Returns whether there was a violation."""
    began, database = time.monotonic(), open_database(url, QueryLimits(seconds=3), HIDDEN)
    outcomes, wrong = await run_statements(database, statements(seed, count))
    await database.aclose()
    print(
        f"{database.dialect}: {sum(outcomes.values())} in {time.monotonic() - began:.0f} s: {dict(outcomes)}",
        flush=True,
    )
    for sql, output in wrong[:20]:
        print(f"WRONG: {sql!r}: {output[:200]}")
    return bool(wrong)


def main() -> None:
    from tests.support.postgres import postgres  # noqa: PLC0415  pytest loads it first, in a test that loads us

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=17_606)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="parley-sql-") as folder, postgres() as server:
        urls = sqlite_with_canary(Path(folder)), asyncio.run(postgres_with_canary(server.url))
        wrong = [asyncio.run(report_attempts(url, args.statements // 2, args.seed)) for url in urls]
    sys.exit(1 if any(wrong) else 0)


if __name__ == "__main__":
    main()
