"""Requests with tools on the page, with all services and the rehearsal model."""

from playwright.async_api import expect

from tests.e2e.browser import Person, Tab
from tests.e2e.parley_process import RunningParley
from tests.e2e.store_user import PENDING, USER, USER_ID


async def test_all_services_run_the_example_requests(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    before = await waiting_count(tab)
    await tab("workflow").get_by_text("Act with tools").click()
    await tab("example").nth(0).click()
    await tab.wait_for("answer", "#W3997796")
    await tab.click("new-session")
    await tab("example").nth(1).click()
    change = await tab.wait_for("change", "status")
    await expect(change.get_by_role("cell")).to_have_text(["pending", "cancelled"])
    await tab.click("action-approve")
    await tab.wait_for("answer", PENDING[0])
    await expect(tab("action").last).to_have_attribute("data-state", "finished")
    await tab.check_reload()
    await tab.click("new-session")
    await tab("example").nth(2).click()
    await tab.wait_for("change", "12 Harbor View")
    await tab.click("action-approve")
    await tab.wait_for("answer", "#W3990615")
    assert await waiting_count(tab) == before


async def test_an_execution_plan_is_edited_approved_and_executed(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    await tab("workflow").get_by_text("Plan and act").click()
    await tab("example").nth(0).click()
    await tab.wait_for("plan-review", "Plan 1")
    await expect(tab("step-call")).to_have_count(5)
    await expect(tab("step-call").last).to_contain_text("cancel_pending_order")
    await expect(tab("step-call").last).to_contain_text("changes data")
    await expect(tab("step-call").last).to_contain_text("after 4")
    await tab.page.get_by_role("button", name="Delete step 4").click()
    await tab.click("edit-save")
    await tab.wait_for("step-problem", "depends on s4, which is not a step of the plan.")
    await tab.click("edit-discard")
    await tab.page.get_by_role("button", name="Delete step 3").click()
    await tab.click("edit-save")
    await tab.wait_for("plan-review", "Plan 2")
    await expect(tab("step-call").last).to_contain_text("after 3")
    await tab.click("approve")
    await tab.wait_for("answer", "All 4 steps were carried out.")
    await expect(tab("action")).to_have_count(4)
    await expect(tab("action").last).to_have_attribute("data-state", "finished")
    await tab.check_reload()


async def test_a_failed_step_is_edited_and_the_plan_continues(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    await tab("workflow").get_by_text("Plan and act").click()
    await tab.send(f"I am {USER['email']}. Look up #W0000000 and #{PENDING[1].removeprefix('#')}.")
    await tab.wait_for("plan-review", "Plan 1")
    await tab.click("approve")
    await tab.wait_for("failure", "The plan is not finished")
    await expect(tab("step-stands")).to_have_text(["done", "failed", "done"])
    await tab.click("retry")
    await expect(tab("answer")).to_have_count(2)
    await expect(tab("step-argument").first).not_to_have_role("button")  # finished steps cannot be edited
    await tab("step-argument").nth(1).click()
    await tab("step-argument-input").fill(PENDING[0])
    await tab.click("edit-save")
    await tab.wait_for("plan-review", "Plan 2")
    await expect(tab("step-stands")).to_have_text(["done", "done"])
    await tab.click("what-changed")
    await expect(tab("step-change").nth(1)).to_have_attribute("data-what", "changed")
    await expect(tab("step-change").nth(1)).to_contain_text(f"order id #W0000000 → {PENDING[0]}")
    await expect(tab("step-change").first).to_contain_text("done")
    await tab("version-against").select_option("")
    await tab.click("approve")
    await tab.wait_for("answer", "All 3 steps were carried out.")
    await tab.wait_until_gone("failure")
    await tab.check_reload()


async def test_a_failed_step_is_skipped_and_the_plan_continues(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    await tab.page.set_viewport_size({"width": 390, "height": 844})
    await tab("workflow").get_by_text("Plan and act").click()
    await tab.send(f"I am {USER['email']}. Look up #W0000000 and #{PENDING[1].removeprefix('#')}.")
    await tab.click("approve")
    await tab.wait_for("failure", "The plan is not finished")
    await tab("skip").click()
    await tab.click("skip-send")
    await tab.wait_for("answer", "You left out “Look up order #W0000000”")
    await tab.wait_until_gone("failure")


async def waiting_count(tab: Tab) -> int:
    """How many sessions wait for the user."""
    return int(await tab.page.evaluate("async () => (await (await fetch('/api/inbox')).json()).total"))


async def test_an_escalated_request_is_taken_over(person: Person, running: RunningParley) -> None:
    before = await waiting_count(await person.tab())
    tab = await person.tab()
    await tab("workflow").get_by_text("Act with tools").click()
    await tab.send(f"I am {USER['email']}. I want to speak with a human being.")
    await tab.wait_for("take-over")
    await expect(tab("inbox-count")).to_have_text(str(before + 1))
    await tab("tool-search").fill("details of a user")
    await tab("tool").filter(has_text="get_user_details").click()
    await tab("argument-user_id").fill(USER_ID)
    await tab.click("tool-run")
    await expect(tab("turn").last.get_by_test_id("turn-by")).to_have_text("You")
    await expect(tab("action-gist").last).to_contain_text(USER["email"])
    await tab.wait_for("take-over", "You have taken over")
