"""A polling plan on the page: its progress in words, a raised budget, and skipping."""

from playwright.async_api import expect

from tests.e2e.browser import Person
from tests.e2e.parley_process import RunningParley
from tests.support.http_client import http_client

LOOKS = {"tool": "list_files", "arguments": {}, "condition": "files", "every": 600, "at_most": 3_600}
STEPS = [
    {"id": "s1", "text": "Wait for a file", "tool": "poll_until", "arguments": LOOKS},
    {"id": "s2", "text": "List the files", "tool": "list_files", "arguments": {}},
    {"id": "s3", "text": "List them again", "tool": "list_files", "arguments": {}, "after": ["s2"]},
]


async def test_a_user_raises_the_budget_of_a_polling_plan_and_skips_its_step(
    person: Person, running: RunningParley
) -> None:
    plan = {"description": "Wait for a file", "steps": STEPS, "settings": {"call_budget": 1}}
    async with http_client(base_url=f"{running.url.rstrip('/')}/api/execution-plans") as http:
        stored = (await http.post("/store", json=plan)).json()
    assert stored.get("status") == "pending_approval", stored
    tab = await person.tab(f"/s/{stored['session_id']}")
    await tab.click("approve")
    await expect(tab("raise-amount")).to_be_visible()
    await expect(tab.page.get_by_label("Or by this many calls of tools")).to_be_visible()
    await tab.page.get_by_label("Or by this many calls of tools").fill("20")
    await tab.click("raise")
    polls = tab("action").filter(has_text="poll_until")
    await expect(polls).to_contain_text("checked once: bytes: 0")
    await expect(polls).to_contain_text("scheduled")
    await expect(tab("status")).to_contain_text("Waiting for a step")
    await expect(tab("usage")).to_have_count(0)  # no model call
    await tab("skip").first.click()
    await tab.click("skip-send")
    await tab.wait_for("answer")
    await expect(polls).to_contain_text("skipped")
    await tab.check_reload()
