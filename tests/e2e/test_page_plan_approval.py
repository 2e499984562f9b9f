"""Approving an execution plan on the page, with previews, preapproved steps, and a separate start."""

from typing import Any

from playwright.async_api import expect

from parley.client import Parley
from tests.e2e.browser import PausableSocket, Person, Tab
from tests.e2e.parley_process import RunningParley
from tests.e2e.store_user import PENDING, USER

OWN_WORLD = {"world": "own"}


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
LOOK_STEPS = [FIND, look("s1", PENDING[0]) | {"after": ["s0"]}, look("s2", PENDING[1]) | {"after": ["s0"]}]


async def open_stored_plan(
    person: Person, running: RunningParley, *steps: dict[str, Any], socket: PausableSocket | None = None
) -> Tab:
    """A tab with this plan in review, in a session with its own copy of the store."""
    async with Parley(running.url) as parley:
        plan = await parley.execution_plans.store("Cancel both orders", steps, settings=OWN_WORLD)
    tab = await person.tab(f"/s/{plan.session_id}", route_socket=socket.handle if socket else None)
    await tab.wait_for("plan-review", "Plan 1")
    return tab


async def test_a_plan_previews_its_changes_and_is_started_later(person: Person, running: RunningParley) -> None:
    by_reference = cancel("s4", "{{steps.s2.output.order_id}}")
    tab = await open_stored_plan(person, running, *LOOK_STEPS, cancel("s3", PENDING[0], "s1"), by_reference)
    preview = tab("plan-step").nth(3).get_by_test_id("preview")
    await expect(preview).to_contain_text("as of now")
    await expect(preview.get_by_test_id("change").first).to_contain_text("cancelled")
    await expect(tab("preview")).to_have_count(1)
    await expect(tab("step-preapprove")).to_have_count(1)
    checkbox = tab("plan-step").nth(4).get_by_test_id("step-preapprove")
    await expect(checkbox).not_to_be_checked()
    await checkbox.check()
    assert await tab.visual_problems("review") == []
    await tab.click("approve-later")
    await tab.wait_for_state("approved")
    await tab.wait_for("failure", "Approved, not started")
    await expect(tab("step-preapproved")).to_have_count(1)
    await tab.click("inbox")
    await expect(tab("inbox-item").filter(has_text="start the plan")).not_to_have_count(0)
    await tab.page.keyboard.press("Escape")
    await tab.wait_until_gone("inbox-panel")
    await tab.wait_for("turn")
    await tab.check_reload()
    await expect(tab("retry")).to_have_text("Start")
    await tab.click("retry")
    await tab.wait_for("answer", "All 5 steps were carried out.")
    types = [event["type"] for event in await tab.events()]
    assert "approval.given" not in types, "a preapproved step must not ask for approval"


async def test_approving_together_covers_only_what_was_shown(person: Person, running: RunningParley) -> None:
    """Another client declines one action before the page's approvals arrive, so only the other action is approved."""
    changes = [cancel(f"c{at}", f"{{{{steps.s{at}.output.order_id}}}}") for at in (1, 2)]
    socket = PausableSocket(of_page=True)
    tab = await open_stored_plan(person, running, *LOOK_STEPS, *changes, socket=socket)
    await tab.click("approve")
    await tab.wait_for("approve-all")
    async with Parley(running.url) as parley:
        session = parley.session(tab.session_id)
        first = (await session.snapshot()).approval_request.actions[0]  # type: ignore[union-attr]
        socket.hold()
        await tab.click("approve-all")
        await session.send(type="approval", approved=False, action_id=first.action_id, hash=first.hash)
    socket.release()
    await expect(tab.page.get_by_role("alert").filter(has_text=f"No action {first.action_id}")).not_to_have_count(0)
    await tab.wait_for("answer")
    events = await tab.events()
    assert [event["action_id"] for event in events if event["type"] == "approval.denied"] == [first.action_id]
    assert first.action_id not in [event["action_id"] for event in events if event["type"] == "approval.given"]
