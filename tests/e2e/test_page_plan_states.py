"""An execution plan on the page while it waits, asks, fails and completes, and a question with a form."""

import json
from typing import Any
from urllib.parse import urljoin

from playwright.async_api import expect

from tests.e2e.browser import NARROW, Person, Tab
from tests.e2e.store_user import USER
from tests.support.timeouts import WAIT_TIMEOUT

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
STORE_PLAN = """async (body) => {
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch('/api/execution-plans/store', { method: 'POST', headers, body: JSON.stringify(body) });
  return [answer.status, await answer.json()];
}"""


def step(id_: str, tool: str, text: str, after: tuple[str, ...] = (), /, **arguments: Any) -> dict[str, Any]:
    return {"id": id_, "tool": tool, "text": text, "after": list(after), "arguments": arguments}


async def open_stored_plan(tab: Tab, goal: str, *steps: dict[str, Any]) -> None:
    """Opens a session with this plan in review and its own copy of the store."""
    body = {"description": goal, "steps": [FIND, *steps], "settings": {"world": "own"}, "timeout": WAIT_TIMEOUT}
    status, plan = await tab.page.evaluate(STORE_PLAN, body)
    assert status == 201, plan
    await tab.page.goto(urljoin(tab.page.url, f"/s/{plan['session_id']}"))
    await tab.wait_for("approve")


async def test_a_form_question_is_answered(person: Person) -> None:
    tab = await person.tab()
    await tab.page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    question = step(
        "s2", "ask_person", "Ask for the address", ("s1",), question="Where should it be sent?", form=ADDRESS
    )
    write = step("s3", "write_file", "Write it down", name="address.json", text="{{steps.s2.output}}")
    await open_stored_plan(tab, "Ask for an address", question, write)
    await tab.click("approve")
    await tab.wait_for("question-form")
    await tab.click("question-send")
    await expect(tab("question-form").get_by_text("This is needed.")).to_have_count(2)
    problems = await tab.visual_problems("a form is asked")
    await tab("argument-street").fill("1 Main St")
    await tab("argument-boxes").fill("2")
    await tab("argument-carrier").select_option("DHL")
    await tab.send("Why do you ask for boxes?")  # a message beside the question
    await tab.wait_for("reply")
    await expect(tab("argument-street")).to_have_value("1 Main St")
    await tab("argument-city").fill("Oslo")
    await tab.click("question-send")
    await tab.wait_for("question-card", "street: 1 Main St · city: Oslo · boxes: 2 · gift: false · carrier: DHL")
    await tab.wait_for("action-request", "address.json")
    assert problems + await tab.visual_problems("a change to approve") == []
    await tab.click("action-approve")
    await tab.wait_for("answer", "All 3 steps were carried out.")


async def test_for_each_steps_and_programs_have_no_visual_problems(person: Person) -> None:
    tab = await person.tab()
    code = "import json\nprint(json.dumps({'notes': [{'name': f'{n}.md'} for n in (1, 2)]}))"
    list_notes = step("s2", "run_program", "List the notes", code=code)
    write = step("s3", "write_file", "Write each note", name="{{item.name}}", text="x")
    write["for_each"] = "{{steps.s2.output.notes}}"
    await open_stored_plan(tab, "Write two notes", list_notes, write)
    await expect(tab("step-call").nth(1).get_by_test_id("step-block")).to_have_text(code)
    await expect(tab("step-for-each")).to_have_text("for each of notes of step 2")
    await expect(tab("step-call").last).to_contain_text("name of each item")
    problems = await tab.visual_problems("review")
    await tab.click("approve")
    await expect(tab("action-request")).to_have_count(2)
    await expect(tab("action").filter(has_text="Write each note").filter(has_text="1.md")).to_have_count(1)
    problems += await tab.visual_problems("items")
    await tab.click("approve-all")
    await tab.wait_for("answer", "carried out")
    assert problems + await tab.visual_problems("report") == []


async def test_failures_and_templates_have_no_visual_problems(person: Person) -> None:
    choice = json.dumps(json.dumps({"workflow": "execution_plan", "world": "own"}))
    await person.context.add_init_script(f"localStorage.setItem('parley.choice', {choice})")
    tab = await person.tab()
    look = step("s2", "get_order_details", "Look it up", ("s1",), order_id="#W0000000")
    await open_stored_plan(tab, "Look at nothing", look)
    await tab.click("approve")
    await tab.wait_for("failed-step", "Step 2, Look it up: Error: order not found")
    assert (await tab("state").inner_text()) in ("not finished", "")
    problems = await tab.visual_problems("failed")
    await tab.click("session-menu")
    await tab.click("menu-template")
    await tab("template-value").first.get_by_role("checkbox").check()
    problems += await tab.visual_problems("saving a template")
    await tab.click("template-save")
    await tab.wait_for("template-saved")
    problems += await tab.visual_problems("saved")
    await tab.click("template-close")
    await tab.page.goto(urljoin(tab.page.url, "/"))
    await tab.click("templates-open")
    await tab.wait_for("template", "Look at nothing")
    problems += await tab.visual_problems("templates")
    template = tab("template").filter(has_text="Look at nothing")
    await template.get_by_test_id("template-delete").click()
    await expect(template.get_by_role("button", name="Keep")).to_be_focused()
    await template.get_by_test_id("template-delete-sure").click()
    await expect(template).to_have_count(0)
    await tab("template").filter(has_text="Cancel an order").get_by_test_id("template-use").first.click()
    await tab.click("template-begin")
    await expect(tab("template-form").get_by_text("This is needed.")).to_have_count(2)
    assert problems + await tab.visual_problems("a template's form") == []
