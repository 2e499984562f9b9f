"""Results of data questions on the page: charts, tables, CSV, and saved answers in the library.

Bus, log and model are fakes that run in this process; everything else is real.
"""

import csv
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.e2e.analyst import ANSWER, REFUSAL, REPLIES, Analyst, data_parley, node
from tests.e2e.browser import NARROW
from tests.e2e.visual_checks import LOW_CONTRAST, OVERFLOWING, TRANSITIONS_ENDED, UNLABELLED
from tests.support.parley import InProcess

PROPOSED_NODE = "Says how costly a query is before it runs."


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def parley(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcess]:
    async with data_parley(tmp_path_factory.mktemp("home")) as parley:
        yield parley


@pytest_asyncio.fixture(loop_scope="package")
async def ada(browser: Browser, parley: InProcess) -> AsyncIterator[Analyst]:
    async with Analyst(browser, parley) as analyst:
        yield analyst


async def test_an_answer_without_result_is_not_shown_as_a_success(ada: Analyst) -> None:
    tab = await ada.ask("Delete all orders", classify_prompt={"category": "unsafe", "reason": REFUSAL})
    await expect(await tab.wait_for("answer", REFUSAL)).to_have_class(
        re.compile(r"^_card_\w+$")
    )  # without the answer's frame
    await tab.wait_until_gone("accept")
    await tab.wait_until_gone("save")
    await expect(tab("state")).to_have_text("ready")


async def test_the_result_is_sorted_paged_and_downloaded(ada: Analyst, tmp_path: Path) -> None:
    all_orders = {"sql": "SELECT order_id, status, total, note FROM orders ORDER BY order_id"}
    reply = {"text": "These are all.", "chart": "none"}
    tab = await ada.ask_without_stops("List all orders", generate_sql=all_orders, format_final_response=reply)
    await expect(tab("result-count")).to_contain_text("first 120 rows")
    await expect(tab("result-row")).to_have_count(25)
    total = tab("result-head").filter(has_text="total")
    await total.click()
    first = tab("result-row").first.get_by_role("cell")
    await expect(first.nth(2)).to_have_text("-20")
    await total.click()
    await expect(tab.page.locator("th[aria-sort=descending]")).to_have_text("total ▾")
    await expect(first.nth(2)).to_have_text("842.5")
    await expect(first.nth(2)).to_have_class(re.compile("number"))
    await tab.click("page-after")
    await expect(tab("page-shown")).to_have_text("26–50 of 120")
    async with tab.page.expect_download() as started:
        await tab.click("csv")
    await (await started.value).save_as(tmp_path / "result.csv")
    assert (tmp_path / "result.csv").read_bytes().startswith(b"\xef\xbb\xbforder_id")
    with (tmp_path / "result.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    assert (rows[0], len(rows)) == (["order_id", "status", "total", "note"], 121)
    assert rows[1] == ["#W0000", "delivered", "-20", "'=1+1"]
    assert rows[2][3] == 'said "no", twice'


async def test_an_answer_is_accepted_saved_and_asked_again(ada: Analyst) -> None:
    proposal = {"flow": "text_to_sql", "name": "explain_plan", "description": PROPOSED_NODE, "why": "It is slow."}
    sums = {"sql": "SELECT month, count(*) AS orders, sum(total) AS revenue FROM orders GROUP BY month ORDER BY month"}
    replies = {
        "path": REPLIES["path"] | {"new_node": proposal},
        "generate_sql": sums,
        "format_final_response": {"text": ANSWER, "chart": "line"},
    }
    tab = await ada.ask_without_stops("Revenue by month", **replies)
    await expect(tab("chart")).to_have_count(2)  # the scales of orders and revenue are too different
    await tab.click("accept")
    await expect(tab("accept")).to_have_text("Correct")
    await tab.click("save")
    await expect(tab("save")).to_have_text("Saved to library")
    judgements = [
        (event["accepted"], event["saved"]) for event in await tab.events() if event["type"] == "answer.judged"
    ]
    assert judgements == [(True, False), (True, True)]
    await tab.check_reload()
    await tab.click("new-session")
    await tab.click("library-open")
    await tab("library-search").fill("revenue")
    item = await tab.wait_for("library-item", "Revenue by month")
    await expect(item).to_contain_text("GROUP BY month")
    await tab.click("proposals-tab")
    await tab.wait_for("proposal-item", PROPOSED_NODE)
    await tab.page.get_by_role("tab", name="Questions").click()
    await tab.wait_for("library-item")
    await tab.click("ask-again")
    await expect(tab("composer")).to_have_value("Revenue by month")
    await expect(tab("composer")).to_be_focused()


async def test_the_library_has_no_visual_problems_on_a_phone(ada: Analyst) -> None:
    tab = await ada.ask_without_stops("By status, for the phone")
    await tab.click("save")
    await expect(tab("save")).to_have_text("Saved to library")
    await tab.page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    await expect(tab("flow-list").locator("li")).not_to_have_count(0)
    await node(tab, "generate_sql").click()
    await tab.wait_for("node-panel", "Generates SQL")
    await tab.page.get_by_role("button", name="Sessions", exact=True).click()
    await tab.click("library-open")
    await tab.wait_for("library-item", "for the phone")
    # The content below moves when the editor appears.
    await expect(tab("library-item").first.locator(".cm-editor")).to_be_visible()
    await tab.page.evaluate(TRANSITIONS_ENDED)
    problems = [
        problem for check in (LOW_CONTRAST, UNLABELLED, OVERFLOWING) for problem in await tab.page.evaluate(check)
    ]
    assert problems == []
    await tab("ask-again").first.click()
    await expect(tab("composer")).not_to_have_value("")
    await tab.wait_until_gone("library")
