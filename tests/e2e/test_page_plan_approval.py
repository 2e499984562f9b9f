"""How a plan that acts is approved on the page: what it would change, what is allowed beforehand, when it starts."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, WebSocketRoute, expect

from parley.client import Parley
from tests.e2e.browser import Person, Tab
from tests.e2e.running import Parley as Running
from tests.e2e.store_requests import PENDING, USER

pytestmark = pytest.mark.timeout(120)
OWN = {"world": "own"}
AT_ONCE = json.dumps(json.dumps({"workflow": "execution_plan", "world": "own", "require_plan_approval": False}))


def look(step: str, order: str) -> dict[str, Any]:
    arguments = {"order_id": order}
    return {"id": step, "text": f"Look {order} up", "tool": "get_order_details", "arguments": arguments}


def cancel(step: str, order: str, *after: str) -> dict[str, Any]:
    arguments = {"order_id": order, "reason": "no longer needed"}
    text = f"Cancel by {step}"
    return {"id": step, "text": text, "tool": "cancel_pending_order", "arguments": arguments, "after": list(after)}


FIND = {
    "id": "s0",
    "text": "Find the customer",
    "tool": "find_user_id_by_email",
    "arguments": {"email": USER["email"]},
}
BOTH = [FIND, look("s1", PENDING[0]) | {"after": ["s0"]}, look("s2", PENDING[1]) | {"after": ["s0"]}]


@pytest_asyncio.fixture(loop_scope="package")
async def person(browser: Browser, running: Running) -> AsyncIterator[Person]:
    async with Person(browser, running.url) as person:
        yield person


class Line:
    """A tab's connection, on which what the page sends can be held back."""

    def __init__(self) -> None:
        self.holds = False
        self._held: list[str | bytes] = []

    def __call__(self, page: WebSocketRoute) -> None:
        self._server = page.connect_to_server()
        page.on_message(self._pass)

    def _pass(self, message: str | bytes) -> None:
        if self.holds:
            self._held.append(message)
        else:
            self._server.send(message)

    def release(self) -> None:
        self.holds = False
        for message in self._held:
            self._server.send(message)


async def stored(person: Person, running: Running, *steps: dict[str, Any], line: Line | None = None) -> Tab:
    """A tab with this plan in review, which acts in a store of the session's own."""
    async with Parley(running.url) as parley:
        plan = await parley.execution_plans.store("Cancel both orders", steps, settings=OWN)
    tab = await person.tab(f"/s/{plan.session_id}", line=line)
    await tab.sees("plan-review", "Plan 1")
    return tab


async def test_a_plan_shows_what_it_would_change_and_is_started_later(person: Person, running: Running) -> None:
    by_reference = cancel("s4", "{{steps.s2.output.order_id}}")
    tab = await stored(person, running, *BOTH, cancel("s3", PENDING[0], "s1"), by_reference)
    shown = tab("plan-step").nth(3).get_by_test_id("preview")
    await expect(shown).to_contain_text("as of now")
    await expect(shown.get_by_test_id("change").first).to_contain_text("cancelled")
    await expect(tab("preview")).to_have_count(1)
    await expect(tab("step-preapprove")).to_have_count(1)
    tick = tab("plan-step").nth(4).get_by_test_id("step-preapprove")
    await expect(tick).not_to_be_checked()
    await tick.check()
    assert await tab.wrong_looks("review") == []
    await tab.press("approve-later")
    await tab.state("approved")
    await tab.sees("failure", "Approved, not started")
    await expect(tab("step-preapproved")).to_have_count(1)
    await tab.press("inbox")
    await expect(tab("inbox-item").filter(has_text="start the plan")).not_to_have_count(0)
    await tab.page.keyboard.press("Escape")
    await tab.gone("inbox-panel")
    await tab.sees("turn")
    await tab.reloaded_the_same()
    await expect(tab("retry")).to_have_text("Start")
    await tab.press("retry")
    await tab.sees("answer", "All 5 steps were carried out.")
    types = [event["type"] for event in await tab.events()]
    assert "approval.given" not in types, "what was allowed beforehand asks nobody"


async def test_all_that_wait_are_on_one_card_and_approved_together(person: Person, running: Running) -> None:
    changes = [cancel(f"c{at}", f"{{{{steps.s{at}.output.order_id}}}}") for at in (1, 2)]
    tab = await stored(person, running, *BOTH, *changes)
    await expect(tab("step-preapprove")).to_have_count(2)
    await tab.press("approve")
    await tab.sees("approval-request", "Approve these 2 actions?")
    for order in PENDING[:2]:
        card = tab("action-request").filter(has_text=order)
        await expect(card.get_by_test_id("change").first).to_contain_text("cancelled")
    await tab.press("approve-all")
    await tab.sees("answer", "All 5 steps were carried out.")
    given = [event for event in await tab.events() if event["type"] == "approval.given"]
    assert len({event["hash"] for event in given}) == 2


async def test_what_is_approved_together_is_what_was_shown(person: Person, running: Running) -> None:
    """One of them is declined elsewhere before the page's approvals arrive: that is told, the other one counts."""
    changes = [cancel(f"c{at}", f"{{{{steps.s{at}.output.order_id}}}}") for at in (1, 2)]
    line = Line()
    tab = await stored(person, running, *BOTH, *changes, line=line)
    await tab.press("approve")
    await tab.sees("approve-all")
    async with Parley(running.url) as parley:
        session = parley.session(tab.session_id)
        first = (await session.snapshot()).approval_request.actions[0]  # type: ignore[union-attr]
        line.holds = True
        await tab.press("approve-all")
        await session.send(type="approval", approved=False, action_id=first.action_id, hash=first.hash)
    line.release()
    await expect(tab.page.get_by_role("alert").filter(has_text=f"No action {first.action_id}")).not_to_have_count(0)
    await tab.sees("answer")
    events = await tab.events()
    assert [event["action_id"] for event in events if event["type"] == "approval.denied"] == [first.action_id]
    assert first.action_id not in [event["action_id"] for event in events if event["type"] == "approval.given"]


async def test_a_plan_runs_at_once_where_the_settings_say_so(person: Person) -> None:
    await person.context.add_init_script(f"localStorage.setItem('parley.choice', {AT_ONCE})")
    tab = await person.tab()
    await tab.press("request-settings")
    await expect(tab.page.get_by_test_id("plan-approval")).not_to_be_checked()
    await tab.page.keyboard.press("Escape")
    await tab.say(f"I am {USER['email']}. Look up {PENDING[0]}, and cancel {PENDING[1]}.")
    await tab.sees("approval-request", "Approve this change?")
    assert "plan.approved" not in [event["type"] for event in await tab.events()]
    await tab.press("action-approve")
    await tab.sees("answer", "steps were carried out.")
