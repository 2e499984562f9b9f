"""Requests with tools on the page: the trace of turns, approvals, the answer, and stopping.

Everything is real except bus, log and model, which run in this process.
"""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, WebSocket, expect

from shared.domain.kernel import commands as c
from shared.story import Story
from tests.e2e.browser import Tab
from tests.e2e.keyboard import Keyboard
from tests.e2e.store_user import (
    FIND_CUSTOMER,
    ONE_ORDER,
    PENDING,
    TWO_ORDERS,
    USER,
    USER_ID,
    Customer,
    Replies,
    call,
    cancel_replies,
    cancel_turn,
    turn,
)
from tests.e2e.visual_checks import LAYOUT_SHIFT
from tests.support.bus import FakeBus
from tests.support.parley import LARGE, InProcess, in_process

ANSWER = {"text": "That is everything.", "confidence": 0.9, "evidence": []}
RECALLED = "Where is my umbrella?"
READS = turn(
    "Look around",
    *(call("get_order_details", f"Read order {order}", order_id=order) for order in TWO_ORDERS),
    call("list_all_product_types", "List the products", 1),
)


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def parley(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcess]:
    """A Parley with a finished earlier session, which new requests recall."""
    bus = FakeBus()
    no_actions = c.PlanTurn(sub_goal="Nothing is left to do", actions=(), reasoning="It is known.")
    answer = c.GiveAnswer(text="It is on its way.", confidence=1)
    await Story("earlier", log=bus.log, user="local").commit(
        c.Say(text=RECALLED, workflow="agentflow"), no_actions, answer
    )
    async with in_process(tmp_path_factory.mktemp("home"), bus) as parley:
        yield parley


@pytest_asyncio.fixture(loop_scope="package")
async def ada(browser: Browser, parley: InProcess) -> AsyncIterator[Customer]:
    async with Customer(browser, parley) as customer:
        yield customer
        parley.gate.release()
        parley.model.slowly = False


async def tab_with_approvals(
    customer: Customer, replies: Replies, request: str = "Cancel my pending orders", **choice: Any
) -> Tab:
    """A new tab with this request, whose changes wait for approval."""
    tab = await customer.request(request, replies, **choice)
    await tab.wait_for_state("action_approval")
    await tab.wait_for("action-approve")
    return tab


async def events_of_type(tab: Tab, kind: str) -> list[dict[str, Any]]:
    return [event for event in await tab.events() if event["type"] == kind]


async def test_the_workflow_and_its_settings_are_remembered(ada: Customer) -> None:
    steps = {"goal": "A calculator", "steps": ["Add", "Test"], "notes": ""}
    ada.parley.model.replies = cancel_replies(*ONE_ORDER) | {"text_plan": steps}
    tab = await ada.tab()
    await tab.wait_for("example", "calculator")
    await tab("workflow").get_by_text("Act with tools").click()
    await expect(tab("example")).to_have_count(3)
    await expect(tab("example").first).not_to_contain_text("calculator")
    await tab.click("request-settings")
    await (await tab.wait_for("max-turns")).fill("8")
    await tab("quality").select_option("thorough")
    await tab("world").select_option("own")
    await tab("recall").check()
    await tab("recall").uncheck()
    await tab.page.keyboard.press("Escape")
    await tab.wait_until_gone("max-turns")
    await tab.page.reload()
    await tab.wait_for("example")
    await tab.send("Cancel one order")
    await tab.wait_for_state("action_approval")
    first = (await tab.events())[0]
    assert first["workflow"] == "agentflow"
    settings = {"max_turns": 8, "quality": "thorough", "world": "own", "recall": False, "approval": "writes"}
    assert settings.items() <= first["settings"].items()
    new_tab = await ada.tab()
    await new_tab.wait_for("example")
    await new_tab("workflow").get_by_text("Plan and code").click()
    await new_tab.to_plan()
    assert (await new_tab.events())[0]["workflow"] == "conversation"


async def test_the_trace_lists_every_turn(ada: Customer) -> None:
    tab = await tab_with_approvals(ada, cancel_replies(*TWO_ORDERS), f"{RECALLED} Cancel my orders.")
    turns = tab("turn")
    await expect(turns).to_have_count(3)
    await expect(turns.nth(0)).to_contain_text("Find out who the customer is")
    await expect(turns.nth(0).get_by_test_id("turn-by")).to_have_text("planner")
    await expect(turns.nth(0).get_by_test_id("verdict-by")).to_have_text("checked by rule · continues")
    await expect(turns.nth(0).get_by_test_id("action-gist")).to_have_text([USER_ID])
    await turns.nth(0).get_by_test_id("thoughts").locator("summary").click()
    await expect(turns.nth(0)).to_contain_text("skills: order handling, careful reading")
    await expect(turns.nth(1).get_by_test_id("action-gist").first).to_have_text(f"email: {USER['email']}")
    await turns.nth(1).get_by_test_id("action").first.locator("summary").click()
    await expect(turns.nth(1)).to_contain_text('"first_name"')
    earlier = turns.nth(0).get_by_test_id("recalled")
    await earlier.locator("summary").click()
    await expect(earlier.get_by_role("link", name=RECALLED, exact=True)).to_have_attribute("href", "/s/earlier")
    await expect(turns.nth(2).get_by_test_id("action")).to_have_count(2)
    await turns.nth(2).get_by_test_id("action").first.locator("summary").click()
    await expect(turns.nth(2).get_by_test_id("repairs").first).to_contain_text("another spelling of the field")
    await expect(tab("progress")).to_contain_text("turn 3 · 2 of 3 goals done")
    await tab.click("progress-line")
    await expect(tab("sub-goal")).to_contain_text(["done", "done", "to do"])


async def test_an_approval_is_bound_to_the_previewed_change(ada: Customer) -> None:
    messages: list[dict[str, Any]] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: messages.append(json.loads(frame)))

    ada.context.on("page", lambda page: page.on("websocket", listen))
    tab = await tab_with_approvals(ada, cancel_replies(*ONE_ORDER))
    change = await tab.wait_for("change", "status")
    await expect(change.get_by_role("cell")).to_have_text(["pending", "cancelled"])
    await expect(tab.page.get_by_role("rowheader", name="Refund")).to_have_attribute(
        "title", re.compile("payment_history")
    )
    snapshot = await tab.page.evaluate("async (id) => (await fetch(`/api/sessions/${id}`)).json()", tab.session_id)
    await tab.click("action-approve")
    await tab.wait_for("answer", PENDING[0])
    approval = next(message for message in messages if message["type"] == "approval")
    waiting = snapshot["approval_request"]["actions"][0]
    assert (approval["action_id"], approval["hash"]) == (waiting["action_id"], waiting["hash"])
    await expect(tab("action").last).to_have_attribute("data-state", "finished")


async def test_actions_are_decided_one_by_one_by_keyboard(ada: Customer) -> None:
    tab = await tab_with_approvals(ada, cancel_replies(*TWO_ORDERS, cancelled=PENDING[1:2]))
    await expect(tab("action-request")).to_have_count(2)
    keys = Keyboard(tab)
    await tab.page.locator("main").focus()
    await keys.tab_to("action-refuse")
    await tab.page.keyboard.press("Enter")
    await expect(tab("refuse-reason")).to_be_focused()
    await keys.type_line("She keeps this one")
    await expect(tab("action-request")).to_have_count(1)
    await expect(tab("action-request")).to_be_focused()  # the card, not its button, which Enter would press
    await keys.activate("action-approve")
    await tab.wait_for("answer", PENDING[1])
    denied = (await events_of_type(tab, "approval.denied"))[0]
    assert denied["reason"] == "She keeps this one"
    await expect(tab("action-gist").nth(-2)).to_have_text("She keeps this one")
    await tab.check_reload()
    await keys.tab_to("evidence")
    await tab.page.keyboard.press("Enter")
    highlighted = tab.page.locator("[data-highlighted]")
    await expect(highlighted).to_have_attribute("open", "")
    await expect(highlighted.locator("summary")).to_be_focused()
    await expect(highlighted).to_contain_text("cancelled")


async def test_approve_and_do_not_ask_again(ada: Customer) -> None:
    tab = await tab_with_approvals(ada, cancel_replies(*ONE_ORDER))
    await tab.click("action-remember")
    await tab.wait_for("answer")
    await tab.wait_for("note", "set approval for cancel_pending_order to never")
    remembered = await events_of_type(tab, "policy.set")
    assert [(event["tool"], event["policy"]) for event in remembered] == [("cancel_pending_order", "never")]


async def test_one_action_is_skipped_and_the_session_paused(ada: Customer) -> None:
    ada.parley.gate.hold(passing=1)
    tab = await ada.request(
        "Cancel my pending orders",
        cancel_replies(*TWO_ORDERS) | {"turn": [FIND_CUSTOMER, READS, cancel_turn(*TWO_ORDERS)]},
    )
    await expect(tab("action").nth(1)).to_have_attribute("data-state", "started")
    await tab.click("skip")
    await expect(tab("action").last).to_have_attribute("data-state", "skipped")
    await expect(tab("action-gist").last).to_have_text("skipped by the person")
    await tab.click("pause")
    await tab.wait_for("status", "Paused")
    ada.parley.gate.release()
    await expect(tab("action").nth(1)).to_have_attribute("data-state", "finished")  # a started action may finish
    await tab.click("unpause")
    await tab.wait_for("approve-all")


async def test_stopping_a_turn_reports_what_happened(ada: Customer) -> None:
    tab = await tab_with_approvals(ada, cancel_replies(*TWO_ORDERS))
    ada.parley.gate.hold(passing=1)
    await tab.click("approve-all")
    await expect(tab("action").nth(-2)).to_have_attribute("data-state", "finished")
    await tab.click("stop")
    report = await tab.wait_for("stop-report")
    await expect(report).to_contain_text(f"Done, and stays done:Cancel order {PENDING[0]}")
    await expect(report).to_contain_text(f"the outcome will be recorded:Cancel order {PENDING[1]}")
    ada.parley.gate.release()
    await expect(report).not_to_contain_text("the outcome will be recorded", timeout=5_000)
    await expect(tab("action").last).to_have_attribute("data-state", "finished")
    await tab.check_reload()


async def test_a_large_result_is_shortened_and_downloaded(ada: Customer, tmp_path: Path) -> None:
    everything = turn("List everything", call("list_everything", "List everything there is"), final=True)
    tab = await ada.request("Show me the big list", {"turn": [everything], "answer": ANSWER})
    await tab.wait_for("answer")
    await tab("action").locator("summary").click()
    await tab.wait_for("action", "the full result is 1.3 MB")
    async with tab.page.expect_download() as started:
        await tab.click("artefact")
    await (await started.value).save_as(tmp_path / "big.txt")
    assert (tmp_path / "big.txt").read_text() == LARGE


async def test_a_message_that_the_answer_proposes_is_sent_with_a_click(ada: Customer) -> None:
    proposed = ["Cancel the other order", "Show what is on my gift card now, and what each of the refunds came to"]
    replies = cancel_replies(*ONE_ORDER, cancelled=())
    tab = await tab_with_approvals(ada, replies | {"answer": ANSWER | {"next": proposed}})
    await tab.click("action-refuse")
    await tab.click("action-deny")
    await tab.wait_for("next")
    await expect(tab("proposed-message")).to_have_text(proposed)
    assert await tab.visual_problems("proposed messages") == []
    ada.parley.model.replies = cancel_replies(PENDING[1])
    await tab("proposed-message").first.click()
    await tab.wait_for_state("action_approval")
    await expect(tab("proposed-message")).to_have_count(0)
    assert [event["text"] for event in await events_of_type(tab, "message.received")][1:] == proposed[:1]


async def test_no_layout_shift_while_turns_stream_in(ada: Customer) -> None:
    tab = await ada.open_start_page(cancel_replies(*TWO_ORDERS))
    devtools = await tab.page.context.new_cdp_session(tab.page)
    await devtools.send("Emulation.setCPUThrottlingRate", {"rate": 4})  # slow, so that several changes meet in a frame
    await tab.page.evaluate(LAYOUT_SHIFT)
    ada.parley.model.slowly = True
    await tab.send("Cancel my pending orders")
    await tab.wait_for("approve-all")
    await expect(tab("action-approve")).to_have_count(2)
    shifts = await tab.page.evaluate("window.shifts")
    assert sum(shift["by"] for shift in shifts) < 0.1, shifts


async def states(tab: Tab, parley: InProcess) -> AsyncIterator[str]:
    """Drives one session through its states, and yields the name of each when the page shows it."""
    yield "welcome"
    await tab.click("request-settings")
    await tab.wait_for("max-turns")
    await tab("world").select_option("own")
    yield "settings"
    await tab.page.keyboard.press("Escape")
    await tab.wait_until_gone("max-turns")
    parley.model.replies = cancel_replies(*TWO_ORDERS, cancelled=PENDING[1:2])
    await tab.send(f"{RECALLED} Cancel my pending orders " + "W" * 120)
    await tab.wait_for("approve-all")
    for entry in ("thoughts", "recalled", "action"):
        await tab(entry).first.locator("summary").click()
    await tab.click("progress-line")
    yield "approval"
    await tab.click("action-refuse")
    await tab.wait_for("refuse-reason")
    yield "refusal"
    await tab.click("action-deny")
    await tab.click("action-approve")
    await tab.wait_for("next")
    await tab.click("evidence")
    yield "answer"
    parley.gate.hold()
    parley.model.replies["turn"] = [READS]
    await tab.send("Look at my orders again")
    await tab.wait_for("skip")
    yield "running"
    await tab.click("stop")
    await tab.wait_for("stop-report")
    yield "stopped"
    await tab.click("inbox")
    await tab.wait_for("inbox-panel")
    yield "inbox"


async def test_no_visual_problems_in_any_state(ada: Customer) -> None:
    tab = await ada.tab()
    await tab("workflow").get_by_text("Act with tools").click()
    problems: list[str] = []
    async for name in states(tab, ada.parley):
        problems += await tab.visual_problems(name)
    assert not problems, "\n".join(problems)
