"""What a user can do on the page besides approving: stop, replan, search, rename, download."""

import json
import re
import time
from pathlib import Path

from playwright.async_api import Download, expect

from tests.e2e.browser import Person, Tab
from tests.e2e.parley_process import RunningParley

SLOW = {"token_delay": 0.4, "times": 1}
LONG = "import time\n\ntime.sleep(20)\n"
STOP_SHOWN = 3.0  # seconds; usually the page shows a stop in a tenth of that


async def stop_and_measure(tab: Tab) -> float:
    """Clicks Stop and returns the seconds until the page shows that the session is stopped."""
    await tab.wait_for("stop")
    began = time.monotonic()
    await tab.click("stop")
    await tab.page.wait_for_selector('[data-testid="state"][data-state="stopped"]')
    seconds_to_stop = time.monotonic() - began
    await tab.wait_until_gone("draft")
    return seconds_to_stop


async def test_stop_and_resume_in_every_phase(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    seconds_to_stop: dict[str, float] = {}
    await running.add_fault(task="text_plan", **SLOW)
    await tab.send("Help me create a simple calculator")
    await tab.wait_for("draft", "calculator")
    seconds_to_stop["planning"] = await stop_and_measure(tab)
    await tab.click("retry")
    await tab.wait_for("approve")
    await tab.wait_until_gone("stop")  # nothing is running
    await running.add_fault(task="code", **SLOW)
    await tab.click("approve")
    await tab.wait_for("draft", "def")
    seconds_to_stop["coding"] = await stop_and_measure(tab)
    await running.add_fault(task="tests", **SLOW)
    await tab.click("retry")
    await expect(tab("draft")).to_have_attribute("aria-label", "Writing tests")
    seconds_to_stop["checking the code"] = await stop_and_measure(tab)
    await tab.click("retry")
    await tab.wait_for("checks")
    await tab.wait_until_gone("stop")
    await tab.wait_for("code-edit")
    await edit_code(tab, LONG)
    await tab.click("approve")
    await tab.click("run")
    await expect(tab("action")).to_have_attribute("data-state", "started")
    seconds_to_stop["running"] = await stop_and_measure(tab)
    slowest = max(seconds_to_stop, key=lambda phase: seconds_to_stop[phase])
    print({phase: round(seconds, 3) for phase, seconds in seconds_to_stop.items()})
    assert seconds_to_stop[slowest] < STOP_SHOWN, f"slowest while {slowest}: {seconds_to_stop}"


async def test_unsaved_input_survives_a_reload(person: Person) -> None:
    tab = await person.tab()
    await tab.to_plan()
    await tab("step-text").nth(1).click()
    await tab("step-text-input").fill("Ask three numbers")
    await tab.page.keyboard.press("Escape")
    await tab.wait_for("edit-save")
    await tab.page.reload()
    await expect(tab("step-text").nth(1)).to_have_text("Ask three numbers")
    await tab.click("edit-save")
    await tab.wait_for("plan-review", "Plan 2")
    await tab.page.reload()
    await tab.wait_for("approve")
    await tab.wait_until_gone("edit-save")  # saved edits are no longer stored
    await tab("plan-goal").hover()
    await tab.page.keyboard.press("Control+Enter")
    await tab.wait_for_state("code_approval")
    await tab.click("code-edit")
    await tab("code-text").first.click()
    await tab.page.keyboard.press("Control+Home")
    await tab.page.keyboard.type("# mine")
    await tab.page.reload()
    await expect(tab("code-text").first).to_contain_text("# mine")
    await tab.click("edit-discard")
    await expect(tab("code-text").first).not_to_contain_text("# mine")


async def test_edits_of_old_code_are_applied_to_the_newer_version(person: Person) -> None:
    first = await person.tab()
    await first.to_code()
    second = await person.tab(f"/s/{first.session_id}")
    await second.click("code-edit")
    await second("code-text").locator(".cm-content[contenteditable=true]").click()
    await second.page.keyboard.press("Control+Home")
    await second.page.keyboard.insert_text("# mine\n")
    await first.send_feedback("Add support for floating point numbers")
    await first.wait_for("code-review", "Code 2")
    generated = [event for event in await first.events() if event["type"] == "code.drafted"][-1]["code"]
    await second.wait_for("apply-mine", "Apply my edits to Code 2")
    await expect(second("edit-save")).to_be_disabled()
    await second.page.reload()  # after that, only the stored edit refers to the older version
    await second.click("apply-mine")
    await expect(second("code-text").locator(".cm-line").first).to_have_text("# mine")
    await second.click("edit-save")
    await second.wait_for("code-review", "Code 3")
    edited = [event for event in await first.events() if event["type"] == "code.edited"][-1]["code"]
    assert edited.strip() == f"# mine\n{generated}".strip()
    await second.click("what-changed")
    await expect(second("diff").locator(".cm-changedLine")).to_have_text(["# mine"])


async def test_a_shortcut_focuses_the_search(person: Person) -> None:
    tab = await person.tab()
    await expect(tab("composer")).to_be_focused()
    await tab.page.keyboard.press("Control+k")
    await expect(tab("session-search")).to_be_focused()
    await tab.page.get_by_role("button", name="Sessions", exact=True).click()
    await tab.wait_until_gone("session-search")
    await tab.page.keyboard.press("Control+k")  # a collapsed list expands
    await expect(tab("session-search")).to_be_focused()
    await tab.page.set_viewport_size({"width": 390, "height": 844})
    await tab.wait_until_gone("session-search")
    await tab.page.keyboard.press("Control+k")
    await expect(tab("session-search")).to_be_focused()
    await tab.page.keyboard.press("Escape")
    await tab.wait_until_gone("session-search")
    await tab.page.evaluate("document.activeElement.blur()")
    await tab.page.keyboard.press("?")
    await tab.wait_for("shortcuts", "Search sessions")


async def edit_code(tab: Tab, code: str) -> None:
    """Replaces the program in review and saves it."""
    await tab.click("code-edit")
    await tab("code-text").locator(".cm-content[contenteditable=true]").click()
    await tab.page.keyboard.press("Control+a")
    await tab.page.keyboard.insert_text(code)
    await tab.click("edit-save")
    await tab.wait_for("code-review", "Edited by you")
    await tab.wait_for_state("code_approval")
    await tab.wait_for("approve")


async def test_replanning_and_regenerating_code(person: Person) -> None:
    tab = await person.tab()
    await tab.to_plan("Write a program for prime numbers")
    before = await tab.steps()
    await tab.click("replan")
    await tab.wait_for("plan-review", "Plan 2")
    assert await tab.steps() != before
    await tab.click("approve")
    await tab.wait_for_state("code_approval")
    await tab.click("replan")
    await tab.wait_for("code-review", "Code 2")
    await tab.wait_for("approve")
    await tab.page.locator("label", has_text="Plan 2").click()  # back to planning although there is code
    await tab.click("replan")
    await tab.wait_for("plan-review", "Plan 3")
    await tab.wait_for_state("text_plan_approval")


async def test_guidance_during_work_and_attached_context(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    await tab.click("add-context")
    await tab("context-name").fill("house-rules.md")
    await tab("context-text").fill("We like short programs.")
    await tab.click("context-add")
    await running.add_fault(task="text_plan", token_delay=0.12, times=1)
    await tab.send("Help me create a simple calculator")
    await tab.wait_for("said", "house-rules.md")
    await tab.wait_for("draft", "calculator")
    await tab.send("Add a step to write a short help text")
    await tab.wait_for("said", "while it worked")
    await tab.click("pause")
    await tab.wait_for("state", "paused")
    await tab.click("unpause")
    await tab.wait_for_state("text_plan_approval")
    assert "Write a short help text" in await tab.steps()
    assert [item["name"] for item in (await tab.events())[0]["knowledge"]] == ["house-rules.md"]


async def test_rename_search_and_reopen_a_session(person: Person) -> None:
    tab = await person.tab()
    await tab.to_plan("Write a program for palindromes")
    session_id = tab.session_id
    await tab.click("session-menu")
    await tab.page.get_by_role("menuitem", name="Rename").click()
    await tab("title-input").fill("A quite special title")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_role("heading", level=1)).to_contain_text("A quite special title")
    await expect(tab.page).to_have_title(re.compile(r"^(\(\d+\) )?A quite special title · Parley$"))
    await tab.click("new-session")
    await tab.wait_for("example")
    await tab("session-search").fill("zzz qqq")
    await expect(tab("session-list")).to_contain_text("No matches.")
    await tab("session-search").fill("quite special")
    await expect(tab("session-item")).to_have_count(1)
    await tab.click("session-item")
    await tab.wait_for("approve")
    assert tab.session_id == session_id
    await tab.page.go_back()
    await tab.wait_for("example")


async def test_exports_and_downloads(person: Person, tmp_path: Path) -> None:
    tab = await person.tab()
    await tab.to_code()
    await tab.click("approve")
    await tab.wait_for("download")
    code = [event for event in await tab.events() if event["type"] == "code.drafted"][-1]["code"]

    async def export(name: str) -> str:
        await tab.click("session-menu")
        async with tab.page.expect_download() as started:
            await tab.page.get_by_role("menuitem", name=name).click()
        return await saved(await started.value, tmp_path)

    markdown = await export("Markdown")
    assert markdown.startswith("# Help me create a simple calculator\n")
    assert code.rstrip() in markdown
    assert "## Plan 1 (" in markdown
    journal = json.loads(await export("JSON"))["journal"]
    assert [event["version"] for event in journal] == list(range(1, len(journal) + 1))
    assert await export("Python file") == code.rstrip("\n") + "\n"
    async with tab.page.expect_download() as started:
        await tab.click("download")
    compile(await saved(await started.value, tmp_path), "calculator.py", "exec")


async def saved(download: Download, folder: Path) -> str:
    path = folder / download.suggested_filename
    await download.save_as(path)
    return path.read_text()


async def test_a_fork_is_independent(person: Person) -> None:
    tab = await person.tab()
    await tab.to_plan()
    parent = tab.session_id
    await tab.click("session-menu")
    await tab.page.get_by_role("menuitem", name="Fork").click()
    await tab.page.wait_for_url(lambda url: "/s/" in url and parent not in url)
    await tab.send_feedback("Add a step to write a short help text")
    await tab.wait_for("plan-review", "Plan 2")
    original = await person.tab(f"/s/{parent}")
    await original.wait_for("plan-review", "Plan 1")
