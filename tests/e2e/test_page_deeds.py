"""What a person can do on the page beside approving: stop, ask for something else, find, rename, take home."""

import json
import re
import time
from pathlib import Path

import pytest
from playwright.async_api import Download, expect

from tests.e2e.browser import Person, Tab
from tests.e2e.running import Client, Parley

pytestmark = pytest.mark.timeout(120)
SLOW = {"token_delay": 0.4, "times": 1}
LONG = "import time\n\ntime.sleep(20)\n"
STOP_SHOWN = 3.0  # seconds: what nobody should have to wait; usually it is a tenth of that


async def stopped(tab: Tab) -> float:
    """Press Stop; the seconds until the page says so."""
    await tab.sees("stop")
    began = time.monotonic()
    await tab.press("stop")
    await tab.page.wait_for_selector('[data-testid="state"][data-state="stopped"]')
    took = time.monotonic() - began
    await tab.gone("draft")
    return took


async def test_stop_in_every_phase_and_go_on(person: Person, running: Parley) -> None:
    tab = await person.tab()
    took: dict[str, float] = {}
    await running.fault(task="text_plan", **SLOW)
    await tab.say("Help me create a simple calculator")
    await tab.sees("draft", "calculator")
    took["planning"] = await stopped(tab)
    await tab.press("retry")
    await tab.sees("approve")
    await tab.gone("stop")  # nothing runs
    await running.fault(task="code", **SLOW)
    await tab.press("approve")
    await tab.sees("draft", "def")
    took["coding"] = await stopped(tab)
    await running.fault(task="tests", **SLOW)
    await tab.press("retry")
    await expect(tab("draft")).to_have_attribute("aria-label", "Writing tests")
    took["checking the code"] = await stopped(tab)
    await tab.press("retry")
    await tab.sees("checks")
    await tab.gone("stop")
    await tab.sees("code-edit")
    await edit_code(tab, LONG)
    await tab.press("approve")
    await tab.press("run")
    await expect(tab("action")).to_have_attribute("data-state", "started")
    took["running"] = await stopped(tab)
    slowest = max(took, key=lambda phase: took[phase])
    print({phase: round(seconds, 3) for phase, seconds in took.items()})
    assert took[slowest] < STOP_SHOWN, f"slowest while {slowest}: {took}"


async def test_what_is_typed_survives_a_reload(person: Person) -> None:
    tab = await person.tab()
    await tab.ask()
    await tab("step-text").nth(1).click()
    await tab("step-text-input").fill("Ask three numbers")
    await tab.page.keyboard.press("Escape")
    await tab.sees("edit-save")
    await tab.page.reload()
    await expect(tab("step-text").nth(1)).to_have_text("Ask three numbers")
    await tab.press("edit-save")
    await tab.sees("plan-review", "Plan 2")
    await tab.page.reload()
    await tab.sees("approve")
    await tab.gone("edit-save")  # what was saved is not kept any more
    await tab("plan-goal").hover()
    await tab.page.keyboard.press("Control+Enter")
    await tab.state("code_approval")
    await tab.press("code-edit")
    await tab("code-text").first.click()
    await tab.page.keyboard.press("Control+Home")
    await tab.page.keyboard.type("# mine")
    await tab.page.reload()
    await expect(tab("code-text").first).to_contain_text("# mine")
    await tab.press("edit-discard")
    await expect(tab("code-text").first).not_to_contain_text("# mine")


async def test_edits_of_an_older_plan_are_made_to_the_newer_one(person: Person) -> None:
    one = await person.tab()
    await one.ask()
    two = await person.tab(f"/s/{one.session_id}")
    await two.sees("approve")
    await two("step-text").nth(1).click()
    await two("step-text-input").fill("Mine")
    await two.page.keyboard.press("Escape")
    await one.feedback("Add a step to write a short help text")
    await one.sees("plan-review", "Plan 2")
    await two.sees("apply-mine")
    await two.page.reload()  # the older version is known only to the edit now
    await two.press("apply-mine")
    await expect(two("step-text").nth(1)).to_have_text("Mine")
    await two.press("edit-save")
    await two.sees("plan-review", "Plan 3")
    await two.press("what-changed")
    await two.sees("diff")


async def test_a_question_mark_lists_the_keys(person: Person) -> None:
    tab = await person.tab()
    await tab.ask()
    await tab("plan-goal").hover()
    await tab.page.evaluate("document.activeElement.blur()")
    await tab.page.keyboard.press("?")
    await tab.sees("shortcuts", "Approve what is in review")
    await tab.page.keyboard.press("Control+Enter")  # not behind a dialog
    await tab.page.keyboard.press("Escape")
    await tab.gone("shortcuts")
    await tab.state("text_plan_approval")


async def test_edits_of_older_code_are_made_to_the_newer_one(person: Person) -> None:
    one = await person.tab()
    await one.to_code()
    two = await person.tab(f"/s/{one.session_id}")
    await two.press("code-edit")
    await two("code-text").locator(".cm-content[contenteditable=true]").click()
    await two.page.keyboard.press("Control+Home")
    await two.page.keyboard.insert_text("# mine\n")
    await one.feedback("Add support for floating point numbers")
    await one.sees("code-review", "Code 2")
    theirs = [event for event in await one.events() if event["type"] == "code.drafted"][-1]["code"]
    await two.sees("apply-mine", "Apply my edits to Code 2")
    await expect(two("edit-save")).to_be_disabled()
    await two.page.reload()  # the older version is known only to the edit now
    await two.press("apply-mine")
    await expect(two("code-text").locator(".cm-line").first).to_have_text("# mine")
    await two.press("edit-save")
    await two.sees("code-review", "Code 3")
    edited = [event for event in await one.events() if event["type"] == "code.edited"][-1]["code"]
    assert edited.strip() == f"# mine\n{theirs}".strip()
    await two.press("what-changed")
    await expect(two("diff").locator(".cm-changedLine")).to_have_text(["# mine"])


async def test_only_the_step_that_was_added_is_marked_as_changed(person: Person) -> None:
    tab = await person.tab()
    await tab.ask()
    await tab("step-text").nth(0).click()
    await tab.page.keyboard.press("Enter")
    await tab("step-text-input").fill("Write tests first")
    await tab.page.keyboard.press("Escape")
    await tab.press("edit-save")
    await tab.sees("plan-review", "Plan 2")
    await tab.press("what-changed")
    await expect(tab("diff").locator(".cm-changedLine")).to_have_text(["- Write tests first"])
    await expect(tab("diff").locator(".cm-deletedLine")).to_have_count(0)


async def test_the_keyboard_is_where_words_come_next(person: Person) -> None:
    tab = await person.tab()
    await expect(tab("composer")).to_be_focused()
    await tab.page.keyboard.type("Help me create a simple calculator")
    await tab.page.keyboard.press("Enter")
    await tab.state("text_plan_approval")
    await tab.sees("approve")
    await expect(tab("composer")).to_be_focused()  # as after every message
    there = f"/s/{tab.session_id}"
    waiting = await person.tab(there)
    await waiting.sees("approve")
    await expect(waiting("composer")).not_to_be_focused()  # the plan comes first
    await tab.press("approve")
    await tab.state("code_approval")
    await tab.press("approve")
    await tab.sees("next")
    resting = await person.tab(there)
    await expect(resting("composer")).to_be_focused()


async def test_a_key_goes_to_the_search(person: Person) -> None:
    tab = await person.tab()
    await expect(tab("composer")).to_be_focused()
    await tab.page.keyboard.press("Control+k")
    await expect(tab("session-search")).to_be_focused()
    await tab.page.get_by_role("button", name="Sessions", exact=True).click()
    await tab.gone("session-search")
    await tab.page.keyboard.press("Control+k")  # the list is folded: it unfolds
    await expect(tab("session-search")).to_be_focused()
    await tab.page.set_viewport_size({"width": 390, "height": 844})
    await tab.gone("session-search")
    await tab.page.keyboard.press("Control+k")
    await expect(tab("session-search")).to_be_focused()
    await tab.page.keyboard.press("Escape")
    await tab.gone("session-search")
    await tab.page.evaluate("document.activeElement.blur()")
    await tab.page.keyboard.press("?")
    await tab.sees("shortcuts", "Search sessions")


async def test_the_tab_counts_what_needs_the_person(person: Person) -> None:
    tab = await person.tab()
    await tab.ask()
    await expect(tab.page).to_have_title(re.compile(r"^\(\d+\) .*calculator.* · Parley$"))


async def edit_code(tab: Tab, code: str) -> None:
    """Write another program over the one in review, and save it."""
    await tab.press("code-edit")
    await tab("code-text").locator(".cm-content[contenteditable=true]").click()
    await tab.page.keyboard.press("Control+a")
    await tab.page.keyboard.insert_text(code)
    await tab.press("edit-save")
    await tab.sees("code-review", "Edited by you")
    await tab.state("code_approval")
    await tab.sees("approve")


async def test_stop_while_a_run_is_judged(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await tab.to_code()
    await tab.press("approve")
    await running.fault(task="verdict", latency=20, times=1)
    await tab.press("run")
    await tab.sees("run-output")
    await tab.state("verifying")
    assert await stopped(tab) < STOP_SHOWN
    await running.healthy()  # the stop may have come before the verifier asked its model
    await tab.press("retry")
    await tab.sees("verdict")


async def test_another_plan_and_other_code(person: Person) -> None:
    tab = await person.tab()
    await tab.ask("Write a program for prime numbers")
    before = await tab.steps()
    await tab.press("replan")
    await tab.sees("plan-review", "Plan 2")
    assert await tab.steps() != before
    await tab.press("approve")
    await tab.state("code_approval")
    await tab.press("replan")
    await tab.sees("code-review", "Code 2")
    await tab.sees("approve")
    await tab.page.locator("label", has_text="Plan 2").click()  # back to planning, with code already there
    await tab.press("replan")
    await tab.sees("plan-review", "Plan 3")
    await tab.state("text_plan_approval")


async def test_a_question_is_answered(person: Person) -> None:
    tab = await person.tab()
    await tab.say("make a program")
    await tab.sees("question", "I’m the demo model")
    await tab.state("question")
    await tab.reloaded_the_same()
    await expect(tab("composer")).to_be_focused()
    await tab.say("One that plays tic-tac-toe")
    await tab.state("text_plan_approval")
    await tab.sees("question-card", "One that plays tic-tac-toe")


async def test_a_question_is_answered_by_one_of_its_options(person: Person) -> None:
    tab = await person.tab()
    await tab.say("Write a snake game in pygame")
    await tab.sees("question", "I’m the demo model")
    await expect(tab("question-option")).to_have_count(3)
    await tab("question-option").nth(2).click()
    await tab.sees("plan-review", "Write FizzBuzz in Python.")


async def test_a_budget_that_is_used_up_asks_with_options(person: Person, running: Parley) -> None:
    async with Client(running.socket_url) as client:
        request = "Write a program for fibonacci numbers"
        await client.send(type="user_message", content=request, settings={"token_budget": 100})
        plan = await client.event("plan.drafted")
        await client.send(type="approval", approved=True, version=plan["version"])
        await client.event("question.asked")
        tab = await person.tab(f"/s/{client.session_id}")
        await expect(tab("question-option")).to_have_count(2)
        await tab.press("question-option")
        await client.event("budget.raised")
        await tab.sees("note", "raised the limit")


async def test_a_word_during_the_work_and_context(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await tab.press("add-context")
    await tab("context-name").fill("house-rules.md")
    await tab("context-text").fill("We like short programs.")
    await tab.press("context-add")
    await running.fault(task="text_plan", token_delay=0.12, times=1)
    await tab.say("Help me create a simple calculator")
    await tab.sees("said", "house-rules.md")
    await tab.sees("draft", "calculator")
    await tab.say("Add a step to write a short help text")
    await tab.sees("said", "while it worked")
    await tab.press("pause")
    await tab.sees("state", "paused")
    await tab.press("unpause")
    await tab.state("text_plan_approval")
    assert "Write a short help text" in await tab.steps()
    assert [one["name"] for one in (await tab.events())[0]["knowledge"]] == ["house-rules.md"]


async def test_rename_search_and_take_up_again(person: Person) -> None:
    tab = await person.tab()
    await tab.ask("Write a program for password strength")
    there = tab.session_id
    await tab.press("session-menu")
    await tab.page.get_by_role("menuitem", name="Rename").click()
    await tab("title-input").fill("A quite special title")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("heading", level=1)).to_contain_text("A quite special title")
    await expect(tab.page).to_have_title(re.compile(r"^(\(\d+\) )?A quite special title · Parley$"))
    await tab.press("new-session")
    await tab.sees("example")
    await tab("session-search").fill("nothing has these words")
    await expect(tab("session-list")).to_contain_text("No matches.")
    await tab("session-search").fill("quite special")
    await expect(tab("session-item")).to_have_count(1)
    await tab.press("session-item")
    await tab.sees("approve")
    assert tab.session_id == there
    await tab.page.go_back()
    await tab.sees("example")


async def test_what_can_be_taken_home(person: Person, tmp_path: Path) -> None:
    tab = await person.tab()
    await tab.to_code()
    await tab.press("approve")
    await tab.sees("download")
    code = [event for event in await tab.events() if event["type"] == "code.drafted"][-1]["code"]

    async def menu(name: str) -> str:
        await tab.press("session-menu")
        async with tab.page.expect_download() as started:
            await tab.page.get_by_role("menuitem", name=name).click()
        return await saved(await started.value, tmp_path)

    markdown = await menu("Markdown")
    assert markdown.startswith("# Help me create a simple calculator\n")
    assert code.rstrip() in markdown
    assert "## Plan 1 (" in markdown
    journal = json.loads(await menu("JSON"))["journal"]
    assert [event["version"] for event in journal] == list(range(1, len(journal) + 1))
    assert await menu("Python file") == code.rstrip("\n") + "\n"
    async with tab.page.expect_download() as started:
        await tab.press("download")
    compile(await saved(await started.value, tmp_path), "calculator.py", "exec")


async def saved(download: Download, folder: Path) -> str:
    path = folder / download.suggested_filename
    await download.save_as(path)
    return path.read_text()


async def test_a_fork_goes_its_own_way(person: Person) -> None:
    tab = await person.tab()
    await tab.ask()
    parent = tab.session_id
    await tab.press("session-menu")
    await tab.page.get_by_role("menuitem", name="Fork").click()
    await tab.page.wait_for_url(lambda url: "/s/" in url and parent not in url)
    await tab.feedback("Add a step to write a short help text")
    await tab.sees("plan-review", "Plan 2")
    original = await person.tab(f"/s/{parent}")
    await original.sees("plan-review", "Plan 1")


async def test_a_chip_says_that_no_model_is_at_work(person: Person) -> None:
    tab = await person.tab()
    chip = await tab.sees("demo", "Demo")
    await expect(chip).to_have_accessible_name("Demo mode: scripted answers, no AI model.")
    await chip.focus()
    await tab.page.keyboard.press("Enter")
    await tab.sees("demo-more", "make up")
    await tab.page.keyboard.press("Escape")
    await tab.gone("demo-more")
