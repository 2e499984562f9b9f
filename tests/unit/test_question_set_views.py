"""Questions that are asked together: their entries in the journal."""

from parley.events.values import FurtherQuestion, Option
from parley.protocol import journal as j
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


COLOUR = ("request-2", "Which colour?", ("Red", "Blue"))
WHICH_EXTRAS = ("request-2.1", "Which extras?", ("Sound", "High scores"))
NAME = ("request-2.2", "Its name?", ())


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
