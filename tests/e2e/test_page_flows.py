"""Flows on the page: the graph and its nodes, the path planned, walked and changed, the tables and the SQL that wait
for a yes, the result, and the library. Everything is real but bus, log and model, which are in this process.
"""

import csv
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from shared.domain import commands as c
from tests.e2e.browser import NARROW, Tab
from tests.e2e.data_questions import ANSWER, FALLBACK, PLANNED, REFUSAL, SAYS, SQL, Analyst, question_database
from tests.e2e.keys import Keys
from tests.e2e.looks import LOW_CONTRAST, NAMELESS, OUTSIDE, SETTLED
from tests.support.bus import FakeBus
from tests.support.parley import InProcess, in_process
from tests.support.plan_store_paths import Walk

pytestmark = pytest.mark.timeout(120)
QUESTION = "How are orders spread by status?"
COSTS = "Says how costly a query is before it runs."
OWN_SQL = "SELECT status FROM orders WHERE status = 'pending' LIMIT 3"


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def parley(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcess]:
    """One whose person has accepted two answers before."""
    home, bus = tmp_path_factory.mktemp("home"), FakeBus()
    for request in ("Umbrellas by colour", "Umbrellas by size"):
        earlier = Walk(bus.log, user="local")
        await earlier.answered(request)
        await earlier.commit(c.Judge(accepted=True))
    async with in_process(
        home, bus, parley_sql_database_url=question_database(home), parley_sql_max_rows=120
    ) as parley:
        yield parley


@pytest_asyncio.fixture(loop_scope="package")
async def ada(browser: Browser, parley: InProcess) -> AsyncIterator[Analyst]:
    async with Analyst(browser, parley) as analyst:
        yield analyst


async def answered(analyst: Analyst, request: str = QUESTION, **replies: Any) -> Tab:
    """A tab with a question that is answered without stops."""
    tab = await analyst.asks(request, confirm="nothing", **replies)
    await tab.sees("answer")
    return tab


async def to_query(analyst: Analyst) -> Tab:
    """A tab whose query waits for a yes."""
    tab = await analyst.asks(QUESTION)
    await tab.sees("flow-node")  # drawn late, the graph moves what stands under it: a press may miss
    await tab.press("tables-use")
    await tab.sees("sql-request")
    return tab


def node(tab: Tab, name: str) -> Locator:
    return tab("flow-node").and_(tab.page.locator(f'[data-node="{name}"]'))


async def states(tab: Tab) -> dict[str, str]:
    """How each node of the graph stands."""
    await tab.sees("flow-node")
    script = "(all) => Object.fromEntries(all.map((one) => [one.dataset.node, one.dataset.state]))"
    return dict(await tab("flow-node").evaluate_all(script))


async def newest(tab: Tab, kind: str) -> dict[str, Any]:
    return next(event for event in reversed(await tab.events()) if event["type"] == kind)


async def test_the_settings_of_a_flow_go_with_the_request(ada: Analyst) -> None:
    tab = await ada.tab()
    await tab("workflow").get_by_text("Ask the data").click()
    await tab.press("request-settings")
    for name, value in {"flow": "complaint_triage", "confirm": "nothing", "use-planning": "full"}.items():
        await (await tab.sees(name)).select_option(value)
    await tab.page.keyboard.press("Escape")
    await tab.gone("confirm")
    await tab.say("A complaint")
    await tab.sees("question", "Which order is it about?")
    settings = (await tab.events())[0]["settings"]
    assert settings["confirm"] == "nothing"
    assert settings["planning"]["flow"] == "complaint_triage"
    assert settings["planning"]["use_planning"] is False
    await tab.say("#W1")
    await tab.sees("fallback-why", "The full graph was asked for.")


async def test_the_graph_shows_the_path_as_it_is_walked(ada: Analyst) -> None:
    tab = await ada.asks("Umbrellas sold?")
    await tab.sees("tables-question")
    await expect(tab("badges")).to_have_text("planned by the model2 examples")
    await expect(node(tab, "has_user_approved")).to_contain_text("asks you")
    found = await states(tab)
    assert {name for name, state in found.items() if state == "walked"} == set(PLANNED[:2])
    assert found["has_user_approved"] == "now"
    assert {name for name, state in found.items() if state == "planned"} == set(PLANNED[3:])
    assert {found[name] for name in ("rewrite_prompt", "trim_relevant_tables", "general_questions")} == {"out"}
    await expect(tab("progress")).to_contain_text("step 3 of 7")
    await expect(node(tab, "classify_prompt")).to_contain_text("14 tokens")


async def test_the_tables_are_chosen_by_hand(ada: Analyst) -> None:
    tab = await ada.asks(QUESTION)
    await expect(tab("table-choice")).to_have_count(11)
    await expect(tab("table-choice").first).to_contain_text("orders")  # the proposed ones come first
    await tab("tables-filter").fill("review")
    await expect(tab("table-choice")).to_have_count(1)
    await tab("table-choice").get_by_role("checkbox").check()
    await tab("tables-filter").fill("status")
    await tab("table-choice").locator("summary").click()
    await expect(tab("table-choice")).to_contain_text("user_id TEXT → users.user_id")
    await expect(tab("tables-use")).to_have_text("Use these 2 tables")
    await tab.press("tables-use")
    await tab.sees("question-card", "Use orders, reviews")
    assert json.loads((await newest(tab, "question.answered"))["text"]) == {"tables": ["orders", "reviews"]}
    await node(tab, "has_user_approved").click()
    await expect(tab("node-output")).to_contain_text('["orders","reviews"]')


async def test_the_question_of_tables_is_answered_in_words(ada: Analyst) -> None:
    tab = await ada.asks(QUESTION)
    await tab.sees("tables-question")
    await tab.say("Yes, only orders")
    await tab.sees("sql-request")
    await tab.sees("question-card", "Yes, only orders")


async def test_the_query_runs_as_it_was_approved(ada: Analyst) -> None:
    tab = await to_query(ada)
    await expect(tab("sql-request")).to_contain_text("GROUP BY status")
    await tab.press("action-approve")
    await tab.sees("answer", "Most orders are delivered.")
    await expect(tab("chart")).to_have_attribute("data-kind", "bar")
    await expect(tab("chart").locator("li").first).to_have_text("delivered63")
    await tab("sql").locator("summary").click()
    await expect(tab("sql")).to_contain_text(SQL)
    await tab("chart-or-table").get_by_text("Table").click()
    await expect(tab("result-row").first.get_by_role("cell")).to_have_text(["delivered", "63"])


async def test_the_query_is_changed_by_hand(ada: Analyst) -> None:
    tab = await to_query(ada)
    await tab.press("sql-edit")
    editor = tab("sql-request").get_by_role("textbox")
    await editor.press("Control+a")
    await tab.page.keyboard.insert_text(OWN_SQL)
    await tab.press("sql-save")
    await expect(tab("badges")).to_contain_text("edited by a person")
    await expect(tab("action-approve")).to_be_visible()
    await expect(tab("sql-request")).to_contain_text("LIMIT 3")
    changed = [event for event in await tab.events() if event["type"] == "turn.changed" and event["overrides"]]
    assert [event["overrides"] for event in changed] == [{"sql": OWN_SQL}]
    assert [action["tool"].split(".")[1] for action in changed[0]["actions"]] == [
        "validate_sql",
        "execute_sql",
        "format_final_response",
    ]
    await tab.press("action-approve")
    await expect(tab("result-row")).to_have_count(3)
    await tab.reloaded_the_same()
    await node(tab, "execute_sql").click()
    await expect(tab("node-input")).to_contain_text("sql from you")


async def test_a_refused_query_is_not_run(ada: Analyst) -> None:
    tab = await to_query(ada)
    await tab.press("action-refuse")
    await tab("refuse-reason").fill("The wrong column")
    await tab.press("action-deny")
    await expect(node(tab, "execute_sql")).to_have_attribute("data-state", "failed")
    assert (await newest(tab, "approval.denied"))["reason"] == "The wrong column"


async def test_a_condition_leaves_the_path_and_says_so(ada: Analyst) -> None:
    wanted = {"flow": "text_to_sql", "name": "explain_plan", "description": COSTS, "why": ""}
    planned = SAYS["path"] | {"new_node": wanted}
    lacking = {"category": "unanswerable", "reason": REFUSAL}
    tab = await ada.asks("What will the weather be?", path=planned, classify_prompt=lacking)
    await tab.sees("answer", REFUSAL)
    await tab.gone("findings")
    await expect(node(tab, "classify_prompt")).to_contain_text("left the path here: kind in")
    await expect(node(tab, "generate_sql")).to_contain_text("planned, left out")
    await expect(tab("proposal")).to_contain_text("The model misses a step in text to sql: explain plan.")
    await node(tab, "classify_prompt").click()
    await expect(tab("node-left")).to_contain_text('kind in ["unanswerable", "unsafe"]')
    await expect(tab("node-output")).to_contain_text("unanswerable")


@pytest.mark.parametrize("category", ["unanswerable", "unsafe"])
async def test_an_answer_that_found_nothing_is_not_shown_as_a_success(ada: Analyst, category: str) -> None:
    tab = await ada.asks("Delete all orders", classify_prompt={"category": category, "reason": REFUSAL})
    await expect(await tab.sees("answer", REFUSAL)).to_have_class("card")  # without the frame of an answer
    await tab.gone("accept")
    await tab.gone("save")
    await expect(tab("state")).to_have_text("ready")


async def test_a_query_that_does_not_run_is_mended_on_the_way(ada: Analyst) -> None:
    wrong = {"sql": "SELECT stats FROM orders", "explanation": "Counts them."}
    tab = await answered(ada, generate_sql=[wrong, SAYS["generate_sql"]])
    await expect(node(tab, "generate_sql")).to_contain_text("2 times")
    await expect(node(tab, "validate_sql")).to_contain_text("left the path here: not valid")
    await node(tab, "validate_sql").click()
    await expect(tab("node-run")).to_have_count(2)
    await expect(tab("node-run").last).to_contain_text("no such column: stats")


async def test_the_rest_of_a_path_is_changed_while_it_is_walked(ada: Analyst) -> None:
    tab = await ada.asks(QUESTION)
    await tab.sees("tables-question")
    await tab.press("path-edit")
    await expect(tab("path-row")).to_have_count(5)
    await tab("path-remove").first.click()
    await expect(tab("path-save")).to_be_enabled()  # generate_sql may follow
    await tab("path-node").first.select_option("text_to_sql.trim_relevant_tables")
    await expect(tab("path-problems")).to_contain_text("Pick columns is not followed by Check SQL")
    await expect(tab("path-save")).to_be_disabled()
    await tab("path-insert").nth(1).click()
    await tab("path-choice").filter(has_text="Write SQL").click()
    await tab.press("path-save")
    await tab.sees("sql-request")
    await tab.gone("path-form")
    found = await states(tab)
    assert (found["trim_relevant_tables"], found["has_user_approved"]) == ("walked", "out")


async def test_a_value_that_nothing_makes_is_set_by_hand(ada: Analyst) -> None:
    tab = await ada.asks(QUESTION)
    await tab.sees("tables-question")
    await tab.press("path-edit")
    for _ in range(4):
        await tab("path-remove").first.click()
    await expect(tab("path-save")).to_be_enabled()  # get_relevant_tables may end it at once
    await tab("path-remove").first.click()
    await tab.press("path-add")
    await tab("path-choice").filter(has_text="Pick columns").click()
    await tab.press("path-complete")
    await expect(tab("path-node").last).to_have_value("text_to_sql.format_final_response")
    await tab.press("path-close")
    await tab.sees("tables-question")


async def test_a_path_is_changed_and_approved_before_it_is_walked(ada: Analyst) -> None:
    tab = await ada.asks(QUESTION, confirm="path")
    await tab.sees("path-review", "next")
    await tab.press("path-edit")
    await tab.sees("blocked")
    await tab("path-remove").nth(2).click()
    await tab.press("path-save")
    await tab.sees("path-review", "Edited by you")
    await tab.press("approve")
    await tab.sees("sql-request")
    found = await states(tab)
    assert (found["has_user_approved"], found["generate_sql"]) == ("out", "walked")
    await expect(tab("badges")).to_contain_text("edited by a person")
    await tab.sees("code-text")  # the editor is there, in the place of the plain text
    await tab.reloaded_the_same()


async def test_one_flow_feeds_the_next(ada: Analyst) -> None:
    both = [*SAYS["path"]["paths"], {"flow": "complaint_triage", "nodes": ["classify_complaint", "write_reply"]}]
    tab = await answered(ada, "Orders by status, then a complaint", path={"paths": both})
    await expect(tab("answer")).to_contain_text("We are sorry.")
    await expect(tab("flow-fold")).to_contain_text("text to sql → complaint triage")
    await node(tab, "classify_complaint").click()
    await expect(tab("node-panel")).to_contain_text("findings from the flow before")
    await tab("flow-choice").get_by_text("1. text to sql").click()
    await expect(node(tab, "execute_sql")).to_have_attribute("data-state", "walked")


async def test_why_the_full_graph_is_walked(ada: Analyst) -> None:
    tab = await answered(ada, "Status by fallback", path=FALLBACK)
    await expect(tab("badges")).to_have_text("full path3 tries")
    await expect(tab("fallback-why")).to_contain_text("execute_sql needs sql, which nothing before it makes.")
    await expect(node(tab, "trim_relevant_tables")).to_have_attribute("data-state", "walked")
    ada.parley.model.replies["path"] = SAYS["path"]
    await tab.say("By month")
    await expect(tab("badges").last).to_have_text("planned by the model")
    await expect(tab("flow-fold").first).to_have_attribute("aria-expanded", "false")


async def test_a_path_that_was_planned_before_comes_from_the_cache(ada: Analyst) -> None:
    await answered(ada, "Status from the cache")
    again = await answered(ada, "Status from the cache")
    await expect(again("badges")).to_have_text("planned before")


async def test_the_result_is_sorted_paged_and_taken_along(ada: Analyst, tmp_path: Path) -> None:
    listed = {"sql": "SELECT order_id, status, total, note FROM orders ORDER BY order_id"}
    said = {"text": "These are all.", "chart": "none"}
    tab = await answered(ada, "List all orders", generate_sql=listed, format_final_response=said)
    await expect(tab("result-count")).to_contain_text("first 120 rows")
    await expect(tab("result-row")).to_have_count(25)
    total = tab("result-head").filter(has_text="total")
    await total.click()
    first = tab("result-row").first.get_by_role("cell")
    await expect(first.nth(2)).to_have_text("-20")
    await total.click()
    await expect(tab.page.locator("th[aria-sort=descending]")).to_have_text("total ▾")
    await expect(first.nth(2)).to_have_text("842.5")
    await expect(first.nth(2)).to_have_class("number")
    await tab.press("page-after")
    await expect(tab("page-shown")).to_have_text("26–50 of 120")
    async with tab.page.expect_download() as started:
        await tab.press("csv")
    await (await started.value).save_as(tmp_path / "result.csv")
    with (tmp_path / "result.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert (rows[0], len(rows)) == (["order_id", "status", "total", "note"], 121)
    assert rows[1] == ["#W0000", "delivered", "-20", "'=1+1"]
    assert rows[2][3] == 'said "no", twice'


async def test_an_answer_is_accepted_saved_and_asked_again(ada: Analyst) -> None:
    wanted = {"flow": "text_to_sql", "name": "explain_plan", "description": COSTS, "why": "It is slow."}
    sums = {"sql": "SELECT month, count(*) AS orders, sum(total) AS revenue FROM orders GROUP BY month ORDER BY month"}
    replies = {
        "path": SAYS["path"] | {"new_node": wanted},
        "generate_sql": sums,
        "format_final_response": {"text": ANSWER, "chart": "line"},
    }
    tab = await answered(ada, "Revenue by month", **replies)
    await expect(tab("chart")).to_have_count(2)  # orders and revenue: too different for one measure
    await tab.press("accept")
    await expect(tab("accept")).to_have_text("Correct")
    await tab.press("save")
    await expect(tab("save")).to_have_text("Saved to library")
    judged = [(one["accepted"], one["saved"]) for one in await tab.events() if one["type"] == "answer.judged"]
    assert judged == [(True, False), (True, True)]
    await tab.reloaded_the_same()
    await tab.press("new-session")
    await tab.press("library-open")
    await tab("library-search").fill("revenue")
    item = await tab.sees("library-item", "Revenue by month")
    await expect(item).to_contain_text("GROUP BY month")
    await tab.press("proposals-tab")
    await tab.sees("proposal-item", COSTS)
    await tab.page.get_by_role("tab", name="Questions").click()
    await tab.sees("library-item")
    await tab.press("ask-again")
    await expect(tab("composer")).to_have_value("Revenue by month")
    await expect(tab("composer")).to_be_focused()


async def test_all_of_it_by_keyboard(ada: Analyst) -> None:
    tab = await ada.asks(QUESTION)
    await tab.sees("tables-question")
    await tab.sees("flow-node")
    keys = Keys(tab)
    await tab.page.locator("main").focus()
    await keys.to("flow-node")
    await tab.page.keyboard.press("Enter")
    await expect(tab("node-panel")).to_contain_text("Understand the question")
    await keys.press("path-edit")
    await expect(tab("path-node").first).to_be_focused()
    await keys.to("path-remove")
    await tab.page.keyboard.press("Escape")
    await expect(tab("path-edit")).to_be_focused()
    await keys.press("tables-use")
    await (await tab.sees("sql-request")).focus()
    await keys.press("sql-edit")
    await tab.page.keyboard.press("Escape")
    await keys.press("sql-discard")
    await expect(tab("sql-edit")).to_be_focused()
    await tab("sql-request").focus()
    await keys.press("action-approve")
    await (await tab.sees("csv")).focus()
    await keys.press("accept")
    await expect(tab("accept")).to_have_text("Correct")


async def places(tab: Tab) -> AsyncIterator[str]:
    """One request, halting wherever the page looks different."""
    yield "welcome"
    await tab.press("request-settings")
    await tab.sees("confirm")
    yield "settings"
    await tab("confirm").select_option("path")
    await tab.page.keyboard.press("Escape")
    await tab.say("Orders by status " + "W" * 80)
    await tab.sees("path-review", "next")
    await tab.press("path-edit")
    await tab("path-remove").nth(2).click()
    yield "path"
    await tab.press("path-close")
    await tab.press("approve")
    await tab.sees("tables-question")
    await tab("table-choice").first.locator("summary").click()
    yield "tables"
    await tab.press("tables-use")
    await tab.sees("sql-request")
    await tab.press("sql-edit")
    yield "query"
    await tab.press("sql-discard")
    await tab.press("action-approve")
    await tab.sees("chart")
    await tab("sql").locator("summary").click()
    await node(tab, "execute_sql").click()
    await tab.sees("node-panel")
    yield "answer"
    await tab("chart-or-table").get_by_text("Table").click()
    await tab.press("save")
    await expect(tab("save")).to_have_text("Saved to library")
    yield "result"


async def test_every_state_on_a_desk_and_a_phone_in_light_and_dark(ada: Analyst) -> None:
    tab = await ada.tab()
    await tab("workflow").get_by_text("Ask the data").click()
    wrong: list[str] = []
    async for name in places(tab):
        wrong += await tab.wrong_looks(name)
    assert not wrong, "\n".join(wrong)


async def test_the_library_on_a_phone(ada: Analyst) -> None:
    tab = await answered(ada, "By status, for the phone")
    await tab.press("save")
    await expect(tab("save")).to_have_text("Saved to library")
    await tab.page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    await expect(tab("flow-list").locator("li")).not_to_have_count(0)
    await node(tab, "generate_sql").click()
    await tab.sees("node-panel", "Generates SQL")
    await tab.page.get_by_role("button", name="Sessions", exact=True).click()
    await tab.press("library-open")
    await tab.sees("library-item", "for the phone")
    await expect(
        tab("library-item").first.locator(".cm-editor")
    ).to_be_visible()  # it moves what is below it when it comes
    await tab.page.evaluate(SETTLED)
    found = [one for look in (LOW_CONTRAST, NAMELESS, OUTSIDE) for one in await tab.page.evaluate(look)]
    assert found == []
    await tab("ask-again").first.click()
    await expect(tab("composer")).not_to_have_value("")
    await tab.gone("library")
