"""Acting with tools on the page, with all services and the rehearsal model: the examples, and a person's own calls."""

import pytest
from playwright.async_api import expect

from tests.e2e.browser import Person, Tab
from tests.e2e.running import Parley
from tests.e2e.store_requests import PENDING, USER, USER_ID

pytestmark = pytest.mark.timeout(120)


async def test_the_examples_are_carried_out_by_all_services(person: Person, running: Parley) -> None:
    tab = await person.tab()
    before = await waiting(tab)
    await tab("workflow").get_by_text("Act with tools").click()
    await tab("example").nth(0).click()
    await tab.sees("answer", "#W3997796")
    await tab.press("new-session")
    await tab("example").nth(1).click()
    change = await tab.sees("change", "status")
    await expect(change.get_by_role("cell")).to_have_text(["pending", "cancelled"])
    await tab.press("action-approve")
    await tab.sees("answer", PENDING[0])
    await expect(tab("action").last).to_have_attribute("data-state", "finished")
    await tab.reloaded_the_same()
    await tab.press("new-session")
    await tab("example").nth(2).click()
    await tab.sees("change", "12 Harbor View")
    await tab.press("action-approve")
    await tab.sees("answer", "#W3990615")
    assert await waiting(tab) == before


async def test_a_plan_that_acts_is_edited_approved_once_and_carried_out(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await tab("workflow").get_by_text("Plan and act").click()
    await tab("example").nth(0).click()
    await tab.sees("plan-review", "Plan 1")
    await expect(tab("step-call")).to_have_count(5)
    await expect(tab("step-call").last).to_contain_text("cancel_pending_order")
    await expect(tab("step-call").last).to_contain_text("changes data")
    await expect(tab("step-call").last).to_contain_text("after 4")
    await tab.page.get_by_role("button", name="Delete step 4").click()
    await tab.press("edit-save")
    await tab.sees("step-problem", "depends on s4, which is no step.")
    await tab.press("edit-discard")
    await tab.page.get_by_role("button", name="Delete step 3").click()
    await tab.press("edit-save")
    await tab.sees("plan-review", "Plan 2")
    await expect(tab("step-call").last).to_contain_text("after 3")
    await tab.press("approve")
    await tab.sees("answer", "All 4 steps were carried out.")
    await expect(tab("action")).to_have_count(4)
    await expect(tab("action").last).to_have_attribute("data-state", "finished")
    await tab.reloaded_the_same()


async def test_a_step_that_failed_is_changed_where_it_stands_and_the_plan_goes_on(
    person: Person, running: Parley
) -> None:
    tab = await person.tab()
    await tab("workflow").get_by_text("Plan and act").click()
    await tab.say(f"I am {USER['email']}. Look up #W0000000 and #{PENDING[1].removeprefix('#')}.")
    await tab.sees("plan-review", "Plan 1")
    await tab.press("approve")
    await tab.sees("failure", "The plan is not finished")
    await expect(tab("step-stands")).to_have_text(["done", "failed", "done"])
    await tab.press("retry")
    await expect(tab("answer")).to_have_count(2)
    await expect(tab("step-argument").first).not_to_have_role("button")  # what was done is not changed any more
    await tab("step-argument").nth(1).click()
    await tab("step-argument-input").fill(PENDING[0])
    await tab.press("edit-save")
    await tab.sees("plan-review", "Plan 2")
    await expect(tab("step-stands")).to_have_text(["done", "done"])
    await tab.press("what-changed")
    await expect(tab("step-change").nth(1)).to_have_attribute("data-what", "changed")
    await expect(tab("step-change").nth(1)).to_contain_text(f"order id #W0000000 → {PENDING[0]}")
    await expect(tab("step-change").first).to_contain_text("done")
    await tab("version-against").select_option("")
    await tab.press("approve")
    await tab.sees("answer", "All 3 steps were carried out.")
    await tab.gone("failure")
    await tab.reloaded_the_same()


async def test_a_step_that_failed_is_left_out_and_the_plan_goes_on(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await tab.page.set_viewport_size({"width": 390, "height": 844})
    await tab("workflow").get_by_text("Plan and act").click()
    await tab.say(f"I am {USER['email']}. Look up #W0000000 and #{PENDING[1].removeprefix('#')}.")
    await tab.press("approve")
    await tab.sees("failure", "The plan is not finished")
    await tab("skip").click()
    await tab.press("skip-send")
    await tab.sees("answer", "You left out “Look up order #W0000000”")
    await tab.gone("failure")


async def waiting(tab: Tab) -> int:
    """How many sessions wait for the person."""
    return int(await tab.page.evaluate("async () => (await (await fetch('/api/inbox')).json()).total"))


async def test_a_request_for_a_person_is_taken_over_with_all_services(person: Person, running: Parley) -> None:
    before = await waiting(await person.tab())
    tab = await person.tab()
    await tab("workflow").get_by_text("Act with tools").click()
    await tab.say(f"I am {USER['email']}. I want to speak with a human being.")
    await tab.sees("take-over")
    await expect(tab("inbox-count")).to_have_text(str(before + 1))
    await tab("tool-search").fill("details of a user")
    await tab("tool").filter(has_text="get_user_details").click()
    await tab("argument-user_id").fill(USER_ID)
    await tab.press("tool-run")
    await expect(tab("turn").last.get_by_test_id("turn-by")).to_have_text("You")
    await expect(tab("action-gist").last).to_contain_text(USER["email"])
    await tab.sees("take-over", "You have taken over")
