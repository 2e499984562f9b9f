"""The page in trouble: services killed under it, a model that fails or means harm, people who may not come in."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.browser import Person, Tab
from tests.e2e.running import Client, Parley
from tests.support.gateway import SECRET, TOKEN
from tests.support.parley import in_process

pytestmark = pytest.mark.timeout(120)
HOSTILE = (
    '# Which one?\n\n<img src=x onerror="window.harmed = 1"><script>window.harmed = 2</script>\n\n'
    "[a link](javascript:window.harmed=3) ![a picture](http://127.0.0.1:9/leak.png) [a good one](https://example.org/)"
)
OFFLINE = ("WebSocket connection to", "ERR_CONNECTION_REFUSED", "Failed to load resource")


async def test_what_is_said_while_the_gateway_is_away_arrives_once(person: Person, running: Parley) -> None:
    person.forgiven = OFFLINE
    tab = await person.tab()
    await tab.ask()
    running.kill9("gateway")
    await tab.sees("status", "Offline")
    await tab.say("Add a step to write a short help text")
    await expect(tab("journal")).to_contain_text("Add a step to write a short help text")
    await tab.sees("plan-review", "Plan 2")
    await expect(tab("said")).to_have_count(2)
    await expect(tab("journal")).not_to_contain_text("sending")
    assert [event["type"] for event in await tab.events()].count("message.received") == 2
    await running.restarted()


async def test_the_bus_is_killed_in_mid_draft(person: Person, running: Parley) -> None:
    person.forgiven = OFFLINE
    tab = await person.tab()
    await running.fault(task="text_plan", token_delay=0.2, times=1)
    await tab.say("Help me create a simple calculator")
    await tab.sees("draft", "calculator")
    running.kill9("nats")
    await tab.state("text_plan_approval")
    await tab.sees("approve")
    await tab.gone("draft")
    await expect(tab("plan-card")).to_have_count(1)
    await running.restarted()
    await tab.reloaded_the_same()


async def test_a_service_is_killed_in_mid_draft(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await running.fault(task="text_plan", token_delay=0.2, times=1)
    await tab.say("Help me create a simple calculator")
    await tab.sees("draft", "calculator")
    running.kill9("planner")
    await tab.state("text_plan_approval")
    await expect(tab("plan-card")).to_have_count(1)
    await running.restarted()


async def test_a_broken_model_fails_with_its_reason_and_can_be_tried_again(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await running.fault(fault="500", times=9)
    await tab.say("Help me create a simple calculator")
    await expect(await tab.sees("failure")).to_contain_text("500")
    await tab.state("failed")
    await tab.press("retry")
    await tab.sees("note", "retried")
    await tab.gone("failure")  # the first one: only then is the next one that of the second try
    await expect(tab("failure")).to_contain_text("500")
    await running.healthy()
    await tab.press("retry")
    await tab.state("text_plan_approval")
    await tab.sees("approve")
    await tab.gone("failure")


async def test_what_a_confused_model_said_is_kept(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await running.fault(fault="garbled", times=9)
    await tab.say("Help me create a simple calculator")
    failure = await tab.sees("failure")
    await failure.get_by_text("What the model said").click()
    await expect(failure.locator("pre")).to_contain_text("~~")
    await running.healthy()


async def test_an_unknown_session(person: Person) -> None:
    tab = await person.tab("/s/nobody-ever-had-this")
    await tab.sees("missing", "Not found")
    await tab.gone("composer")
    await tab("missing").get_by_role("button", name="New conversation").click()
    await tab.sees("example")


async def test_markup_in_a_plan_and_in_code_is_only_text(person: Person, running: Parley) -> None:
    tab = await person.tab()
    await tab.ask()
    async with Client(running.socket_url) as client:
        await client.send(type="resume", session_id=tab.session_id, after=0)
        await client.until("snapshot")
        version = next(event["version"] for event in await tab.events() if event["type"] == "plan.drafted")
        await client.send(
            type="edit",
            session_id=tab.session_id,
            version=version,
            goal=HOSTILE[:400],
            steps=[HOSTILE[:400]],
            notes=HOSTILE,
        )
        await tab.sees("plan-review", "Plan 2")
        await expect(tab("plan-goal")).to_contain_text("<img src=x")
        await inert(tab)


async def inert(tab: Tab) -> None:
    """Nothing ran, nothing was loaded, and no link does what it should not."""
    assert await tab.page.evaluate("window.harmed") is None
    assert await tab.page.locator("main :is(img, script, iframe)").count() == 0
    links = await tab.page.locator("main a").evaluate_all("all => all.map((one) => one.href)")
    assert [link for link in links if link and not link.startswith("https:")] == []


async def test_who_is_not_logged_in_and_a_model_that_means_harm(browser: Browser, tmp_path: Path) -> None:
    async with in_process(
        tmp_path, parley_auth="token", parley_token=TOKEN, parley_secret=SECRET, openai_model="hostile"
    ) as parley:
        parley.model.replies["text_plan"] = {"kind": "question", "text": HOSTILE}
        async with Person(browser, parley.url) as stranger:
            stranger.forgiven = (*OFFLINE, "401")
            tab = await stranger.tab()
            await expect(tab.page.get_by_role("heading", name="You are not logged in")).to_be_visible()
            await tab.page.goto(f"{parley.url}/?token=wrong")
            await expect(tab.page.locator("body")).to_contain_text("This login is not valid")
        async with Person(browser, parley.url) as person:
            tab = await person.tab(f"/?token={TOKEN}")
            await tab.sees("example")
            assert "token" not in tab.page.url
            await tab.gone("demo")  # a model is configured
            await tab.say("Help me")
            question = await tab.sees("question", "Which one?")
            await expect(question.get_by_text("a good one")).to_have_attribute("href", "https://example.org/")
            await inert(tab)
