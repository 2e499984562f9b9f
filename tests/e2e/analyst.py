"""A user who asks questions about data: the database, and the model's replies."""

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Locator

from shared.domain.kernel import commands as c
from tests.e2e.browser import Person, Tab
from tests.support.bus import FakeBus
from tests.support.parley import InProcess, in_process
from tests.support.plan_store_paths import Walk

QUESTION = "How are orders spread by status?"
SQL = "SELECT status, count(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC"
ANSWER = "Most orders are **delivered**."
REFUSAL = "The data cannot tell: no table knows the weather."
STATUSES = ("delivered", "delivered", "delivered", "pending", "pending", "cancelled")
PATH = (
    *("classify_prompt", "get_relevant_tables", "has_user_approved", "generate_sql", "validate_sql"),
    *("execute_sql", "format_final_response"),
)  # fmt: skip
OTHER_TABLES = ("addresses", "coupons", "items", "payments", "products", "returns", "reviews", "shops", "variants")
NO_CUSTOMER = dict.fromkeys(("email", "first_name", "last_name", "zip"), "") | {"urgent": False}
REPLIES: dict[str, Any] = {
    "path": {"paths": [{"flow": "text_to_sql", "nodes": list(PATH)}], "reasoning": "Their table, then the query."},
    "classify_prompt": {"category": "data", "reason": ""},
    "rewrite_prompt": {"question": "How are orders spread by status?"},
    "get_relevant_tables": {"tables": [{"name": "orders", "reason": "it has the status"}], "missing": ""},
    "trim_relevant_tables": {"tables": [{"table": "orders", "columns": ["status"]}]},
    "generate_sql": {"sql": SQL, "explanation": "Counts them."},
    "format_final_response": {"text": ANSWER, "chart": "bar"},
    "complaint_triage.classify_complaint": {"outputs": {"category": "late", "order_id": "#W1"} | NO_CUSTOMER},
    "complaint_triage.write_reply": {"outputs": {"answer": "We are sorry."}},
}


def question_database(folder: Path) -> str:
    """Creates a database of eleven tables with 126 orders, where one note looks like a formula; returns its URL."""
    path = folder / "questions.db"
    with closing(sqlite3.connect(path)) as store, store:
        for name in ("users", *OTHER_TABLES):
            store.execute(f"CREATE TABLE {name} ({name[:-1]}_id TEXT PRIMARY KEY)")
        columns = "order_id TEXT PRIMARY KEY, status TEXT, user_id TEXT REFERENCES users(user_id)"
        store.execute(f"CREATE TABLE orders ({columns}, total REAL, month TEXT, note TEXT)")
        for n in range(126):
            note = "=1+1" if n == 0 else 'said "no", twice' if n == 1 else None
            total, month = round(n * 37.5 % 900 - 20, 2), f"2025-{n % 12 + 1:02}"
            row = (f"#W{n:04}", STATUSES[n % 6], None, total, month, note)
            store.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", row)
    return f"sqlite:///{path}"


@asynccontextmanager
async def data_parley(home: Path) -> AsyncIterator[InProcess]:
    """A Parley with the database, whose user has accepted two answers before."""
    bus = FakeBus()
    for request in ("Umbrellas by colour", "Umbrellas by size"):
        earlier = Walk(bus.log, user="local")
        await earlier.answered(request)
        await earlier.commit(c.Judge(accepted=True))
    async with in_process(
        home, bus, parley_sql_database_url=question_database(home), parley_sql_max_rows=120
    ) as parley:
        yield parley


def node(tab: Tab, name: str) -> Locator:
    return tab("flow-node").and_(tab.page.locator(f'[data-node="{name}"]'))


class Analyst(Person):
    """A user who asks questions about the data."""

    def __init__(self, browser: Browser, parley: InProcess) -> None:
        super().__init__(browser, parley.url)
        self.parley = parley
        parley.model.replies = dict(REPLIES)

    async def ask(self, request: str, confirm: str = "nodes", **replies: Any) -> Tab:
        """Opens a tab and sends the question. `replies` override those in `REPLIES`."""
        choice = json.dumps({"workflow": "flow", "confirm": confirm})
        await self.context.add_init_script(f"localStorage.setItem('parley.choice', {json.dumps(choice)})")
        self.parley.model.replies = REPLIES | replies
        tab = await self.tab()
        await tab.wait_for("example", "pending")
        await tab.send(request)
        return tab

    async def ask_without_stops(self, request: str = QUESTION, **replies: Any) -> Tab:
        """Opens a tab with a question that is answered without stops."""
        tab = await self.ask(request, confirm="nothing", **replies)
        await tab.wait_for("answer")
        return tab
