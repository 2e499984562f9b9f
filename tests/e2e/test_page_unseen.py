"""What is approved has nothing in it that is not seen: text that turns around or hides is shown by its numbers."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, WebSocketRoute, expect

from tests.e2e.browser import NARROW, WIDE, Tab
from tests.e2e.store_requests import FIND, LOOK, ONE, Customer, Replies, call, cancelling, turn
from tests.support.bus import FakeBus
from tests.support.parley import InProcess, in_process

pytestmark = pytest.mark.timeout(120)
TURNED, HIDDEN = "\u202eelcycer\u202c", "\u200b\U000e006f"
SHOWN = "<U+202E>elcycer<U+202C>"
# The texts of the page that hold a character which nobody sees.
UNSEEN = r"""() => {
  const unseen = /[\p{Cc}\p{Cf}]/u, plain = /[\n\r\t\u200c\u200d]/g;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  while (texts.nextNode()) {
    const { parentElement, nodeValue } = texts.currentNode;
    const ours = parentElement.closest('textarea, script, style') || !unseen.test(nodeValue.replace(plain, ''));
    if (!ours) found.push(JSON.stringify(nodeValue));
  }
  for (const name of ['aria-label', 'title'])
    for (const one of document.querySelectorAll(`[${name}]`))
      if (unseen.test(one.getAttribute(name).replace(plain, ''))) found.push(`${name}: ${one.getAttribute(name)}`);
  return found;
}"""
PLAN: Replies = {
    "goal": f"A calculator, {TURNED}",
    "steps": [f"Read {TURNED} numbers{HIDDEN}", "Add `them \u2067up\u2069`", "שלום, ask `first`, then add"],
    "notes": f"See [{TURNED}](https://example.org) and\u001b[2J.",
}
CODE = """\
access = "user"
if access != "user\u202e \u2066# admins only\u2069 \u2066":
    print("you are an admin\u200b")
"""


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def parley(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcess]:
    async with in_process(tmp_path_factory.mktemp("home"), FakeBus()) as parley:
        yield parley


@pytest_asyncio.fixture(loop_scope="package")
async def ada(browser: Browser, parley: InProcess) -> AsyncIterator[Customer]:
    async with Customer(browser, parley) as customer:
        yield customer


async def looked_at(tab: Tab, name: str) -> None:
    """Nothing unseen is on the page, and it looks well. `SCREENSHOTS` names a folder for whoever wants to look, too."""
    assert await tab.page.evaluate(UNSEEN) == []
    assert await tab.wrong_looks(name) == []
    if folder := os.environ.get("SCREENSHOTS"):
        for size, scheme in ((NARROW, "dark"), (NARROW, "light"), (WIDE, "light"), (WIDE, "dark")):
            await tab.page.set_viewport_size(size)  # type: ignore[arg-type]
            await tab.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await tab.page.screenshot(path=Path(folder) / f"{name}-{size['width']}-{scheme}.png")


async def test_a_plan_and_its_code(ada: Customer) -> None:
    replies: dict[str, Any] = {"turn": [], "text_plan": PLAN, "code": {"explanation": f"Is {TURNED}.", "code": CODE}}
    replies["tests"] = {"tests": "def test_nothing() -> None:\n    assert True\n"}
    tab = await ada.comes(replies, workflow="conversation")
    await tab.say(f"A {TURNED} calculator")
    await tab.state("text_plan_approval")
    await expect(tab("step-text").first).to_have_text(f"Read {SHOWN} numbers<U+200B><U+E006F>")
    await expect(tab("plan-review")).to_contain_text("<U+001B>[2J")
    await looked_at(tab, "plan")
    await tab.press("approve")
    await tab.state("code_approval")
    await tab.sees("approve")
    await expect(tab("code-text").first).to_contain_text('"user<U+202E> <U+2066># admins only<U+2069> <U+2066>":')
    await expect(tab("code-text").first).to_contain_text("admin<U+200B>")
    await looked_at(tab, "code")
    code = next(event for event in await tab.events() if event["type"] == "code.drafted")
    assert code["code"].strip() == CODE.strip(), "what is approved is the text itself"


async def test_a_call_its_arguments_and_its_tool(ada: Customer) -> None:
    act = call("cancel_pending_order", f"Cancel {TURNED}", order_id=ONE[0], reason="no longer needed")
    replies = cancelling(*ONE) | {"turn": [FIND, LOOK, turn(f"Goal {TURNED}", act | {"depends_on": []}, final=True)]}
    await ada.comes(replies)

    def turned(text: str) -> str:
        """As if the order had such a name: it is written into what the gateway says."""
        return text.replace(json.dumps(ONE[0])[1:-1], f"{ONE[0]}{json.dumps(TURNED)[1:-1]}")

    def between(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda message: socket.send(turned(str(message))))

    tab = await ada.tab(line=between)
    await tab.sees("example")
    await tab.say("Cancel one order")
    await tab.state("action_approval")
    card = await tab.sees("action-request")
    await expect(card).to_contain_text(f"Cancel {SHOWN}")
    await expect(card).to_contain_text(f"{ONE[0]}{SHOWN}")
    await tab.sees("action-approve")
    await looked_at(tab, "approval")
