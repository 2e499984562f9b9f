"""Acting with tools on the page: the trace of turns, approvals, the answer, and what stopping leaves behind.

Everything is real but bus, log and model, which are in this process.
"""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, WebSocket, expect

from shared.domain import commands as c
from shared.story import Story
from tests.e2e.browser import Tab
from tests.e2e.keys import Keys
from tests.e2e.looks import LAYOUT_SHIFT
from tests.e2e.running import Client
from tests.e2e.store_requests import (
    BOTH,
    FIND,
    GOALS,
    LOOK,
    ONE,
    PENDING,
    USER,
    USER_ID,
    Customer,
    Replies,
    call,
    cancel,
    cancelling,
    turn,
)
from tests.support.bus import FakeBus
from tests.support.parley import LARGE, InProcess, in_process

pytestmark = pytest.mark.timeout(120)
ANSWER = {"text": "That is everything.", "confidence": 0.9, "evidence": []}
RECALLED = "Where is my umbrella?"
READS = turn(
    "Look around",
    *(call("get_order_details", f"Read order {order}", order_id=order) for order in BOTH),
    call("list_all_product_types", "List the products", 1),
)


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def parley(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcess]:
    """One that remembers an earlier session."""
    bus = FakeBus()
    nothing = c.PlanTurn(sub_goal="Nothing is left to do", actions=(), reasoning="It is known.")
    answer = c.GiveAnswer(text="It is on its way.", confidence=1)
    await Story("earlier", log=bus.log, user="local").commit(
        c.Say(text=RECALLED, workflow="agentflow"), nothing, answer
    )
    async with in_process(tmp_path_factory.mktemp("home"), bus) as parley:
        yield parley


@pytest_asyncio.fixture(loop_scope="package")
async def ada(browser: Browser, parley: InProcess) -> AsyncIterator[Customer]:
    async with Customer(browser, parley) as customer:
        yield customer
        parley.gate.release()
        parley.model.slowly = False


async def asked(customer: Customer, replies: Replies, request: str = "Cancel my pending orders", **choice: Any) -> Tab:
    """A tab whose changes wait for a yes."""
    tab = await customer.says(request, replies, **choice)
    await tab.state("action_approval")
    await tab.sees("action-approve")
    return tab


async def of_type(tab: Tab, kind: str) -> list[dict[str, Any]]:
    return [event for event in await tab.events() if event["type"] == kind]


async def test_the_workflow_and_its_settings_are_chosen_and_remembered(ada: Customer) -> None:
    steps = {"goal": "A calculator", "steps": ["Add", "Test"], "notes": ""}
    ada.parley.model.replies = cancelling(*ONE) | {"text_plan": steps}
    tab = await ada.tab()
    await tab.sees("example", "calculator")
    await tab("workflow").get_by_text("Act with tools").click()
    await expect(tab("example")).to_have_count(3)
    await expect(tab("example").first).not_to_contain_text("calculator")
    await tab.press("request-settings")
    await (await tab.sees("max-turns")).fill("8")
    await tab("quality").select_option("thorough")
    await tab("world").select_option("own")
    await tab("recall").check()
    await tab("recall").uncheck()
    await tab.page.keyboard.press("Escape")
    await tab.gone("max-turns")
    await tab.page.reload()
    await tab.sees("example")
    await tab.say("Cancel one order")
    await tab.state("action_approval")
    first = (await tab.events())[0]
    assert first["workflow"] == "agentflow"
    chosen = {"max_turns": 8, "quality": "thorough", "world": "own", "recall": False, "approval": "writes"}
    assert chosen.items() <= first["settings"].items()
    other = await ada.tab()
    await other.sees("example")
    await other("workflow").get_by_text("Plan and code").click()
    await other.ask()
    assert (await other.events())[0]["workflow"] == "conversation"


async def test_a_request_of_a_session_keeps_what_the_session_has(ada: Customer) -> None:
    tab = await asked(ada, cancelling(*ONE), f"{RECALLED} Cancel one order.")
    await tab.press("action-approve")
    await tab.sees("next")
    ada.parley.model.replies["turn"] = [LOOK, cancel(PENDING[1])]
    await tab("recalled").locator("summary").click()
    await tab("recall-off").check()
    await tab.say("Now cancel one more")
    await tab.state("action_approval")
    first, second = [event for event in await of_type(tab, "message.received") if event["intent"] == "request"]
    assert second["settings"] == first["settings"] | {"recall": False}


async def test_each_sub_goal_of_a_turn_has_a_verdict_of_its_own(ada: Customer) -> None:
    goals = "Cancel the order", "Work out the rest"
    (change,) = cancel(*ONE)["actions"]
    halves = call("calculate", "Divide", expression="1 / 0")
    both = turn("Do both", *({**one, "sub_goal": goal} for one, goal in zip((change, halves), goals, strict=True)))
    replies = cancelling(*ONE) | {"turn": [FIND, LOOK, both, {"reason": "The rest cannot be worked out."}]}
    tab = await asked(ada, replies, "Cancel one order, and divide")
    await tab.press("action-approve")
    verdicts = tab("sub-goal-verdicts").locator("li")
    await expect(verdicts).to_have_count(2)
    for verdict, goal, word in zip((verdicts.first, verdicts.last), goals, ("success", "failed"), strict=True):
        await expect(verdict).to_contain_text(goal)
        await expect(verdict).to_contain_text(word)
    await tab("action").nth(-1).locator("summary").click()
    await expect(tab("action").nth(-1)).to_contain_text(goals[1])


async def test_the_trace_tells_every_turn(ada: Customer) -> None:
    tab = await asked(ada, cancelling(*BOTH), f"{RECALLED} Cancel my orders.")
    turns = tab("turn")
    await expect(turns).to_have_count(3)
    await expect(turns.nth(0)).to_contain_text("Find out who the customer is")
    await expect(turns.nth(0).get_by_test_id("turn-by")).to_have_text("planner")
    await expect(turns.nth(0).get_by_test_id("verdict-by")).to_have_text("checked by rule · continues")
    await expect(turns.nth(0).get_by_test_id("action-gist")).to_have_text([USER_ID])
    await turns.nth(0).get_by_test_id("thoughts").locator("summary").click()
    await expect(turns.nth(0)).to_contain_text("skills: order handling, careful reading")
    await expect(turns.nth(1).get_by_test_id("action-gist").first).to_have_text(f"email: {USER['email']}")
    await turns.nth(1).get_by_test_id("action").first.locator("summary").click()
    await expect(turns.nth(1)).to_contain_text('"first_name"')
    earlier = turns.nth(0).get_by_test_id("recalled")
    await earlier.locator("summary").click()
    await expect(earlier.get_by_role("link", name=RECALLED, exact=True)).to_have_attribute("href", "/s/earlier")
    await expect(turns.nth(2).get_by_test_id("action")).to_have_count(2)
    await turns.nth(2).get_by_test_id("action").first.locator("summary").click()
    await expect(turns.nth(2).get_by_test_id("repairs").first).to_contain_text("another spelling of the field")
    await expect(tab("progress")).to_contain_text("3 of 5 turns used · 2 of 3 goals done")
    await tab.press("progress-line")
    await expect(tab("sub-goal")).to_contain_text(["done", "done", "to do"])


async def test_a_yes_is_bound_to_what_will_change(ada: Customer) -> None:
    sent: list[dict[str, Any]] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framesent", lambda frame: sent.append(json.loads(frame)))

    ada.context.on("page", lambda page: page.on("websocket", listen))
    tab = await asked(ada, cancelling(*ONE))
    change = await tab.sees("change", "status")
    await expect(change.get_by_role("cell")).to_have_text(["pending", "cancelled"])
    await expect(tab.page.get_by_role("rowheader", name="Refund")).to_have_attribute(
        "title", re.compile("payment_history")
    )
    snapshot = await tab.page.evaluate("async (id) => (await fetch(`/api/sessions/${id}`)).json()", tab.session_id)
    await tab.press("action-approve")
    await tab.sees("answer", PENDING[0])
    approval = next(message for message in sent if message["type"] == "approval")
    waiting = snapshot["approval_request"]["actions"][0]
    assert (approval["action_id"], approval["hash"]) == (waiting["action_id"], waiting["hash"])
    await expect(tab("action").last).to_have_attribute("data-state", "finished")


async def test_what_the_store_would_refuse_is_said_beforehand(ada: Customer) -> None:
    """Two sessions want to cancel the same order of the store that everybody shares."""
    tab = await asked(ada, cancelling(*ONE), world="shared")
    faster = await asked(ada, cancelling(*ONE), world="shared")
    await faster.press("action-approve")
    await faster.sees("answer")
    await tab.page.reload()
    await expect(tab("preview")).to_have_text("This would fail: non-pending order cannot be cancelled")
    await tab.press("action-approve")
    await expect(tab("action").last).to_have_attribute("data-state", "failed")


async def test_several_are_decided_one_by_one_by_keyboard(ada: Customer) -> None:
    tab = await asked(ada, cancelling(*BOTH, done=PENDING[1:2]))
    await expect(tab("action-request")).to_have_count(2)
    keys = Keys(tab)
    await tab.page.locator("main").focus()
    await keys.to("action-refuse")
    await tab.page.keyboard.press("Enter")
    await expect(tab("refuse-reason")).to_be_focused()
    await keys.write("She keeps this one")
    await expect(tab("action-request")).to_have_count(1)
    await expect(tab("action-request")).to_be_focused()  # the card, not the button: Enter would press it
    await keys.press("action-approve")
    await tab.sees("answer", PENDING[1])
    denied = (await of_type(tab, "approval.denied"))[0]
    assert denied["reason"] == "She keeps this one"
    await expect(tab("action-gist").nth(-2)).to_have_text("She keeps this one")
    await tab.reloaded_the_same()
    await keys.to("evidence")
    await tab.page.keyboard.press("Enter")
    lit = tab.page.locator("[data-lit]")
    await expect(lit).to_have_attribute("open", "")
    await expect(lit.locator("summary")).to_be_focused()
    await expect(lit).to_contain_text("cancelled")


async def test_all_at_once(ada: Customer) -> None:
    tab = await asked(ada, cancelling(*BOTH))
    await tab.press("approve-all")
    await tab.sees("answer")
    assert len(await of_type(tab, "approval.given")) == 2
    await expect(tab("confidence")).to_have_text("Confidence 93%")
    await expect(tab("evidence")).to_have_count(2)


async def test_a_request_is_done_when_its_person_says_so(ada: Customer) -> None:
    tab = await asked(ada, cancelling(*ONE))
    await tab.press("action-approve")
    await tab.sees("complete")
    await expect(tab("state")).to_have_text("ready")
    await tab.press("complete")
    await expect(tab("state")).to_have_text("done")
    await tab.gone("complete")


async def test_the_turns_of_a_second_request_count_on(ada: Customer) -> None:
    tab = await asked(ada, cancelling(*ONE))
    await expect(tab("progress")).to_contain_text("3 of 5 turns used · 2 of 3 goals done")
    await expect(tab("progress")).to_contain_text(f"now: {GOALS[2]}")  # a goal, and no button
    await tab.press("action-approve")
    await tab.sees("next")
    before = await tab("turn").count()
    ada.parley.model.replies["turn"] = [LOOK, cancel(PENDING[1])]
    await tab.say("Now cancel one more")
    await tab.state("action_approval")
    await expect(tab("turn")).to_have_count(before + 2)
    await expect(tab("turn").last).to_contain_text(f"turn {before + 2}")
    await expect(tab("progress")).to_contain_text(
        "2 of 5 turns used"
    )  # of this request, and none of it is called turn 2


async def test_yes_and_do_not_ask_again(ada: Customer) -> None:
    tab = await asked(ada, cancelling(*ONE))
    await tab.press("action-remember")
    await tab.sees("answer")
    await tab.sees("note", "set approval for cancel_pending_order to never")
    remembered = await of_type(tab, "policy.set")
    assert [(event["tool"], event["policy"]) for event in remembered] == [("cancel_pending_order", "never")]


async def test_one_action_is_skipped_and_the_session_paused(ada: Customer) -> None:
    ada.parley.gate.hold(passing=1)
    tab = await ada.says("Cancel my pending orders", cancelling(*BOTH) | {"turn": [FIND, READS, cancel(*BOTH)]})
    await expect(tab("action").nth(1)).to_have_attribute("data-state", "started")
    await tab.press("skip")
    await expect(tab("action").last).to_have_attribute("data-state", "skipped")
    await expect(tab("action-gist").last).to_have_text("skipped by the person")
    await tab.press("pause")
    await tab.sees("status", "Paused")
    ada.parley.gate.release()
    await expect(tab("action").nth(1)).to_have_attribute("data-state", "finished")  # what had begun may end
    await tab.press("unpause")
    await tab.sees("approve-all")


async def test_stop_in_the_middle_says_what_happened(ada: Customer) -> None:
    tab = await asked(ada, cancelling(*BOTH))
    ada.parley.gate.hold(passing=1)
    await tab.press("approve-all")
    await expect(tab("action").nth(-2)).to_have_attribute("data-state", "finished")
    await tab.press("stop")
    report = await tab.sees("stop-report")
    await expect(report).to_contain_text(f"Done, and stays done:Cancel order {PENDING[0]}")
    await expect(report).to_contain_text(f"the outcome will be recorded:Cancel order {PENDING[1]}")
    ada.parley.gate.release()
    await expect(report).not_to_contain_text("the outcome will be recorded", timeout=5_000)
    await expect(tab("action").last).to_have_attribute("data-state", "finished")
    await tab.reloaded_the_same()


async def test_stop_before_a_yes_changes_nothing(ada: Customer) -> None:
    tab = await asked(ada, cancelling(*BOTH))
    await tab.press("stop")
    report = await tab.sees("stop-report")
    await expect(report).to_contain_text(f"Not done:Cancel order {PENDING[0]}")
    await expect(report).to_contain_text("Nothing was changed in this turn.")


async def test_a_budget_is_raised_by_an_amount(ada: Customer) -> None:
    ada.parley.model.replies = cancelling(*ONE)
    async with Client(ada.parley.url.replace("http", "ws") + "/ws") as client:
        settings = {"token_budget": 10, "world": "own"}
        await client.send(type="user_message", content="Cancel one", workflow="agentflow", settings=settings)
        await client.event("question.asked")
        tab = await ada.tab(f"/s/{client.session_id}")
        await expect(tab("question-option")).to_have_count(2)
        await tab("raise-amount").fill("9000")
        await tab.press("raise")
        raised = await client.event("budget.raised")
        assert (raised["tokens"], raised["cost"]) == (9000, 0)
        await tab.sees("action-approve")


async def test_a_large_result_is_shortened_and_downloaded(ada: Customer, tmp_path: Path) -> None:
    everything = turn("List everything", call("list_everything", "List everything there is"), final=True)
    tab = await ada.says("Show me the big list", {"turn": [everything], "answer": ANSWER})
    await tab.sees("answer")
    await tab("action").locator("summary").click()
    await tab.sees("action", "the full result is 1.3 MB")
    async with tab.page.expect_download() as started:
        await tab.press("artefact")
    await (await started.value).save_as(tmp_path / "big.txt")
    assert (tmp_path / "big.txt").read_text() == LARGE


async def test_nothing_moves_while_turns_stream_in(ada: Customer) -> None:
    tab = await ada.comes(cancelling(*BOTH))
    await tab.page.evaluate(LAYOUT_SHIFT)
    ada.parley.model.slowly = True
    await tab.say("Cancel my pending orders")
    await tab.sees("approve-all")
    moved = await tab.page.evaluate("window.moved")
    assert sum(one["by"] for one in moved) < 0.1, moved


async def states(tab: Tab, parley: InProcess) -> AsyncIterator[str]:
    """One request, halting wherever the page looks different."""
    yield "welcome"
    await tab.press("request-settings")
    await tab.sees("max-turns")
    await tab("world").select_option("own")
    yield "settings"
    await tab.page.keyboard.press("Escape")
    await tab.gone("max-turns")
    parley.model.replies = cancelling(*BOTH, done=PENDING[1:2])
    await tab.say(f"{RECALLED} Cancel my pending orders " + "W" * 120)
    await tab.sees("approve-all")
    for one in ("thoughts", "recalled", "action"):
        await tab(one).first.locator("summary").click()
    await tab.press("progress-line")
    yield "approval"
    await tab.press("action-refuse")
    await tab.sees("refuse-reason")
    yield "refusal"
    await tab.press("action-deny")
    await tab.press("action-approve")
    await tab.sees("next")
    await tab.press("evidence")
    yield "answer"
    parley.gate.hold()
    parley.model.replies["turn"] = [READS]
    await tab.say("Look at my orders again")
    await tab.sees("skip")
    yield "running"
    await tab.press("stop")
    await tab.sees("stop-report")
    yield "stopped"
    await tab.press("inbox")
    await tab.sees("inbox-panel")
    yield "inbox"


async def test_every_state_on_a_desk_and_a_phone_in_light_and_dark(ada: Customer) -> None:
    tab = await ada.tab()
    await tab("workflow").get_by_text("Act with tools").click()
    wrong: list[str] = []
    async for name in states(tab, ada.parley):
        wrong += await tab.wrong_looks(name)
    assert not wrong, "\n".join(wrong)
