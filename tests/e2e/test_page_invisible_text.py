"""Approvals contain nothing invisible: characters that reorder or hide text are shown as code points."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
from playwright.async_api import Browser, WebSocketRoute, expect

from tests.e2e.browser import NARROW, WIDE, Tab
from tests.e2e.store_user import FIND_CUSTOMER, ONE_ORDER, READ_ORDERS, Customer, Replies, call, cancel_replies, turn
from tests.support.parley import InProcess

REVERSED, HIDDEN = "\u202eelcycer\u202c", "\u200b\U000e006f"
ESCAPED = "<U+202E>elcycer<U+202C>"
# The page's texts that contain an invisible character.
INVISIBLE_TEXTS = r"""() => {
  const invisible = /[\p{Cc}\p{Cf}]/u, plain = /[\n\r\t\u200c\u200d]/g;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), matches = [];
  while (texts.nextNode()) {
    const { parentElement, nodeValue } = texts.currentNode;
    const isFine = parentElement.closest('textarea, script, style') || !invisible.test(nodeValue.replace(plain, ''));
    if (!isFine) matches.push(JSON.stringify(nodeValue));
  }
  for (const name of ['aria-label', 'title'])
    for (const element of document.querySelectorAll(`[${name}]`))
      if (invisible.test(element.getAttribute(name).replace(plain, '')))
        matches.push(`${name}: ${element.getAttribute(name)}`);
  return matches;
}"""
PLAN: Replies = {
    "goal": f"A calculator, {REVERSED}",
    "steps": [f"Read {REVERSED} numbers{HIDDEN}", "Add `them \u2067up\u2069`", "שלום, ask `first`, then add"],
    "notes": f"See [{REVERSED}](https://example.org) and\u001b[2J.",
}
CODE = """\
access = "user"
if access != "user\u202e \u2066# admins only\u2069 \u2066":
    print("you are an admin\u200b")
"""


@pytest_asyncio.fixture(loop_scope="package")
async def ada(browser: Browser, parley: InProcess) -> AsyncIterator[Customer]:
    async with Customer(browser, parley) as customer:
        yield customer


async def check_page(tab: Tab, name: str) -> None:
    """Finds invisible characters and visual problems. `SCREENSHOTS` names a folder for screenshots."""
    assert await tab.page.evaluate(INVISIBLE_TEXTS) == []
    assert await tab.visual_problems(name) == []
    if folder := os.environ.get("SCREENSHOTS"):
        for size, scheme in ((NARROW, "dark"), (NARROW, "light"), (WIDE, "light"), (WIDE, "dark")):
            await tab.page.set_viewport_size(size)  # type: ignore[arg-type]
            await tab.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await tab.page.screenshot(path=Path(folder) / f"{name}-{size['width']}-{scheme}.png")


async def test_a_plan_and_code_show_invisible_characters(ada: Customer) -> None:
    replies: dict[str, Any] = {"turn": [], "text_plan": PLAN, "code": {"explanation": f"Is {REVERSED}.", "code": CODE}}
    replies["tests"] = {"tests": "def test_nothing() -> None:\n    assert True\n"}
    tab = await ada.open_start_page(replies, workflow="conversation")
    await tab.send(f"A {REVERSED} calculator")
    await tab.wait_for_state("text_plan_approval")
    await expect(tab("step-text").first).to_have_text(f"Read {ESCAPED} numbers<U+200B><U+E006F>")
    await expect(tab("plan-review")).to_contain_text("<U+001B>[2J")
    await check_page(tab, "plan")
    await tab.click("approve")
    await tab.wait_for_state("code_approval")
    await tab.wait_for("approve")
    await expect(tab("code-text").first).to_contain_text('"user<U+202E> <U+2066># admins only<U+2069> <U+2066>":')
    await expect(tab("code-text").first).to_contain_text("admin<U+200B>")
    await check_page(tab, "code")
    code = next(event for event in await tab.events() if event["type"] == "code.drafted")
    assert code["code"].strip() == CODE.strip(), "the approved code is the original text"


async def test_a_call_and_its_tool_show_invisible_characters(ada: Customer) -> None:
    cancellation = call("cancel_pending_order", f"Cancel {REVERSED}", order_id=ONE_ORDER[0], reason="no longer needed")
    replies = cancel_replies(*ONE_ORDER) | {
        "turn": [FIND_CUSTOMER, READ_ORDERS, turn(f"Goal {REVERSED}", cancellation | {"depends_on": []}, final=True)]
    }
    await ada.open_start_page(replies)

    def with_reversed_text(text: str) -> str:
        """Puts the characters into the gateway's message, as if the order had such a name."""
        return text.replace(json.dumps(ONE_ORDER[0])[1:-1], f"{ONE_ORDER[0]}{json.dumps(REVERSED)[1:-1]}")

    def route_socket(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda message: socket.send(with_reversed_text(str(message))))

    tab = await ada.tab(route_socket=route_socket)
    await tab.wait_for("example")
    await tab.send("Cancel one order")
    await tab.wait_for_state("action_approval")
    card = await tab.wait_for("action-request")
    await expect(card).to_contain_text(f"Cancel {ESCAPED}")
    await expect(card).to_contain_text(f"{ONE_ORDER[0]}{ESCAPED}")
    await tab.wait_for("action-approve")
    await check_page(tab, "approval")
