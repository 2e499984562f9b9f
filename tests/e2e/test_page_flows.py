"""Flows on the page: the graph, the path, and the questions about tables and SQL.

Everything is real except bus, log and model, which run in this process.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.e2e.analyst import PATH, QUESTION, Analyst, data_parley, node
from tests.e2e.browser import Tab
from tests.e2e.keyboard import Keyboard
from tests.support.parley import InProcess

EDITED_SQL = "SELECT status FROM orders WHERE status = 'pending' LIMIT 3"


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def parley(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcess]:
    async with data_parley(tmp_path_factory.mktemp("home")) as parley:
        yield parley


@pytest_asyncio.fixture(loop_scope="package")
async def ada(browser: Browser, parley: InProcess) -> AsyncIterator[Analyst]:
    async with Analyst(browser, parley) as analyst:
        yield analyst


async def ask_until_query(analyst: Analyst) -> Tab:
    """Opens a tab whose query waits for approval."""
    tab = await analyst.ask(QUESTION)
    await tab.wait_for("flow-node")  # a late graph shifts the content below: a click may miss
    await tab.click("tables-use")
    await tab.wait_for("sql-request")
    return tab


async def node_states(tab: Tab) -> dict[str, str]:
    """The state that the page shows for each node of the graph."""
    await tab.wait_for("flow-node")
    script = "(all) => Object.fromEntries(all.map(({ dataset }) => [dataset.node, dataset.state]))"
    return dict(await tab("flow-node").evaluate_all(script))


async def newest_event(tab: Tab, kind: str) -> dict[str, Any]:
    return next(event for event in reversed(await tab.events()) if event["type"] == kind)


async def test_the_graph_shows_which_nodes_are_done_current_and_planned(ada: Analyst) -> None:
    tab = await ada.ask("Umbrellas sold?")
    await tab.wait_for("tables-question")
    await expect(tab("badges")).to_have_text("planned by the model2 examples")
    await expect(node(tab, "has_user_approved")).to_contain_text("asks you")
    nodes = await node_states(tab)
    assert {name for name, state in nodes.items() if state == "walked"} == set(PATH[:2])
    assert nodes["has_user_approved"] == "now"
    assert {name for name, state in nodes.items() if state == "planned"} == set(PATH[3:])
    assert {nodes[name] for name in ("rewrite_prompt", "trim_relevant_tables", "general_questions")} == {"out"}
    await expect(tab("progress")).to_contain_text("step 3 of 7")
    await expect(node(tab, "classify_prompt")).to_contain_text("14 tokens")


async def test_the_user_selects_tables(ada: Analyst) -> None:
    tab = await ada.ask(QUESTION)
    await expect(tab("table-choice")).to_have_count(11)
    await expect(tab("table-choice").first).to_contain_text("orders")  # proposed tables come first
    await tab("tables-filter").fill("review")
    await expect(tab("table-choice")).to_have_count(1)
    await tab("table-choice").get_by_role("checkbox").check()
    await tab("tables-filter").fill("status")
    await tab("table-choice").locator("summary").click()
    await expect(tab("table-choice")).to_contain_text("user_id TEXT → users.user_id")
    await expect(tab("tables-use")).to_have_text("Use these 2 tables")
    await tab.click("tables-use")
    await tab.wait_for("question-card", "Use orders, reviews")
    assert json.loads((await newest_event(tab, "question.answered"))["text"]) == {"tables": ["orders", "reviews"]}
    await node(tab, "has_user_approved").click()
    await expect(tab("node-output")).to_contain_text('["orders","reviews"]')


async def test_the_user_edits_the_query(ada: Analyst) -> None:
    tab = await ask_until_query(ada)
    await tab.click("sql-edit")
    editor = tab("sql-request").get_by_role("textbox")
    await editor.press("Control+a")
    await tab.page.keyboard.insert_text(EDITED_SQL)
    await tab.click("sql-save")
    await expect(tab("badges")).to_contain_text("edited by a person")
    await expect(tab("action-approve")).to_be_visible()
    await expect(tab("sql-request")).to_contain_text("LIMIT 3")
    changed = [event for event in await tab.events() if event["type"] == "turn.changed" and event["overrides"]]
    assert [event["overrides"] for event in changed] == [{"sql": EDITED_SQL}]
    assert [action["tool"].split(".")[1] for action in changed[0]["actions"]] == [
        "validate_sql",
        "execute_sql",
        "format_final_response",
    ]
    await tab.click("action-approve")
    await expect(tab("result-row")).to_have_count(3)
    await tab.check_reload()
    await node(tab, "execute_sql").click()
    await expect(tab("node-input")).to_contain_text("sql from you")


async def test_the_rest_of_a_running_path_is_edited(ada: Analyst) -> None:
    tab = await ada.ask(QUESTION)
    await tab.wait_for("tables-question")
    await tab.click("path-edit")
    await expect(tab("path-row")).to_have_count(5)
    await tab("path-remove").first.click()
    await expect(tab("path-save")).to_be_enabled()  # generate_sql may follow get_relevant_tables
    await tab("path-node").first.select_option("text_to_sql.trim_relevant_tables")
    await expect(tab("path-problems")).to_contain_text("Pick columns is not followed by Check SQL")
    await expect(tab("path-save")).to_be_disabled()
    await tab("path-insert").nth(1).click()
    await tab("path-choice").filter(has_text="Write SQL").click()
    await tab.click("path-save")
    await tab.wait_for("sql-request")
    await tab.wait_until_gone("path-form")
    nodes = await node_states(tab)
    assert (nodes["trim_relevant_tables"], nodes["has_user_approved"]) == ("walked", "out")


async def test_a_flow_can_be_used_by_keyboard_alone(ada: Analyst) -> None:
    tab = await ada.ask(QUESTION)
    await tab.wait_for("tables-question")
    await tab.wait_for("flow-node")
    keys = Keyboard(tab)
    await tab.page.locator("main").focus()
    await keys.tab_to("flow-node")
    await tab.page.keyboard.press("Enter")
    await expect(tab("node-panel")).to_contain_text("Understand the question")
    await keys.activate("path-edit")
    await expect(tab("path-node").first).to_be_focused()
    await keys.tab_to("path-remove")
    await tab.page.keyboard.press("Escape")
    await expect(tab("path-edit")).to_be_focused()
    await keys.activate("tables-use")
    await (await tab.wait_for("sql-request")).focus()
    await keys.activate("sql-edit")
    await tab.page.keyboard.press("Escape")
    await keys.activate("sql-discard")
    await expect(tab("sql-edit")).to_be_focused()
    await tab("sql-request").focus()
    await keys.activate("action-approve")
    await (await tab.wait_for("csv")).focus()
    await keys.activate("accept")
    await expect(tab("accept")).to_have_text("Correct")


async def each_state(tab: Tab) -> AsyncIterator[str]:
    """Takes one request through the page; yields the name of each state that looks different."""
    yield "welcome"
    await tab.click("request-settings")
    await tab.wait_for("confirm")
    yield "settings"
    await tab("confirm").select_option("path")
    await tab.page.keyboard.press("Escape")
    await tab.send("Orders by status " + "W" * 80)
    await tab.wait_for("path-review", "next")
    await tab.click("path-edit")
    await tab("path-remove").nth(2).click()
    yield "path"
    await tab.click("path-close")
    await tab.click("approve")
    await tab.wait_for("tables-question")
    await tab("table-choice").first.locator("summary").click()
    yield "tables"
    await tab.click("tables-use")
    await tab.wait_for("sql-request")
    await tab.click("sql-edit")
    yield "query"
    await tab.click("sql-discard")
    await tab.click("action-approve")
    await tab.wait_for("chart")
    await tab("sql").locator("summary").click()
    await node(tab, "execute_sql").click()
    await tab.wait_for("node-panel")
    yield "answer"
    await tab("chart-or-table").get_by_text("Table").click()
    await tab.click("save")
    await expect(tab("save")).to_have_text("Saved to library")
    yield "result"


async def test_no_visual_problems_in_any_state(ada: Analyst) -> None:
    tab = await ada.tab()
    await tab("workflow").get_by_text("Ask the data").click()
    problems: list[str] = []
    async for name in each_state(tab):
        problems += await tab.visual_problems(name)
    assert not problems, "\n".join(problems)
