"""The page in a real browser with all services: a conversation to its completion, reloads, and several tabs."""

import re
from collections.abc import Awaitable, Callable

from playwright.async_api import Page, expect

from tests.e2e.browser import PausableSocket, Person
from tests.e2e.parley_process import RunningParley

SLOW_PLAN = {"task": "text_plan", "token_delay": 0.08, "times": 1}


async def test_a_conversation_from_request_to_completion(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    await running.add_fault(**SLOW_PLAN)
    await tab.send("Help me create a simple calculator")
    await tab.wait_for("draft", "calculator")
    await tab.wait_for_state("text_plan_approval")
    await tab.wait_until_gone("draft")
    first = await tab.steps()
    assert len(first) >= 3
    await tab.check_reload()

    await tab.send_feedback("Add a step to write a short help text")
    await tab.wait_for("plan-review", "Plan 2")
    await tab("version-against").select_option(label="with version 1")
    await expect(tab("diff").locator(".cm-changedLine, .cm-insertedLine")).to_contain_text(["help text"])
    await tab("version-against").select_option("")
    assert [*first, "Write a short help text"] == await tab.steps()

    expected = await edit_steps(tab.page, tab.steps)
    await expect(tab("approve")).to_be_disabled()  # until the edits are saved or discarded
    await tab.wait_for("blocked")
    await tab.click("edit-save")
    await tab.wait_for("plan-review", "Edited by you")
    assert await tab.steps() == expected

    await tab.click("approve")
    await tab.wait_for_state("code_approval")
    events = await tab.events()
    edited = [event for event in events if event["type"] == "plan.edited"]
    approved = [event for event in events if event["type"] == "plan.approved"]
    assert [event["plan_version"] for event in approved] == [edited[-1]["version"]]
    assert [step["text"] for step in edited[-1]["steps"]] == expected
    await expect(tab("check")).to_have_count(3)
    await expect(tab.page.locator('[data-testid="check"][data-ok="true"]:visible')).to_have_count(3)

    await tab.send_feedback("Add support for floating point numbers")
    await tab.wait_for("code-review", "Code 2")
    await expect(tab("code-text")).to_contain_text("float")
    await tab("version-against").select_option(label="with version 1")
    await expect(tab("diff").locator(".cm-changedLine, .cm-insertedLine").first).to_be_visible()
    await tab("version-against").select_option("")
    await tab.click("approve")

    await tab.click("run")
    await expect(await tab.wait_for("run-output")).to_contain_text("7 / 2 = 3.5")
    await expect(tab("verdict")).to_have_attribute("data-status", "success")
    await tab.wait_for("next")

    await tab.click("save")
    await expect(tab("save")).to_have_attribute("aria-pressed", "true")
    await tab.check_reload()
    await expect(tab("save")).to_have_attribute("aria-pressed", "true")

    await tab.click("continue-option")  # sends nothing, only focuses the composer
    await expect(tab("composer")).to_be_focused()
    await tab.wait_for_state("completed")
    await tab.send("Add a step to show a few examples")
    await tab.wait_for_state("text_plan_approval")
    await tab.click("approve")
    await tab.wait_for_state("code_approval")
    await tab.click("approve")
    await tab.wait_for("complete")
    await tab.send("Now write a program for prime numbers")  # the next request, in the same session
    await tab.wait_for_state("text_plan_approval")
    await tab.wait_for("plan-goal", "prime")
    await tab.click("approve")
    await tab.wait_for_state("code_approval")
    await tab.click("approve")
    await tab.click("complete")
    await expect(tab("status")).to_have_text("Done")
    await tab.check_reload()
    assert len(await tab.journal()) == len(set(await tab.journal())), "an entry appears twice"


async def edit_steps(page: Page, steps: Callable[[], Awaitable[list[str]]]) -> list[str]:
    """Changes, adds, deletes and moves steps; returns the expected texts."""
    before = await steps()
    texts = page.get_by_test_id("step-text")
    field = page.get_by_test_id("step-text-input")
    await texts.nth(0).click()
    await field.fill("Write the four operations")
    await page.keyboard.press("Enter")  # adds a step after it
    await field.fill("Write tests first")
    await page.keyboard.press("Alt+ArrowUp")
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Delete step 3").click()
    await page.get_by_test_id("step-add").click()
    await field.fill("Say goodbye")
    await page.keyboard.press("Escape")
    expected = ["Write tests first", "Write the four operations", *before[2:], "Say goodbye"]
    await expect(texts).to_have_text(expected)
    return expected


async def test_a_reload_keeps_the_draft(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    await running.add_fault(task="text_plan", times=1, pause=True)
    await tab.send("Write a program for roman numerals")
    draft = await (await tab.wait_for("draft", "Roman numerals")).inner_text()
    await tab.page.reload()
    last_line = re.sub(r"^\d+\. ", "", draft.split("\n")[-1])  # the list number is not part of the text
    await tab.wait_for("draft", last_line)  # the draft continues after the reload
    await running.clear_faults()
    await tab.wait_for_state("text_plan_approval")
    await tab.wait_for("approve")
    await expect(tab("said")).to_have_count(1)
    await expect(tab("plan-card")).to_have_count(1)


async def test_a_request_sent_again_after_a_reload_is_recorded_once(person: Person) -> None:
    """The tab misses that its request was recorded, and sends it again after a reload: the session has it once."""
    socket = PausableSocket()
    tab = await person.tab(route_socket=socket.handle)
    await tab.wait_for("demo")  # the greeting has arrived
    socket.hold()
    await tab.send("Write a program for text statistics")
    await tab.page.wait_for_function("""async () => {
      const answer = await fetch('/api/sessions?q=statistics');
      return (await answer.json()).sessions[0]?.state === 'text_plan_approval';
    }""")
    socket.drop()
    await tab.page.reload()
    await tab.wait_for_state("text_plan_approval")
    await expect(tab("said")).to_have_count(1)
    await expect(tab("session-item").filter(has_text="statistics")).to_have_count(1)
    await expect(tab("journal")).not_to_contain_text("sending")


async def test_approving_an_old_version_is_refused_with_a_hint(person: Person) -> None:
    first = await person.tab()
    await first.to_plan()
    socket = PausableSocket()
    second = await person.tab(f"/s/{first.session_id}", route_socket=socket.handle)
    await second.wait_for("approve")
    socket.hold()
    await first.send_feedback("Add a step to write a short help text")
    await first.wait_for("plan-review", "Plan 2")
    await second.wait_for("plan-review", "Plan 1")
    await second.click("approve")
    socket.release()
    await expect(second.page.get_by_role("alert").filter(has_text="newer version").first).to_be_visible()
    await second.wait_for("plan-review", "Plan 2")
    await second.wait_for_state("text_plan_approval")
    assert "plan.approved" not in [event["type"] for event in await first.events()]
    await second.click("approve")
    await first.wait_for_state("code_approval")
