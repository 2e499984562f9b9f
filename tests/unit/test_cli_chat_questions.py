"""Several questions in the terminal: one after the other, each with what follows; options that may be combined."""

import pytest

from cli.chat.choices import choice_label, choices, hint, interpret
from cli.chat.render import render_request
from cli.chat.state import ChatView
from parley.events.values import FurtherQuestion, Option
from parley.protocol import client as m
from parley.protocol.words import HINTS
from shared.domain.kernel import commands as c
from tests.unit.test_cli_chat_turns import rendered
from tests.unit.test_cli_chat_view import ChatScenario, sent

EXTRAS = tuple(Option(key=str(n), label=label) for n, label in enumerate(("Sound", "High scores", "Two players"), 1))
ASK = c.Ask(
    text="Which colour?",
    options=("Red", "Blue"),
    further=(FurtherQuestion(text="Which extras?", options=EXTRAS, several=True), FurtherQuestion(text="Its name?")),
)


def asked(*answers: str) -> ChatView:
    scenario = ChatScenario()
    return scenario.does(c.Say(text="A game"), ASK, *(c.Answer(text=text) for text in answers))


@pytest.mark.parametrize(
    ("answers", "question", "follows"),
    [
        ((), "Which colour?", "2 more questions follow."),
        (("Red",), "Which extras?", "One more question follows."),
        (("Red", "Sound"), "Its name?", ""),
    ],
)
def test_one_question_is_asked_after_the_other(answers: tuple[str, ...], question: str, follows: str) -> None:
    text = rendered(render_request(asked(*answers), {}) or "")
    assert question in text
    assert follows in text
    assert ("follow" in text) == bool(follows)


def test_an_answer_names_the_question_that_is_shown() -> None:
    assert sent(interpret("2", asked())) == m.AnswerReply(type="answer", content="Blue", question_id="request-2")
    last = asked("Red", "Sound")
    assert choices(last) == ()
    assert sent(interpret("Snake", last)) == m.AnswerReply(type="answer", content="Snake", question_id="request-2.2")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("1", "Sound"),
        ("3 1", "Sound; Two players"),
        ("1,2,2", "Sound; High scores"),
        ("high scores", "High scores"),
        ("1 and a pause key", "1 and a pause key"),
        ("none of them", "none of them"),
    ],
)
def test_options_that_may_be_combined_are_picked_by_their_numbers(line: str, answer: str) -> None:
    view = asked("Red")
    assert view.request
    assert hint(view.request) == HINTS["several"]
    assert sent(interpret(line, view)) == m.AnswerReply(type="answer", content=answer, question_id="request-2.1")


def test_what_the_numbers_stand_for_is_shown() -> None:
    view = asked("Red")
    assert choice_label("1 3", view) == " Sound; Two players"
    assert (choice_label("7", view), choice_label("none", view)) == ("", "")


def test_only_one_option_of_other_questions_is_picked() -> None:
    view = asked()
    assert view.request
    assert hint(view.request) == HINTS["options"]
    assert sent(interpret("1 2", view)) == m.AnswerReply(type="answer", content="1 2", question_id="request-2")
