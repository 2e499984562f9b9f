"""A person asks and asks for changes while a plan runs: nothing is lost, and a change is an offer beside what runs.

The bus, the log and the model are fakes in this process. Everything else is real.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, expect

from tests.e2e.browser import Person, Tab
from tests.e2e.parley_process import Json
from tests.e2e.store_user import DELIVERED, PENDING, USER
from tests.support.http_client import http_client
from tests.support.parley import InProcess

FIND, LOOK, CANCEL = "Find the customer", "Look at the order", "Cancel it"
ORDER = {"order_id": PENDING[0]}
STEPS: list[dict[str, Any]] = [
    {"id": "s1", "text": FIND, "tool": "find_user_id_by_email", "arguments": {"email": USER["email"]}},
    {"id": "s2", "text": LOOK, "tool": "get_order_details", "arguments": ORDER, "after": ["s1"]},
    {
        "id": "s3",
        "text": CANCEL,
        "tool": "cancel_pending_order",
        "arguments": ORDER | {"reason": "no longer needed"},
        "after": ["s2"],
    },
]
QUESTION, ANSWER = "How long will it take?", "A few seconds: two steps are left."
CHANGE, SAY = "Do not cancel it, look at the other order instead", "I can look at the other order instead. Shall I?"
OTHER_STEP = {"id": "s4", "text": "Look at the other order", "tool": "get_order_details"}
OFFER = {
    "kind": "plan",
    "say": SAY,
    "goal": "Look at the other order",
    "steps": [*STEPS[:2], OTHER_STEP | {"arguments": {"order_id": DELIVERED[0]}, "after": ["s1"]}],
    "notes": "",
}


class Replies:
    """The planner's replies, each held back until the test lets it come."""

    def __init__(self, parley: InProcess) -> None:
        self._model, self._ask, self._may_come = parley.model, parley.model.ask, asyncio.Semaphore(0)

    def __enter__(self) -> "Replies":
        self._model.ask = self._ask_later  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        self._model.ask = self._ask  # type: ignore[method-assign]

    def come(self) -> None:
        self._may_come.release()

    async def _ask_later(self, *args: Any, **options: Any) -> Any:
        await self._may_come.acquire()
        return await self._ask(*args, **options)


@asynccontextmanager
async def running_plan(
    browser: Browser, parley: InProcess, steps: Sequence[Json] = STEPS
) -> AsyncIterator[tuple[Tab, Replies]]:
    """A tab with an approved plan, whose first step runs until the gate opens."""
    parley.gate.hold()
    try:
        async with (
            http_client(base_url=f"{parley.url}/api/execution-plans") as http,
            Person(browser, parley.url) as ada,
        ):
            body = {"description": "Cancel an order", "steps": list(steps), "settings": {"world": "own"}}
            plan = (await http.post("/store", json=body)).json()
            await http.post(f"/{plan['task_id']}/approve", json={"version": plan["version"], "timeout": 0})
            tab = await ada.tab(f"/s/{plan['session_id']}")
            await expect(step(tab, FIND)).to_have_attribute("data-state", "started")
            with Replies(parley) as replies:
                yield tab, replies
    finally:
        parley.gate.release()


def step(tab: Tab, text: str) -> Any:
    return tab("action").filter(has_text=text).first


async def states(tab: Tab) -> list[str | None]:
    return [await action.get_attribute("data-state") for action in await tab("action").all()]


async def newest(tab: Tab, kind: str) -> Json:
    return next(event for event in reversed(await tab.events()) if event["type"] == kind)


async def ask(tab: Tab, parley: InProcess, replies: Replies) -> None:
    """Asks a question about the running plan, and reads the answer."""
    parley.model.replies = {"execution_plan": [{"kind": "answer", "text": ANSWER}]}
    before = await states(tab)
    await tab.send(QUESTION)
    await tab.wait_for("status", "planner is replying to you; changes wait until then")
    await expect(tab("composer")).to_be_enabled()
    await expect(tab("stop")).to_have_text("Stop")  # steps are at work: a stop is for them, too
    replies.come()
    await tab.wait_for("reply", ANSWER)
    assert await states(tab) == before


async def ask_for_change(tab: Tab, parley: InProcess, replies: Replies) -> None:
    """Asks for another plan, which is offered; the step that runs may end meanwhile."""
    parley.model.replies = {"execution_plan": [OFFER]}
    await tab.send(CHANGE)
    await tab.wait_for("status", "planner is replying to you")
    replies.come()
    await tab.wait_for("offer", "Use this plan instead?")
    await tab.wait_for("reply", SAY)
    assert await tab("offer-step").evaluate_all("(all) => all.map(({ dataset }) => dataset.what)") == [
        "same",
        "same",
        "new",
        "removed",
    ]
    parley.gate.release()
    await expect(step(tab, LOOK)).to_have_attribute("data-state", "finished")  # reads go on
    await tab.wait_for("status", "take the new one, or go on with the old one")
    await tab.wait_for_state("offer")
    await expect(step(tab, CANCEL)).to_have_attribute("data-state", "planned")
    await expect(tab("inbox-count")).to_have_text("1")


def assert_order(journal: list[str], *parts: str) -> None:
    """Asserts that the journal has entries with these parts in this order, which is that of their events."""
    entries = iter(journal)
    for part in parts:
        assert any(part in entry for entry in entries), f"“{part}” is missing, or too early, in {journal}"


async def test_a_question_loses_nothing_and_an_offer_that_is_taken_replaces_the_plan(
    browser: Browser, parley: InProcess
) -> None:
    async with running_plan(browser, parley) as (tab, replies):
        await ask(tab, parley, replies)
        await ask_for_change(tab, parley, replies)
        assert await tab.visual_problems("offer") == []
        await tab.check_reload()
        await tab.click("offer-take")
        await tab.wait_until_gone("offer")
        await tab.wait_for("note", "You took the offer")
        await tab.wait_for_state("text_plan_approval")
        await tab.click("approve")
        await tab.wait_for("answer")
        assert [outcome["ok"] for outcome in (await newest(tab, "actions.finished"))["outcomes"]] == [True]
        calls = [action for event in await tab.events() for action in event.get("actions", ()) if "attempt" in action]
        assert [action["action_id"] for action in calls] == ["t2.s1", "t2.s2", "t2.s4"]  # nothing was cancelled
        assert_order(
            await tab.journal(),
            *("Plan 1", "You approved plan 1", "Cancel an order Plan 1", QUESTION, ANSWER, CHANGE, SAY),
            *("planner offers another plan", "You took the offer", "Plan 2", "You approved plan 2"),
            *("Look at the other order Plan 2", "steps were carried out"),
        )
        await expect(tab("inbox-count")).to_have_count(0)


async def test_a_plan_goes_on_when_its_offer_is_turned_down(browser: Browser, parley: InProcess) -> None:
    async with running_plan(browser, parley) as (tab, replies):
        await ask_for_change(tab, parley, replies)
        await tab("offer-take").focus()
        await tab.page.keyboard.press("Tab")
        await expect(tab("offer-keep")).to_be_focused()
        await tab.page.keyboard.press("Enter")
        await tab.wait_until_gone("offer")
        await tab.wait_for("note", "You kept what was there")
        await tab.wait_for("answer")
        assert await states(tab) == ["finished"] * 3
        assert [event["goal"] for event in await tab.events() if event["type"] in ("plan.edited", "plan.drafted")] == [
            "Cancel an order"
        ]
