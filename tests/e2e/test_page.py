"""The page in a real browser on a whole Parley: a conversation from request to end, reloads, and second tabs."""

import re
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Page, WebSocketRoute, expect

from tests.e2e.browser import Person
from tests.e2e.running import Parley

pytestmark = pytest.mark.timeout(120)
SLOW_PLAN = {"task": "text_plan", "token_delay": 0.08, "times": 1}


@pytest.mark.timeout(240)
async def test_from_the_request_to_the_end(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await running.fault(**SLOW_PLAN)
    await tab.say("Help me create a simple calculator")
    await tab.sees("draft", "calculator")
    await tab.state("text_plan_approval")
    await tab.gone("draft")
    first = await tab.steps()
    assert len(first) >= 3
    await tab.reloaded_the_same()

    await tab.feedback("Add a step to write a short help text")
    await tab.sees("plan-review", "Plan 2")
    await tab("version-against").select_option(label="with version 1")
    await expect(tab("diff").locator(".cm-changedLine, .cm-insertedLine")).to_contain_text(["help text"])
    await tab("version-against").select_option("")
    assert [*first, "Write a short help text"] == await tab.steps()

    mine = await edited_by_keyboard_and_pointer(tab.page, tab.steps)
    await expect(tab("approve")).to_be_disabled()  # not before the edits are saved or dropped
    await tab.sees("blocked")
    await tab.press("edit-save")
    await tab.sees("plan-review", "Edited by you")
    assert await tab.steps() == mine
    await tab.reloaded_the_same()

    await tab.press("approve")
    await tab.state("code_approval")
    events = await tab.events()
    edited = [event for event in events if event["type"] == "plan.edited"]
    approved = [event for event in events if event["type"] == "plan.approved"]
    assert [event["plan_version"] for event in approved] == [edited[-1]["version"]]
    assert [step["text"] for step in edited[-1]["steps"]] == mine
    await expect(tab("check")).to_have_count(3)
    await expect(tab.page.locator('[data-testid="check"][data-ok="true"]:visible')).to_have_count(3)

    await tab.feedback("Add support for floating point numbers")
    await tab.sees("code-review", "Code 2")
    await expect(tab("code-text")).to_contain_text("float")
    await tab("version-against").select_option(label="with version 1")
    await expect(tab("diff").locator(".cm-changedLine, .cm-insertedLine").first).to_be_visible()
    await tab("version-against").select_option("")
    await tab.reloaded_the_same()
    await tab.press("approve")

    await tab.press("run")
    await expect(await tab.sees("run-output")).to_contain_text("7 / 2 = 3.5")
    await expect(tab("verdict")).to_have_attribute("data-status", "success")
    await tab.sees("next")
    await tab.reloaded_the_same()

    await tab.press("save")
    await expect(tab("save")).to_have_attribute("aria-pressed", "true")
    await tab.reloaded_the_same()
    await expect(tab("save")).to_have_attribute("aria-pressed", "true")

    await tab.press("continue-option")  # nothing is sent: the field below is where to say what
    await expect(tab("composer")).to_be_focused()
    await tab.state("completed")
    await tab.say("Add a square root")
    await tab.state("text_plan_approval")
    await tab.press("approve")
    await tab.state("code_approval")
    await tab.press("approve")
    await tab.sees("complete")
    await tab.say("Now write a program for prime numbers")  # the next request, in the same session
    await tab.state("text_plan_approval")
    await tab.sees("plan-goal", "prime")
    await tab.press("approve")
    await tab.state("code_approval")
    await tab.press("approve")
    await tab.press("complete")
    await expect(tab("status")).to_have_text("Done")
    await tab.reloaded_the_same()
    assert len(await tab.journal()) == len(set(await tab.journal())), "nothing is told twice"


async def edited_by_keyboard_and_pointer(page: Page, steps: Callable[[], Awaitable[list[str]]]) -> list[str]:
    """Change, add, delete and move steps; the texts that must then be there."""
    before = await steps()
    texts = page.get_by_test_id("step-text")
    field = page.get_by_test_id("step-text-input")
    await texts.nth(0).click()
    await field.fill("Write the four operations")
    await page.keyboard.press("Enter")  # a new step after it
    await field.fill("Write tests first")
    await page.keyboard.press("Alt+ArrowUp")
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Delete step 3").click()
    await page.get_by_test_id("step-add").click()
    await field.fill("Say goodbye")
    await page.keyboard.press("Escape")
    wanted = ["Write tests first", "Write the four operations", *before[2:], "Say goodbye"]
    await expect(texts).to_have_text(wanted)
    return wanted


async def test_a_reload_in_mid_sentence(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await running.fault(task="text_plan", times=1, pause=True)
    await tab.say("Write a program for roman numerals")
    before = await (await tab.sees("draft", "Roman numerals")).inner_text()
    await tab.page.reload()
    last_line = re.sub(r"^\d+\. ", "", before.split("\n")[-1])  # a list's number is none of its text
    await tab.sees("draft", last_line)  # what had been written is there again
    await running.healthy()
    await tab.state("text_plan_approval")
    await tab.sees("approve")
    await expect(tab("said")).to_have_count(1)
    await expect(tab("plan-card")).to_have_count(1)


async def test_a_reload_before_the_answer_to_the_first_request(person: Person) -> None:
    """The request is recorded and planned, and this tab has not heard of it: sent again, it is found, not repeated."""
    slow = SlowLine()
    tab = await person.tab(line=slow.carry)
    await tab.sees("demo")  # it has heard the greeting
    slow.hold()
    await tab.say("Write a program for temperatures")
    await tab.page.wait_for_function("""async () => {
      const answer = await fetch('/api/sessions?q=temperatures');
      return (await answer.json()).sessions[0]?.state === 'text_plan_approval';
    }""")
    slow.forget()
    await tab.page.reload()
    await tab.state("text_plan_approval")
    await expect(tab("said")).to_have_count(1)
    await expect(tab("session-item").filter(has_text="temperatures")).to_have_count(1)
    await expect(tab("journal")).not_to_contain_text("sending")


async def test_a_second_tab_sees_the_same_live(person: Person, running: Parley) -> None:
    one = await person.tab()
    await one.ask()
    two = await person.tab(f"/s/{one.session_id}")
    await two.sees("approve")
    await running.fault(**SLOW_PLAN)
    await one.feedback("Add a step to write a short help text")
    await one.sees("draft", "calculator")
    await two.sees("draft", "calculator")
    await two.sees("plan-review", "Plan 2")
    assert await one.steps() == await two.steps()
    await two.press("approve")
    await one.state("code_approval")
    await two.state("code_approval")
    assert await one.journal() == await two.journal()


async def test_an_approval_of_an_old_version_says_that_there_is_a_newer_one(person: Person) -> None:
    one = await person.tab()
    await one.ask()
    slow = SlowLine()
    two = await person.tab(f"/s/{one.session_id}", line=slow.carry)
    await two.sees("approve")
    slow.hold()
    await one.feedback("Add a step to write a short help text")
    await one.sees("plan-review", "Plan 2")
    await two.sees("plan-review", "Plan 1")
    await two.press("approve")
    slow.release()
    await expect(two.page.get_by_role("alert").filter(has_text="newer version").first).to_be_visible()
    await two.sees("plan-review", "Plan 2")
    await two.state("text_plan_approval")
    assert "plan.approved" not in [event["type"] for event in await one.events()]
    await two.press("approve")
    await one.state("code_approval")


async def test_unsaved_edits_survive_a_newer_version(person: Person) -> None:
    one = await person.tab()
    await one.ask()
    two = await person.tab(f"/s/{one.session_id}")
    await two("step-text").nth(0).click()
    await two("step-text-input").fill("My own words")
    await one.feedback("Add a step to write a short help text")
    await one.sees("plan-review", "Plan 2")
    hint = two.page.get_by_role("alert").filter(has_text="Plan 2 is here")
    await expect(hint).to_be_visible()
    assert "My own words" in await two("step-text-input").input_value()
    await hint.get_by_role("button", name="Discard mine").click()
    await two.sees("plan-review", "Plan 2")
    assert await one.steps() == await two.steps()


class SlowLine:
    """A line to the gateway on which what it says can be held back for a while; nothing is lost."""

    def __init__(self) -> None:
        self._held: list[str | bytes] | None = None
        self._route: WebSocketRoute | None = None

    async def carry(self, route: WebSocketRoute) -> None:
        self._route = route
        server = route.connect_to_server()
        route.on_message(server.send)
        server.on_message(self._down)

    def _down(self, message: str | bytes) -> None:
        assert self._route
        if self._held is None:
            self._route.send(message)
        else:
            self._held.append(message)

    def hold(self) -> None:
        self._held = []

    def forget(self) -> None:
        """What was held back never arrives."""
        self._held = None

    def release(self) -> None:
        held, self._held = self._held or [], None
        for message in held:
            self._down(message)
