"""Read-only SQL tools: guards, limits, and the settings by which a query needs approval."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from packs.database.pack import CONFIRM, DatabasePack, open_configured
from services.executor.sources.packs import PackSource
from services.executor.tools import Registry, ToolInvocation, ToolResult
from services.planner.agentflow import validate
from services.planner.agentflow_prompt import Planned, TurnDraft
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.plan.policy import with_ruling
from shared.settings import Settings
from tests.support.sql_shop import sqlite_shop
from tests.unit.domain.spec import given, request

SESSION = Session("s")
QUERY = Planned(tool="query_database", arguments={"sql": "SELECT count(*) FROM orders"})


class Reader:
    """The pack over a small database."""

    def __init__(self, pack: DatabasePack) -> None:
        self.registry = Registry(PackSource((pack,)))

    async def call(self, name: str, **arguments: JsonValue) -> ToolResult:
        tool = self.registry.find(name)
        assert tool
        return await tool.run(ToolInvocation(SESSION, "k", arguments))


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Reader]:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.executescript(
            "CREATE TABLE orders (id TEXT PRIMARY KEY, secret TEXT); INSERT INTO orders VALUES ('1', 'x'), ('2', 'y');"
            "CREATE TABLE hidden (id TEXT);"
        )
    pack = DatabasePack()
    hidden = "orders.secret, hidden"
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    await pack.open(Settings(parley_sql_database_url=url, parley_sql_hidden=hidden, parley_sql_max_rows=1))
    yield Reader(pack)
    await pack.close()


async def test_the_local_time_of_sqlite_is_the_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    database = open_configured(Settings(parley_sql_database_url=sqlite_shop(tmp_path)))
    assert (await database.run("SELECT datetime('2026-03-01', 'localtime')")).rows == (("2026-03-01 05:30:00",),)
    await database.aclose()


async def test_tables_are_listed_described_and_queried_within_limits(reader: Reader) -> None:
    listed = await reader.call("list_tables")
    assert listed.value == {"dialect": "sqlite", "tables": [{"name": "orders", "comment": "", "rows": 2}]}
    described = await reader.call("describe_tables", tables=["ORDERS"])
    assert isinstance(described.value, dict)
    assert "secret" not in str(described.value)
    result = await reader.call("query_database", sql="SELECT id FROM orders ORDER BY id")
    assert isinstance(result.value, dict)
    assert (result.value["rows"], result.value["truncated"]) == ([["1"]], True)


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("query_database", {"sql": "DELETE FROM orders"}, "Error: "),
        ("query_database", {"sql": "SELECT secret FROM orders"}, "secret"),
        ("query_database", {"sql": "SELECT 1; SELECT 2"}, "Error: "),
        ("query_database", {"sql": "SELECT nothing FROM orders"}, "nothing"),
        ("describe_tables", {"tables": ["hidden"]}, "there is no table hidden"),
        ("describe_tables", {"tables": []}, "tables: "),
    ],
)
async def test_a_forbidden_or_invalid_read_is_refused_with_the_reason(
    reader: Reader, tool: str, arguments: dict[str, Any], why: str
) -> None:
    result = await reader.call(tool, **arguments)
    assert not result.ok
    assert why in result.error
    assert result.error.startswith("Error: "), "the prefix means that a retry would fail in the same way"


async def test_a_database_that_cannot_be_opened_fails_the_call(tmp_path: Path) -> None:
    pack = DatabasePack()
    await pack.open(Settings(parley_home=tmp_path))
    result = await Reader(pack).call("list_tables")
    assert (result.ok, "retail.db" in result.error) == (False, True)


@pytest.mark.parametrize(
    ("settings", "remembered", "needs_approval"),
    [
        ({}, None, True),
        ({"confirm": "path"}, None, True),
        ({"approval": "never"}, None, True),
        ({"confirm": "nothing"}, None, False),
        ({}, "never", False),
    ],
    ids=["default", "path", "approvals off", "confirm nothing", "never again"],
)
def test_the_settings_decide_whether_a_query_needs_approval(
    settings: dict[str, Any], remembered: Any, needs_approval: bool
) -> None:
    message = [c.Remember(tool=QUERY.tool, policy=remembered)] if remembered else []
    session = given(request("agentflow", **settings), *message).session
    registry = Registry(PackSource((DatabasePack(),)))
    specs = [tool.spec for tool in registry.all().values()]
    (action,) = validate(session, TurnDraft(actions=[QUERY]), specs).actions
    assert with_ruling(session, action).approval_reason == (CONFIRM if needs_approval else None)
    rule = registry.all()[QUERY.tool].rule(session)
    assert rule
    assert (rule.policy == "always") is needs_approval, "the tool's rule needs approval even if the plan does not"
    list_rule = registry.all()["list_tables"].rule(session)
    assert list_rule
    assert (list_rule.policy, list_rule.quiet) == (None, True)
