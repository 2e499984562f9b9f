"""Failures on the page: killed services, a failing or malicious model, and users without login."""

from pathlib import Path

from playwright.async_api import Browser, expect

from tests.e2e.browser import Person, Tab
from tests.e2e.parley_process import Client, RunningParley
from tests.support.gateway import SECRET, TOKEN
from tests.support.parley import in_process

HOSTILE = (
    '# Which one?\n\n<img src=x onerror="window.harmed = 1"><script>window.harmed = 2</script>\n\n'
    "[a link](javascript:window.harmed=3) ![a picture](http://127.0.0.1:9/leak.png) [a good one](https://example.org/)"
)
OFFLINE = ("WebSocket connection to", "ERR_CONNECTION_REFUSED", "Failed to load resource")


async def test_a_message_sent_while_the_gateway_is_down_arrives_once(person: Person, running: RunningParley) -> None:
    person.expected_errors = OFFLINE
    tab = await person.tab()
    await tab.to_plan()
    running.kill9("gateway")
    await tab.wait_for("status", "Offline")
    await tab.send("Add a step to write a short help text")
    await expect(tab("journal")).to_contain_text("Add a step to write a short help text")
    await tab.wait_for("plan-review", "Plan 2")
    await expect(tab("said")).to_have_count(2)
    await expect(tab("journal")).not_to_contain_text("sending")
    assert [event["type"] for event in await tab.events()].count("message.received") == 2
    await running.wait_until_ready()


async def test_a_draft_is_completed_after_the_bus_is_killed(person: Person, running: RunningParley) -> None:
    person.expected_errors = OFFLINE
    tab = await person.tab()
    await running.add_fault(task="text_plan", token_delay=0.2, times=1)
    await tab.send("Help me create a simple calculator")
    await tab.wait_for("draft", "calculator")
    running.kill9("nats")
    await tab.wait_for_state("text_plan_approval")
    await tab.wait_for("approve")
    await tab.wait_until_gone("draft")
    await expect(tab("plan-card")).to_have_count(1)
    await running.wait_until_ready()
    await tab.check_reload()


async def test_a_model_failure_shows_its_reason_and_can_be_retried(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    await running.add_fault(fault="500", times=9)
    await tab.send("Help me create a simple calculator")
    await expect(await tab.wait_for("failure")).to_contain_text("500")
    await tab.wait_for_state("failed")
    await tab.click("retry")
    await tab.wait_for("note", "retried")
    await tab.wait_until_gone("failure")  # so the next failure is the retry's
    await expect(tab("failure")).to_contain_text("500")
    await running.clear_faults()
    await tab.click("retry")
    await tab.wait_for_state("text_plan_approval")
    await tab.wait_for("approve")
    await tab.wait_until_gone("failure")


async def test_a_wait_that_the_model_s_server_asks_for_is_shown_and_can_be_stopped(
    person: Person, running: RunningParley
) -> None:
    tab = await person.tab()
    await running.add_fault(fault="429", retry_after=100, times=2)
    await tab.send("Help me create a simple calculator")
    await tab.wait_for("status", "The model server asks us to wait")
    await expect(tab("draft")).to_have_count(0)  # nothing is written yet
    await tab.page.reload()
    await tab.wait_for("status", "The model server asks us to wait")
    await tab.click("stop")
    await tab.wait_for("status", "Stopped")
    await expect(tab("status")).not_to_contain_text("wait")
    await running.clear_faults()
    await tab.click("retry")
    await tab.wait_for_state("text_plan_approval")


async def test_an_unknown_session_is_reported_as_not_found(person: Person) -> None:
    tab = await person.tab("/s/nobody-ever-had-this")
    await tab.wait_for("missing", "Not found")
    await tab.wait_until_gone("composer")
    await tab("missing").get_by_role("button", name="New conversation").click()
    await tab.wait_for("example")


async def test_markup_in_plans_and_code_is_inert(person: Person, running: RunningParley) -> None:
    tab = await person.tab()
    await tab.to_plan()
    async with Client(running.socket_url) as client:
        await client.send(type="resume", session_id=tab.session_id, after=0)
        await client.wait_for("snapshot")
        version = next(event["version"] for event in await tab.events() if event["type"] == "plan.drafted")
        await client.send(
            type="edit",
            session_id=tab.session_id,
            version=version,
            goal=HOSTILE[:400],
            steps=[HOSTILE[:400]],
            notes=HOSTILE,
        )
        await tab.wait_for("plan-review", "Plan 2")
        await expect(tab("plan-goal")).to_contain_text("<img src=x")
        await check_inert(tab)


async def check_inert(tab: Tab) -> None:
    """Checks that no script ran, nothing was loaded, and links are safe."""
    assert await tab.page.evaluate("window.harmed") is None
    assert await tab.page.locator("main :is(img, script, iframe)").count() == 0
    links = await tab.page.locator("main a").evaluate_all("all => all.map((link) => link.href)")
    assert [link for link in links if link and not link.startswith("https:")] == []


async def test_login_is_required_and_a_malicious_model_is_harmless(browser: Browser, tmp_path: Path) -> None:
    async with in_process(
        tmp_path, parley_auth="token", parley_token=TOKEN, parley_secret=SECRET, openai_model="hostile"
    ) as parley:
        parley.model.replies["text_plan"] = {"kind": "question", "text": HOSTILE}
        async with Person(browser, parley.url) as stranger:
            stranger.expected_errors = (*OFFLINE, "401")
            tab = await stranger.tab()
            await expect(tab.page.get_by_role("heading", name="You are not logged in")).to_be_visible()
            await tab.page.goto(f"{parley.url}/?token=wrong")
            await expect(tab.page.locator("body")).to_contain_text("This key is not valid, or this login has expired.")
        async with Person(browser, parley.url) as person:
            tab = await person.tab(f"/?token={TOKEN}")
            await tab.wait_for("example")
            assert "token" not in tab.page.url
            await tab.wait_until_gone("demo")  # a real model is configured
            await tab.send("Help me")
            question = await tab.wait_for("question", "Which one?")
            await expect(question.get_by_text("a good one")).to_have_attribute("href", "https://example.org/")
            await check_inert(tab)
