"""The flow text_to_sql over a real SQLite file: the executor runs its ten nodes with a scripted model."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from flows.text_to_sql.database_access import OpenDatabase
from flows.text_to_sql.flow import CONFIRM, TextToSql
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from sql.database import ReadOnlyDatabase, open_database
from sql.schema import Hidden
from tests.support.flow_walk import Walk, last, waiting, walked
from tests.support.prompt_sections import sections_of
from tests.support.sql_shop import LIMITS
from tests.unit.test_flows_sql_graph import FULL_PATH

pytestmark = pytest.mark.asyncio(loop_scope="module")
SHOP = """
CREATE TABLE users (user_id TEXT PRIMARY KEY, city TEXT, password TEXT);
CREATE TABLE orders (order_id TEXT PRIMARY KEY, user_id TEXT REFERENCES users, status TEXT);
INSERT INTO users VALUES ('ann', 'Austin', 'x'), ('bob', 'Boston', 'y');
INSERT INTO orders VALUES ('#1', 'ann', 'pending'), ('#2', 'bob', 'pending'), ('#3', 'bob', 'delivered');
"""
COUNT = "SELECT count(*) AS n FROM orders WHERE status = 'pending'"
REPLIES: dict[str, Any] = {
    "classify_prompt": {"category": "data", "reason": ""},
    "rewrite_prompt": {"question": "How many orders are pending?"},
    "get_relevant_tables": {"tables": [{"name": "Orders", "reason": "their status"}], "missing": ""},
    "trim_relevant_tables": {
        "tables": [{"table": "orders", "columns": ["status", "mood"]}, {"table": "gone", "columns": ["x"]}]
    },
    "generate_sql": {"sql": COUNT, "explanation": "Counts."},
    "format_final_response": {"text": "Two.", "chart": "bar"},
    "general_questions": {"text": "I answer questions."},
}


HIDDEN = Hidden.parse("users.password")


class Shop:
    """The flow over this database; `saved` are the user's accepted questions with their SQL."""

    def __init__(self, path: Path, opens: OpenDatabase) -> None:
        self.path = path
        self.saved: list[tuple[str, str]] = []
        self.flow = TextToSql(opens, self._hints)

    def walk(self, **replies: Any) -> Walk:
        return Walk(self.flow, **(REPLIES | replies))

    async def _hints(self, user: str, question: str) -> Sequence[tuple[str, str]]:
        assert (user, bool(question)) == ("ann", True)
        return self.saved


def shop_file(folder: Path) -> Path:
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SHOP)
    return path


def opened(path: Path) -> ReadOnlyDatabase:
    return open_database(f"sqlite:///{path}", LIMITS, HIDDEN)


@pytest.fixture(scope="module")
def shared_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shop_file(tmp_path_factory.mktemp("shop"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def database(shared_file: Path) -> AsyncIterator[ReadOnlyDatabase]:
    """One connection for all tests, which only read: a connection starts a process, which takes half a second."""
    database = opened(shared_file)
    yield database
    await database.aclose()


@pytest.fixture
def shop(shared_file: Path, database: ReadOnlyDatabase) -> Shop:
    async def opens() -> ReadOnlyDatabase:
        return database

    return Shop(shared_file, opens)


def path(*nodes: str) -> tuple[str, ...]:
    return tuple(f"text_to_sql.{name}" for name in nodes)


def last_prompt(walk: Walk, task: str) -> str:
    """The newest prompt of this task."""
    return [prompt.data for prompt in walk.model.prompts if prompt.task == task][-1]


def answer(session: Session) -> str:
    result = last(session).result
    assert isinstance(result, dict), last(session).error
    return str(result["answer"])


def result_of(session: Session, node: str) -> Any:
    assert session.turn
    result = [a.result for a in session.turn.actions if a.spec.tool.endswith(f".{node}") and a.status == "finished"]
    return result[-1]


# --- a question and its answer


async def test_a_question_is_answered_after_the_user_confirms_tables_and_sql(shop: Shop) -> None:
    shop.saved = [("How many orders?", "SELECT count(*) FROM orders")]
    walk = shop.walk()
    asking = await walk.begins("How many are pending?", *path(*FULL_PATH))
    assert asking.question
    assert "orders (their status)" in asking.question.text
    form: Any = asking.question.form
    assert form["tables"][0] == {
        "name": "orders",
        "reason": "their status",
        "chosen": True,
        "columns": ["order_id TEXT key", "user_id TEXT → users.user_id", "status TEXT"],
    }
    assert [table["name"] for table in form["tables"]] == ["orders", "users"]
    paused = await walk.answers("yes")
    spec = waiting(paused).spec
    assert (spec.tool, spec.arguments, spec.approval_reason) == ("text_to_sql.execute_sql", {"sql": COUNT}, CONFIRM)
    session = await walk.allows()
    assert tuple(walked(session)) == FULL_PATH
    result = result_of(session, "execute_sql")
    assert (result["problem"], result["result"]["rows"], result["result"]["truncated"]) == ("", [[2]], False)
    assert last(session).result == {"answer": "Two.", "chart": "bar"}
    sql_prompt = last_prompt(walk, "generate_sql")
    assert '{"question": "How many orders?", "sql": "SELECT count(*) FROM orders"}' in sql_prompt
    assert sections_of(sql_prompt)["dialect"] == "sqlite"
    assert "feedback" not in sections_of(sql_prompt), "the answer was about the tables"
    assert "password" not in "".join(prompt.data for prompt in walk.model.prompts)
    assert result_of(session, "trim_relevant_tables") == {"columns": {"orders": ["status"]}}
    result_sections = sections_of(last_prompt(walk, "format_final_response"))
    assert (result_sections["rows"], result_sections["row_count"]) == ("[2]", "1")


async def test_an_answer_without_table_names_starts_another_search_for_tables(shop: Shop) -> None:
    second_reply = {"tables": [{"name": "users", "reason": "cities"}], "missing": ""}
    walk = shop.walk(get_relevant_tables=[REPLIES["get_relevant_tables"], second_reply])
    await walk.begins("How many are pending?", *path(*FULL_PATH))
    session = await walk.answers("I meant the cities of customers")
    assert session.question
    assert "users (cities)" in session.question.text
    assert session.question.text.startswith("“I meant the cities of customers” names no table here.")
    assert sections_of(last_prompt(walk, "get_relevant_tables"))["feedback"] == "I meant the cities of customers"


async def test_a_query_of_tables_that_were_not_approved_is_sent_back(shop: Shop) -> None:
    unapproved = {"sql": "SELECT city FROM users", "explanation": ""}
    walk = shop.walk(generate_sql=[unapproved, REPLIES["generate_sql"]])
    await walk.begins("How many are pending?", *path(*FULL_PATH))
    session = await walk.answers("yes")
    assert waiting(session).spec.arguments == {"sql": COUNT}
    assert "It reads users; only orders may be used." in last_prompt(walk, "generate_sql")


# --- invalid and harmful queries


async def test_a_query_is_repaired_with_the_database_s_error_at_most_twice(shop: Shop) -> None:
    wrong = {"sql": "SELECT mood FROM orders", "explanation": ""}
    walk = shop.walk(generate_sql=[wrong, REPLIES["generate_sql"]])
    session = await walk.begins("x", *path("generate_sql", *FULL_PATH[6:]), confirm="nothing")
    assert answer(session) == "Two."
    repair_prompt = last_prompt(walk, "generate_sql")
    assert sections_of(repair_prompt)["sql"] == "SELECT mood FROM orders"
    assert "mood" in sections_of(repair_prompt)["problem"]

    walk = shop.walk(generate_sql=wrong)
    session = await walk.begins("x", *path("generate_sql", *FULL_PATH[6:]), confirm="nothing")
    assert walked(session) == ["generate_sql", "validate_sql"] * 3 + ["format_final_response"]
    assert "mood" in answer(session)


async def test_a_query_that_fails_at_run_time_is_repaired_too(shop: Shop) -> None:
    bad = {"sql": "SELECT abs(-9223372036854775807 - 1) FROM orders", "explanation": ""}
    walk = shop.walk(generate_sql=[bad, REPLIES["generate_sql"]])
    session = await walk.begins("x", *path("generate_sql", *FULL_PATH[6:]), confirm="nothing")
    assert walked(session)[:4] == ["generate_sql", "validate_sql", "execute_sql", "generate_sql"]
    assert "overflow" in last_prompt(walk, "generate_sql")
    assert answer(session) == "Two."


async def test_sql_in_the_request_is_validated_before_it_is_repaired(shop: Shop) -> None:
    walk = shop.walk()
    request = f"Fix this SQL: {COUNT.replace('count', 'coutn')}"
    await walk.commit(c.Say(text=request, workflow="flow"))
    state = (await walk.page("s")).states["text_to_sql"]
    assert (state["sql"], state["fix"]) == (COUNT.replace("count", "coutn"), True)
    await walk.commit(c.Stop())
    session = await walk.begins(request, *path(*FULL_PATH), confirm="nothing")
    assert walked(session)[:3] == ["classify_prompt", "validate_sql", "generate_sql"]
    assert "coutn" in last_prompt(walk, "generate_sql")
    assert answer(session) == "Two."


async def test_sql_may_be_checked_without_running_it(shop: Shop) -> None:
    session = await shop.walk().begins(f"Is this valid? {COUNT}", *path("validate_sql", "format_final_response"))
    assert answer(session) == "The query is valid. It reads orders, and was not run."


@pytest.mark.parametrize(
    ("request_text", "why"),
    [
        ("DELETE FROM orders", "DELETE"),
        ("SELECT password FROM users", "password"),
        ("Fix this: DELETE FORM orders WHERE 1", "DELETE"),
        ("SELECT load_extension('x')", "load_extension"),
        ("SELECT * FROM orders; DROP TABLE orders", "one"),
    ],
)
async def test_harmful_sql_in_the_request_is_refused_and_not_rewritten(shop: Shop, request_text: str, why: str) -> None:
    walk = shop.walk()
    session = await walk.begins(request_text, *path(*FULL_PATH), confirm="nothing")
    assert walked(session) == ["classify_prompt", "validate_sql", "format_final_response"]
    assert why in answer(session)
    with sqlite3.connect(shop.path) as database:
        assert database.execute("SELECT count(*) FROM orders").fetchone() == (3,)
    database.close()


# --- questions without an answer


@pytest.mark.parametrize(
    ("replies", "text"),
    [
        (
            {"classify_prompt": {"category": "unanswerable", "reason": "No salaries."}},
            "The data cannot answer this: No sal",
        ),
        ({"classify_prompt": {"category": "unsafe", "reason": "It deletes."}}, "This is not done: It deletes."),
        ({"classify_prompt": {"category": "general", "reason": ""}}, "I answer questions."),
        ({"get_relevant_tables": {"tables": [], "missing": "salaries"}}, "The data cannot answer this: salaries"),
        ({"generate_sql": {"kind": "cannot", "reason": "no dates"}}, "No dates"),
    ],
)
async def test_a_question_that_has_no_answer_is_refused_with_the_reason(shop: Shop, replies: Any, text: str) -> None:
    session = await shop.walk(**replies).begins("What do people earn?", *path(*FULL_PATH), confirm="nothing")
    assert text in answer(session)
    assert "execute_sql" not in walked(session)


async def test_unknown_tables_fall_back_to_all_of_a_small_schema(shop: Shop) -> None:
    walk = shop.walk(get_relevant_tables={"tables": [{"name": "sales", "reason": ""}], "missing": ""})
    session = await walk.begins("How many?", *path(*FULL_PATH), confirm="nothing")
    assert result_of(session, "has_user_approved")["approved_tables"] == ["orders", "users"]


async def test_a_missing_database_fails_the_node_and_the_next_request_opens_it_again(tmp_path: Path) -> None:
    file, databases = shop_file(tmp_path), list[ReadOnlyDatabase]()

    async def opens() -> ReadOnlyDatabase:
        databases.append(opened(file))
        return databases[-1]

    shop = Shop(file, opens)
    moved_file = shop.path.rename(shop.path.with_suffix(".away"))
    walk = shop.walk()
    session = await walk.begins("How many?", *path(*FULL_PATH))
    assert last(session).status == "failed"
    assert "There is no file" in last(session).error
    moved_file.rename(shop.path)
    await walk.commit(c.Stop())
    again = await walk.begins("How many?", *path(*FULL_PATH))
    assert again.question
    for database in databases:
        await database.aclose()


async def test_a_follow_up_has_the_previous_question_and_sql(shop: Shop) -> None:
    walk = shop.walk()
    await walk.begins("How many are pending?", *path(*FULL_PATH), confirm="nothing")
    await walk.commit(c.Stop())
    await walk.begins("only in Austin", *path("rewrite_prompt", *FULL_PATH[5:]), confirm="nothing")
    rewrite_prompt = last_prompt(walk, "rewrite_prompt")
    assert sections_of(rewrite_prompt)["previous_question"] == "How many orders are pending?"
    assert sections_of(rewrite_prompt)["previous_sql"] == COUNT
    state = (await walk.page("s")).states["text_to_sql"]
    assert state["previous_tables"] == ["orders"]
