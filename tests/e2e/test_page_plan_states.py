"""What a plan that acts looks like where it waits, asks, fails and comes to its end; and a form that it asks with."""

import json
from typing import Any
from urllib.parse import urljoin

import pytest
from playwright.async_api import expect

from tests.e2e.browser import NARROW, Person, Tab
from tests.e2e.store_requests import PENDING, USER

pytestmark = pytest.mark.timeout(150)
FIND = {
    "id": "s1",
    "text": "Find the customer",
    "tool": "find_user_id_by_email",
    "arguments": {"email": USER["email"]},
}
ADDRESS = {
    "type": "object",
    "required": ["street", "city", "gift"],
    "properties": {
        "street": {"type": "string", "description": "Street and number"},
        "city": {"type": "string"},
        "boxes": {"type": "integer"},
        "gift": {"type": "boolean"},
        "carrier": {"type": "string", "enum": ["UPS", "DHL"]},
    },
}
STORE = """async (body) => {
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch('/api/execution-plans/store', { method: 'POST', headers, body: JSON.stringify(body) });
  return [answer.status, await answer.json()];
}"""


def step(id_: str, tool: str, what: str, after: tuple[str, ...] = (), /, **arguments: Any) -> dict[str, Any]:
    return {"id": id_, "tool": tool, "text": what, "after": list(after), "arguments": arguments}


async def stored(tab: Tab, goal: str, *steps: dict[str, Any]) -> None:
    """A session whose plan this is, in review on the tab; it acts in a store of its own."""
    body = {"description": goal, "steps": [FIND, *steps], "settings": {"world": "own"}, "timeout": 20}
    status, plan = await tab.page.evaluate(STORE, body)
    assert status == 201, plan
    await tab.page.goto(urljoin(tab.page.url, f"/s/{plan['session_id']}"))
    await tab.sees("approve")


async def test_a_plan_that_waits_says_until_when(person: Person) -> None:
    tab = await person.tab()
    wait = step("s2", "wait_until", "Wait for the morning", ("s1",), seconds=80_000)
    look = step("s3", "get_order_details", "Look it up", ("s2",), order_id=PENDING[0])
    await stored(tab, "Look tomorrow", wait, look)
    await tab.press("approve")
    await tab.state("waiting")
    await expect(tab("status")).to_contain_text("Waiting until")
    await expect(tab("action").nth(1)).to_contain_text("scheduled")
    assert await tab.wrong_looks("waiting") == []


async def test_a_form_of_several_fields_is_asked_and_its_answer_goes_on(person: Person) -> None:
    tab = await person.tab()
    await tab.page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    ask = step("s2", "ask_person", "Ask for the address", ("s1",), question="Where should it be sent?", form=ADDRESS)
    write = step("s3", "write_file", "Write it down", name="address.json", text="{{steps.s2.output}}")
    await stored(tab, "Ask for an address", ask, write)
    await tab.press("approve")
    await tab.sees("question-form")
    await tab.press("question-send")
    await expect(tab("question-form").get_by_text("This is needed.")).to_have_count(2)
    wrong = await tab.wrong_looks("a form is asked")
    await tab("argument-street").fill("1 Main St")
    await tab("argument-boxes").fill("2")
    await tab("argument-carrier").select_option("DHL")
    await tab.say("Oslo")  # words instead of the fields
    await tab.sees("error", "answer with a JSON object of its fields (street, city, boxes, gift, carrier)")
    await expect(tab("argument-street")).to_have_value("1 Main St")
    await tab("argument-city").fill("Oslo")
    await tab.press("question-send")
    await tab.sees("question-card", "street: 1 Main St · city: Oslo · boxes: 2 · gift: false · carrier: DHL")
    await tab.sees("action-request", "address.json")
    assert wrong + await tab.wrong_looks("a change to approve") == []
    await tab.press("action-approve")
    await tab.sees("answer", "All 3 steps were carried out.")


async def test_a_step_for_each_item_and_a_program_look_right_from_review_to_report(person: Person) -> None:
    tab = await person.tab()
    code = "import json\nprint(json.dumps({'notes': [{'name': f'{n}.md'} for n in (1, 2)]}))"
    listed = step("s2", "run_program", "List the notes", code=code)
    write = step("s3", "write_file", "Write each note", name="{{item.name}}", text="x")
    write["for_each"] = "{{steps.s2.output.notes}}"
    await stored(tab, "Write two notes", listed, write)
    await expect(tab("step-call").nth(1).locator(".step-block")).to_have_text(code)
    await expect(tab("step-for-each")).to_have_text("for each of notes of step 2")
    await expect(tab("step-call").last).to_contain_text("name of each item")
    wrong = await tab.wrong_looks("review")
    await tab.press("approve")
    await expect(tab("action-request")).to_have_count(2)
    await expect(tab("action").filter(has_text="Write each note").filter(has_text="1.md")).to_have_count(1)
    wrong += await tab.wrong_looks("items")
    await tab.press("approve-all")
    await tab.sees("answer", "carried out")
    assert wrong + await tab.wrong_looks("report") == []


async def test_what_failed_and_the_templates_look_right(person: Person) -> None:
    chosen = json.dumps(json.dumps({"workflow": "execution_plan", "world": "own"}))
    await person.context.add_init_script(f"localStorage.setItem('parley.choice', {chosen})")
    tab = await person.tab()
    await stored(tab, "Look at nothing", step("s2", "get_order_details", "Look it up", ("s1",), order_id="#W0000000"))
    await tab.press("approve")
    await tab.sees("failed-step", "Step 2, Look it up: Error: order not found")
    assert (await tab("state").inner_text()) in ("not finished", "")
    wrong = await tab.wrong_looks("failed")
    await tab.press("session-menu")
    await tab.press("menu-template")
    await tab("template-value").first.get_by_role("checkbox").check()
    wrong += await tab.wrong_looks("saving a template")
    await tab.press("template-save")
    await tab.sees("template-saved")
    wrong += await tab.wrong_looks("saved")
    await tab.press("template-close")
    await tab.page.goto(urljoin(tab.page.url, "/"))
    await tab.press("templates-open")
    await tab.sees("template", "Look at nothing")
    wrong += await tab.wrong_looks("templates")
    mine = tab("template").filter(has_text="Look at nothing")
    await mine.get_by_test_id("template-delete").click()
    await expect(mine.get_by_role("button", name="Keep")).to_be_focused()
    await mine.get_by_test_id("template-delete-sure").click()
    await expect(mine).to_have_count(0)
    await tab("template").filter(has_text="Cancel an order").get_by_test_id("template-use").first.click()
    await tab.press("template-begin")
    await expect(tab("template-form").get_by_text("This is needed.")).to_have_count(2)
    assert wrong + await tab.wrong_looks("a template's form") == []
