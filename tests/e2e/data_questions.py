"""Questions to a database for the tests of the page: its tables, and the model's replies."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from playwright.async_api import Browser

from tests.e2e.browser import Person, Tab
from tests.support.parley import InProcess

SQL = "SELECT status, count(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC"
ANSWER = "Most orders are **delivered**."
REFUSAL = "The data cannot tell: no table knows the weather."
STATUSES = ("delivered", "delivered", "delivered", "pending", "pending", "cancelled")
PLANNED = (
    *("classify_prompt", "get_relevant_tables", "has_user_approved", "generate_sql", "validate_sql"),
    *("execute_sql", "format_final_response"),
)  # fmt: skip
OTHERS = ("addresses", "coupons", "items", "payments", "products", "returns", "reviews", "shops", "variants")
NOBODY = dict.fromkeys(("email", "first_name", "last_name", "zip"), "") | {"urgent": False}
SAYS: dict[str, Any] = {
    "path": {"paths": [{"flow": "text_to_sql", "nodes": list(PLANNED)}], "reasoning": "Their table, then the query."},
    "classify_prompt": {"category": "data", "reason": ""},
    "rewrite_prompt": {"question": "How are orders spread by status?"},
    "get_relevant_tables": {"tables": [{"name": "orders", "reason": "it has the status"}], "missing": ""},
    "trim_relevant_tables": {"tables": [{"table": "orders", "columns": ["status"]}]},
    "generate_sql": {"sql": SQL, "explanation": "Counts them."},
    "format_final_response": {"text": ANSWER, "chart": "bar"},
    "complaint_triage.classify_complaint": {"outputs": {"category": "late", "order_id": "#W1"} | NOBODY},
    "complaint_triage.write_reply": {"outputs": {"answer": "We are sorry."}},
}
FALLBACK = [{"paths": [{"flow": "text_to_sql", "nodes": ["execute_sql", "format_final_response"]}]}] * 3


def question_database(folder: Path) -> str:
    """The URL of a new database of eleven tables with 126 orders; one note looks like a spreadsheet formula."""
    path = folder / "questions.db"
    with closing(sqlite3.connect(path)) as store, store:
        for name in ("users", *OTHERS):
            store.execute(f"CREATE TABLE {name} ({name[:-1]}_id TEXT PRIMARY KEY)")
        columns = "order_id TEXT PRIMARY KEY, status TEXT, user_id TEXT REFERENCES users(user_id)"
        store.execute(f"CREATE TABLE orders ({columns}, total REAL, month TEXT, note TEXT)")
        for n in range(126):
            note = "=1+1" if n == 0 else 'said "no", twice' if n == 1 else None
            total, month = round(n * 37.5 % 900 - 20, 2), f"2025-{n % 12 + 1:02}"
            row = (f"#W{n:04}", STATUSES[n % 6], None, total, month, note)
            store.execute("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", row)
    return f"sqlite:///{path}"


class Analyst(Person):
    """A person who asks questions about the data."""

    def __init__(self, browser: Browser, parley: InProcess) -> None:
        super().__init__(browser, parley.url)
        self.parley = parley
        parley.model.replies = dict(SAYS)

    async def asks(self, request: str, confirm: str = "nodes", **replies: Any) -> Tab:
        """A tab in which this question has been sent. `replies`: replies of the model that differ from `SAYS`."""
        chosen = json.dumps({"workflow": "flow", "confirm": confirm})
        await self.context.add_init_script(f"localStorage.setItem('parley.choice', {json.dumps(chosen)})")
        self.parley.model.replies = SAYS | replies
        tab = await self.tab()
        await tab.sees("example", "pending")
        await tab.say(request)
        return tab
