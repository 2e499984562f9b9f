"""A small database in both SQL dialects, with hidden tables and columns, and recorded statements."""

import json
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]

from sql.database import Hidden, QueryLimits

HERE = Path(__file__).parents[1] / "sql"
HIDDEN = Hidden.parse("users.email, secrets, *.password")
LIMITS = QueryLimits(seconds=60)  # so that a slow machine gives the same outcomes


@cache
def statements(name: str, dialect: str) -> list[dict[str, Any]]:
    """The lines of tests/sql/<name>.jsonl for this dialect."""
    lines = (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [item for item in map(json.loads, lines) if item["dialect"] in (dialect, "both")]


def sqlite_shop(folder: Path) -> str:
    """Create the shop in this folder; its URL."""
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        parts = [(HERE / f"{part}.sql").read_text(encoding="utf-8") for part in ("shop", "shop_sqlite")]
        connection.executescript("\n".join(["BEGIN;", *parts, "COMMIT;"]))
    return f"sqlite:///{path}"


async def postgres_shop(url: str) -> str:
    """Create the shop in this empty database; its URL."""
    connection = await asyncpg.connect(url)
    try:
        for part in ("shop", "shop_postgres"):
            await connection.execute((HERE / f"{part}.sql").read_text(encoding="utf-8"))
    finally:
        await connection.close()
    return url
