"""Values of PostgreSQL as the database writes them: moments in its zone, and numbers with their digits."""

from typing import Any

import asyncpg  # type: ignore[import-untyped]
from sqlalchemy.engine import make_url

from sql.database import open_database

pytest_plugins = ("tests.support.postgres",)

AT = "'2026-03-01 00:30+08'::timestamptz"
MOMENTS: tuple[tuple[str, str, Any], ...] = (
    ("Asia/Shanghai", f"date_trunc('month', {AT})", "2026-03-01T00:00:00+08:00"),
    ("Asia/Shanghai", f"{AT}::date", "2026-03-01"),
    ("Asia/Shanghai", "'infinity'::timestamptz", "infinity"),
    ("Asia/Shanghai", "'2026-03-01'::timestamp", "2026-03-01T00:00:00"),
    ("Asia/Shanghai", f"tstzrange({AT}, NULL)", "[2026-03-01T00:30:00+08:00,)"),
    ("Asia/Shanghai", f"ARRAY[{AT}]", ["2026-03-01T00:30:00+08:00"]),
    ("Asia/Shanghai", f"ROW({AT})", ["2026-03-01T00:30:00+08:00"]),
    ("Asia/Shanghai", f"to_json({AT})", "2026-03-01T00:30:00+08:00"),
    ("Asia/Shanghai", "'1890-01-01'::timestamptz", "1890-01-01T00:00:00+08:05:43"),
    ("Asia/Kolkata", AT, "2026-02-28T22:00:00+05:30"),
    ("Asia/Kolkata", "'0044-03-15 BC'::timestamptz", "0044-03-15T00:00:00+05:53:28 BC"),
    ("Asia/Kolkata", "'20000-01-01'::timestamptz", "20000-01-01T00:00:00+05:30"),
    ("America/New_York", "'2026-07-01'::timestamptz", "2026-07-01T00:00:00-04:00"),
    ("America/New_York", "'12000-07-01'::timestamptz", "12000-07-01T00:00:00-04:00"),
    ("<+03>-03", AT, "2026-02-28T19:30:00+03:00"),
    ("<-0330>03:30", AT, "2026-02-28T13:00:00-03:30"),
    ("FOO-3BAR", AT, "2026-02-28 19:30:00+03"),
    ("<+99>-99", AT, "2026-03-04 19:30:00+99"),
    ("UTC", AT, "2026-02-28T16:30:00+00:00"),
    ("Asia/Shanghai", "'2026-03-01 00:30:00.120+08'::timestamptz", "2026-03-01T00:30:00.12+08:00"),
    ("UTC", "'2026-03-01 00:30:00.5'::timestamp", "2026-03-01T00:30:00.5"),
    ("UTC", "'00:30:00.5'::time", "00:30:00.5"),
)
NUMBERS: tuple[tuple[str, Any], ...] = (
    ("SELECT 19.99::real", ((19.99,),)),
    ("SELECT ARRAY[0.1::real, 1e-40::real, 3.4028235e38::real]", (([0.1, 1e-40, 3.4028235e38],),)),
    ("SELECT ROW(19.99::real)", (([19.99],),)),
    ("SELECT 'NaN'::real", (("nan",),)),
    ("SELECT '113112.016'::real", ((113112.016,),)),
    ("SELECT '0/16B3740'::pg_lsn", (("0/16B3740",),)),
    ("SELECT 12.30, 5.00, 5", (("12.30", "5.00", 5),)),
    ("SELECT sum(x) FROM (VALUES (1), (2)) AS v (x)", ((3,),)),
    ("SELECT x FROM (VALUES (1), (NULL), (2.50)) AS v (x)", (("1",), (None,), ("2.50",))),
    ("SELECT x FROM (VALUES (100::numeric), (2)) AS v (x)", ((100,), (2,))),
    ("SELECT -0.00, 1e-5::numeric", (("0.00", "0.00001"),)),
    ("SELECT 0.1::float8 + 0.2", ((0.30000000000000004,),)),
    ("SELECT 12.34::money", (("$12.34",),)),
)


async def test_a_moment_stands_in_the_zone_of_the_database(postgres_url: str) -> None:
    for zone in dict.fromkeys(zone for zone, _, _ in MOMENTS):
        connection = await asyncpg.connect(postgres_url)
        await connection.execute(f"ALTER DATABASE {make_url(postgres_url).database} SET timezone TO '{zone}'")
        await connection.close()
        database = open_database(postgres_url)
        try:
            for sql, text in [(sql, text) for in_zone, sql, text in MOMENTS if in_zone == zone]:
                assert (await database.run(f"SELECT {sql} AS at")).rows == ((text,),), (zone, sql)
        finally:
            await database.aclose()


async def test_an_interval_has_the_style_of_the_role(postgres_url: str) -> None:
    database = open_database(f"{postgres_url}?intervalstyle=iso_8601")
    try:
        assert (await database.run("SELECT '1 year 2 days'::interval AS long")).rows == (("P1Y2D",),)
    finally:
        await database.aclose()


async def test_numbers_keep_their_digits(postgres_url: str) -> None:
    database = open_database(postgres_url)
    try:
        for sql, rows in NUMBERS:
            assert (await database.run(sql)).rows == rows, sql
    finally:
        await database.aclose()
