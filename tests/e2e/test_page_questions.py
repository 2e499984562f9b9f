"""Three questions at once on the page: answered by keyboard alone, in parts, and after a reload.

The bus, the log and the model are fakes in this process. Everything else is real.
"""

from playwright.async_api import Browser, expect

from tests.e2e.browser import Person, Tab
from tests.e2e.keyboard import Keyboard
from tests.support.parley import InProcess

COLOUR, EXTRAS, NAME = (
    "Which colour should the snake have?",
    "Which **extras** do you want?",
    "What is the game called?",
)
LABELS = ["Sound", "High scores", "Two players"]
ASK = {
    "kind": "question",
    "text": COLOUR,
    "options": ["Green", "Blue", "Red"],
    "more": [{"text": EXTRAS, "options": LABELS, "several": True}, {"text": NAME}],
}
PLAN = {"goal": "A snake game", "steps": ["Draw the snake", "Test it"], "notes": ""}


async def asked(person: Person, parley: InProcess) -> Tab:
    """A session in which the planner has asked three questions."""
    parley.model.replies = {"text_plan": [ASK, PLAN]}
    tab = await person.tab()
    await tab.send("A snake game")
    await tab.wait_for("question-asked", NAME)
    return tab


async def answers(tab: Tab) -> list[list[str]]:
    """The answers of each answering event."""
    answered = [event for event in await tab.events() if event["type"] == "question.answered"]
    return [[event["text"], *event.get("more", [])] for event in answered]


async def test_three_questions_are_answered_by_keyboard_alone(browser: Browser, parley: InProcess) -> None:
    async with Person(browser, parley.url) as ada:
        tab = await asked(ada, parley)
        keyboard = Keyboard(tab)
        await expect(tab("question-choice").first).to_be_focused()
        await tab.page.keyboard.press("ArrowDown")
        await expect(tab.page.get_by_role("radio", name="Blue")).to_be_checked()
        await keyboard.tab_to("question-own")
        await tab.page.keyboard.press("Tab")
        await tab.page.keyboard.press("Space")
        await keyboard.repeat("Tab", 2)
        await tab.page.keyboard.press("Space")
        await keyboard.tab_to("question-own")
        await tab.page.keyboard.type("and a pause key")
        await tab.page.keyboard.press("Tab")
        await tab.page.keyboard.type("Slither")
        await expect(tab("question-send")).to_have_text("Send the answers")
        assert await tab.visual_problems("questions") == []
        await keyboard.activate("question-send")

        await tab.wait_for_state("text_plan_approval")
        assert await answers(tab) == [["Blue", "Sound; Two players; and a pause key", "Slither"]]
        cards = await tab("question-card").all_inner_texts()
        assert [card.split("\n")[-1] for card in cards] == ["Blue", "Sound; Two players; and a pause key", "Slither"]
        await tab.wait_for("approve")
        await tab.check_reload()


async def test_questions_that_are_left_out_are_asked_next(browser: Browser, parley: InProcess) -> None:
    async with Person(browser, parley.url) as ada:
        tab = await asked(ada, parley)
        await tab("question-own").last.fill("Slither")
        await tab.click("question-send")
        await expect(tab("question-asked").first).to_contain_text("Answer this one first")
        await tab.page.get_by_role("radio", name="Green").check()
        await expect(tab("question-send")).to_have_text("Send 1 of 3 answers")
        await tab.click("question-send")

        await expect(tab("question-asked")).to_have_count(2)
        await tab.wait_for("question-card", "Green")
        await expect(tab("question-own").last).to_have_value("Slither")
        await expect(tab.page.get_by_role("checkbox", name="Sound")).to_be_focused()
        await tab.check_reload()
        await expect(tab("question-own").last).to_have_value("Slither")
        await tab.page.get_by_role("checkbox", name="Sound").check()
        await tab.click("question-send")
        await tab.wait_for_state("text_plan_approval")
        assert await answers(tab) == [["Green"], ["Sound", "Slither"]]


async def test_one_question_stays_a_click(browser: Browser, parley: InProcess) -> None:
    async with Person(browser, parley.url) as ada:
        parley.model.replies = {"text_plan": [{"kind": "question", "text": COLOUR, "options": ["Green", "Blue"]}, PLAN]}
        tab = await ada.tab()
        await tab.send("A snake game")
        await tab("question-option").get_by_text("Blue").click()
        await tab.wait_for_state("text_plan_approval")
        assert await answers(tab) == [["Blue"]]
