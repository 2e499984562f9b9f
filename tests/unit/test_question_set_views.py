"""Questions that are asked together: one after the other in protocol 1, all at once in protocol 2."""

from parley.events.values import FurtherQuestion, Option
from parley.protocol import journal as j
from parley.protocol.screen import FurtherQuestionSection, QuestionSection
from parley.protocol.server import Question
from services.gateway.views.protocol1 import messages_for, snapshot
from services.gateway.views.sections import changed_sections, full_view
from shared.domain.kernel import commands as c
from shared.journal.entries import entries
from shared.story import Story

EXTRAS = (Option(key="1", label="Sound"), Option(key="2", label="High scores"))
ASK = c.Ask(
    text="Which colour?",
    options=("Red", "Blue"),
    further=(FurtherQuestion(text="Which extras?", options=EXTRAS, several=True), FurtherQuestion(text="Its name?")),
)


def asked(*answers: c.Answer) -> Story:
    story = Story("s1")
    story.apply(c.Say(text="A game"), ASK, *answers)
    return story


def frames(story: Story) -> list[list[tuple[str, str, tuple[str, ...]]]]:
    """By event, the `question` messages of protocol 1: id, words and options."""
    messages = (messages_for(before, event, after) for before, _, event, after in story.transitions)
    return [[(m.question_id, m.content, m.options) for m in each if isinstance(m, Question)] for each in messages]


COLOUR = ("request-2", "Which colour?", ("Red", "Blue"))
WHICH_EXTRAS = ("request-2.1", "Which extras?", ("Sound", "High scores"))
NAME = ("request-2.2", "Its name?", ())


# --- protocol 1


def test_a_client_of_protocol_1_gets_one_question_after_the_other() -> None:
    story = asked(*(c.Answer(text=text) for text in ("Red", "Sound", "Snake")))
    assert frames(story) == [[], [COLOUR], [WHICH_EXTRAS], [NAME], []]
    assert story.session.phase == "planning"


def test_several_answers_at_once_lead_to_the_next_open_question() -> None:
    assert frames(asked(c.Answer(text="Red", more=("Sound",)))) == [[], [COLOUR], [NAME]]
    assert frames(asked(c.Answer(text="Red", more=("Sound", "Snake")))) == [[], [COLOUR], []]


def test_the_snapshot_of_protocol_1_has_the_open_question() -> None:
    shown = snapshot(asked(c.Answer(text="Red")).session).question
    assert shown is not None
    assert (shown.question_id, shown.content, shown.options) == WHICH_EXTRAS


# --- protocol 2


def shape(asked: QuestionSection | FurtherQuestionSection) -> tuple[str, str, tuple[str, ...]]:
    return asked.question_id, asked.content, asked.options


def test_the_screen_has_all_open_questions() -> None:
    section = full_view(asked().session).question
    assert section is not None
    assert [shape(section), *map(shape, section.further)] == [COLOUR, WHICH_EXTRAS, NAME]
    assert [section.several, *(further.several for further in section.further)] == [False, True, False]


def test_an_answer_leaves_the_others_on_the_screen() -> None:
    story = asked(c.Answer(text="Red"))
    before, _, _, after = story.transitions[-1]
    section = QuestionSection.model_validate(changed_sections(before, after)["question"])
    assert [shape(section), *map(shape, section.further)] == [WHICH_EXTRAS, NAME]
    assert section.several


# --- the journal


def test_the_journal_has_an_entry_for_each_question_and_its_answer() -> None:
    _, question, first, rest = asked(c.Answer(text="Red"), c.Answer(text="Sound", more=("Snake",))).events
    shown = [entry for entry in entries(question) if isinstance(entry, j.QuestionEntry)]
    assert [(entry.question_id, entry.text, entry.options) for entry in shown] == [COLOUR, WHICH_EXTRAS, NAME]
    assert [entry.key for entry in shown] == ["question:2", "question:2.1", "question:2.2"]
    updates = [update for event in (first, rest) for update in entries(event) if isinstance(update, j.EntryUpdate)]
    assert [(update.key, update.set["answer"]) for update in updates] == [
        ("question:2", "Red"),
        ("question:2.1", "Sound"),
        ("question:2.2", "Snake"),
    ]
