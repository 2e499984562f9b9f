"""Questions that are asked together: answered at once, one after the other, or in parts."""

import json

import pytest

from parley.events import SessionEvent, dump_event, parse_event
from parley.events.values import FurtherQuestion, Option
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid, OutOfTurn, Stale
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import due
from shared.domain.transcript.forks import carry_over
from shared.domain.transcript.queries import questions, said_since_request
from tests.unit.domain.spec import NOTES, TO_CODE, TO_DONE, Given, draft, given, new_request, request, say, turn

COLOUR, EXTRAS, NAME = "Which colour?", "Which extras?", "What is its name?"
LABELS = ("Sound", "High scores", "Two players")
EXTRAS_ASKED = FurtherQuestion(
    text=EXTRAS, options=tuple(Option(key=str(n), label=label) for n, label in enumerate(LABELS, 1)), several=True
)
ASK = c.Ask(text=COLOUR, options=("Red", "Blue"), further=(EXTRAS_ASKED, FurtherQuestion(text=NAME)))
ASKED = (say("a game"), ASK)
SET = (COLOUR, EXTRAS, NAME)


def texts(session: Session) -> tuple[str, ...]:
    """The open questions."""
    question = session.question
    return (question.text, *(following.text for following in question.following)) if question else ()


def unread(session: Session) -> tuple[str, ...]:
    return tuple(message.text for message in session.words.unread)


def entries(session: Session, kind: str) -> list[str]:
    return [entry.text for entry in session.transcript if entry.kind == kind]


def answer(text: str, *more: str, action_id: str | None = None) -> c.Answer:
    return c.Answer(text=text, more=more, action_id=action_id)


# --- asking


def test_three_questions_are_asked_with_one_event() -> None:
    asked = given(say("a game")).when(ASK).then("question.asked", text=COLOUR, several=False)
    asked.leaves("awaiting_input", "user")
    assert texts(asked.session) == SET
    question = asked.session.question
    assert question is not None
    assert [each.several for each in (question, *question.following)] == [False, True, False]
    assert [each.id for each in (question, *question.following)] == ["request-2", "request-2.1", "request-2.2"]
    assert question.following[0].options == EXTRAS_ASKED.options


def test_a_single_question_stays_readable_for_older_releases() -> None:
    asked = given(say("a game")).when(ASK.model_copy(update={"further": ()})).then("question.asked")
    answered = asked.given.when(answer("Red")).then("question.answered", more=(), place=0, key="1")
    stored = json.loads(dump_event(asked.event)), json.loads(dump_event(answered.event))
    assert not any({"several", "further", "more", "place"} & event.keys() for event in stored)


# --- answering


def test_one_answer_holds_those_to_all_questions() -> None:
    result = given(*ASKED).when(answer("Red", "Sound; Two players", "Snake"))
    done = result.then("question.answered", text="Red", key="1", more=("Sound; Two players", "Snake"), place=0)
    done.leaves("planning", "planner", question=None)
    assert unread(done.session) == ("Red\nSound; Two players\nSnake",)
    drafted = done.given.when(draft()).then("plan.drafted").leaves("awaiting_approval", "user")
    assert unread(drafted.session) == ()


def test_a_client_that_knows_single_questions_answers_one_after_the_other() -> None:
    first = given(*ASKED).when(say("Red")).then("question.answered", place=0, key="1")
    first.leaves("awaiting_input", "user")
    assert texts(first.session) == (EXTRAS, NAME)
    second = first.given.when(say("Sound")).then("question.answered", place=1, key="1")
    second.leaves("awaiting_input", "user")
    assert texts(second.session) == (NAME,)
    third = second.given.when(say("Snake")).then("question.answered", place=2, key=None)
    third.leaves("planning", "planner", question=None)
    assert unread(third.session) == ("Red", "Sound", "Snake")


def test_other_words_than_an_option_go_to_who_asked_at_once() -> None:
    told = given(*ASKED).when(say("wrong number! forget it")).then("message.received", intent="feedback")
    told.leaves("planning", "planner", question=None)
    assert unread(told.session) == ("wrong number! forget it",)


def test_the_rest_can_be_answered_together_later() -> None:
    first = given(*ASKED).when(answer("Red")).then("question.answered").given
    rest = first.when(answer("Sound", "Snake", action_id="request-2.1")).then("question.answered", place=1)
    rest.leaves("planning", "planner", question=None)
    assert unread(rest.session) == ("Red", "Sound\nSnake")
    two = given(*ASKED).when(answer("Red", "Sound")).then("question.answered").leaves("awaiting_input", "user")
    assert texts(two.session) == (NAME,)


@pytest.mark.parametrize("already", [(), ("Red",), ("Red", "Sound")])
def test_more_answers_than_open_questions_are_refused(already: tuple[str, ...]) -> None:
    before = given(*ASKED, *map(answer, already))
    more = ["x"] * (3 - len(already))
    before.when(answer("Blue", *more)).refused(Invalid, "more answers than open questions")
    before.when(answer("Blue", *more[1:])).then("question.answered").leaves("planning", "planner", question=None)


@pytest.mark.parametrize("texts", [(" ", "Sound", "Snake"), ("Red", " ", "Snake"), ("Red", "Sound", "")])
def test_an_empty_answer_is_refused(texts: tuple[str, ...]) -> None:
    given(*ASKED).when(answer(*texts)).refused(Invalid, "The answer is empty")


def test_a_late_answer_to_an_earlier_question_does_not_count_for_the_next_one() -> None:
    before = given(*ASKED).when(answer("Red", action_id="request-2")).then("question.answered").given
    before.when(answer("Blue", action_id="request-2")).refused(Stale, "no longer open")
    before.when(answer("Sound", action_id="request-2.1")).then("question.answered", place=1)
    given(*ASKED).when(answer("Sound", action_id="request-2.1")).refused(Stale, "no longer open")


def test_the_answers_return_to_whoever_asked() -> None:
    coding = given(*TO_CODE, say("shorter?"), ASK)
    assert coding.session.question
    part = coding.when(answer("Red")).then("question.answered").leaves("awaiting_input", "user")
    part.given.when(answer("Sound", "Snake")).then("question.answered").leaves("coding", "generator")
    acting = given(request("agentflow"), ASK).when(answer("Red", "Sound", "Snake")).then("question.answered")
    acting.given.when(turn()).then("turn.planned")


# --- other things than answers


def test_a_message_with_a_file_takes_the_place_of_the_answers() -> None:
    before = given(*ASKED, answer("Red"))
    result = before.when(say("All of it is in there", knowledge=(NOTES,))).then("message.received", intent="feedback")
    result.leaves("planning", "planner", question=None, knowledge=(NOTES,))
    assert unread(result.session) == ("Red", "All of it is in there")
    result.given.when(answer("Sound")).refused(OutOfTurn, "No question is open")


def test_a_stop_keeps_the_answers_for_the_retry() -> None:
    stopped = given(*ASKED, answer("Red")).when(c.Stop()).then("session.stopped")
    stopped.leaves("resting", "nobody", question=None)
    stopped.given.when(answer("Sound")).refused(OutOfTurn, "No question is open")
    again = stopped.given.when(c.Retry()).then("session.retried").leaves("planning", "planner")
    assert unread(again.session) == ("Red",)
    assert f"{COLOUR} – Red" in entries(again.session, "answered")


def test_a_fork_begins_with_the_answers_given_so_far() -> None:
    parent = given(*ASKED, answer("Red")).session
    fork = c.Fork(parent_id="s1", parent_version=parent.version, carried=carry_over(parent))
    child = given(fork, begin=Session("s2")).session
    assert (child.phase, child.question, due(child)) == ("resting", None, "nobody")
    assert unread(child) == ("Red",)
    assert questions(child) == (SET,)
    assert said_since_request(child) == (f"{COLOUR} – Red",)
    goes_on = Given(child).when(say("Go on")).then("message.received")
    assert unread(goes_on.session)[-1:] == ("Go on",)


# --- the transcript


def test_the_transcript_names_each_question_with_its_answer() -> None:
    session = given(*ASKED, answer("Red", "Sound; my own", "Snake")).session
    (asked,) = entries(session, "question")
    assert json.loads(asked)["reply"] == {
        "kind": "question",
        "text": COLOUR,
        "options": ["Red", "Blue"],
        "more": [{"text": EXTRAS, "options": list(LABELS), "several": True}, {"text": NAME}],
    }
    assert entries(session, "answered") == [f"{COLOUR} – Red\n{EXTRAS} – Sound; my own\n{NAME} – Snake"]
    assert questions(session) == (SET,)


def test_answers_in_parts_are_told_as_they_came() -> None:
    session = given(*ASKED, answer("Red"), answer("Sound", "Snake")).session
    assert entries(session, "answered") == [f"{COLOUR} – Red", f"{EXTRAS} – Sound\n{NAME} – Snake"]
    last = given(*ASKED, answer("Red", "Sound"), answer("Snake")).session
    assert entries(last, "answered")[-1] == f"{NAME} – Snake"


def test_the_answer_to_a_single_question_is_told_as_it_is() -> None:
    session = given(say("a game"), c.Ask(text=COLOUR), answer("Red")).session
    assert entries(session, "answered") == ["Red"]


def test_questions_of_earlier_requests_do_not_count() -> None:
    done = given(*ASKED, answer("Red", "Sound", "Snake"), *TO_DONE[1:])
    assert questions(done.session) == (SET,)
    later = done.when(new_request("a clock")).then("message.received", intent="request").session
    assert (questions(later), said_since_request(later)) == ((), ())


# --- logs of older releases


def old_event(session: Session, **fields: object) -> SessionEvent:
    """An event as an older release wrote it: without the fields of several questions."""
    envelope = {"id": f"old-{session.version}", "session_id": session.id, "version": session.version + 1}
    return parse_event(
        json.dumps(envelope | {"at": "2030-01-01T12:00:00Z", "question_id": "request-2"} | fields).encode()
    )


def test_a_question_and_an_answer_of_an_older_release_mean_what_they_did() -> None:
    begun = given(say("a game")).session
    asked = evolve(begun, old_event(begun, type="question.asked", actor="planner", kind="request", text=COLOUR))
    assert asked.question is not None
    assert (asked.question.several, asked.question.further, asked.question.following) == (False, (), ())
    answered = evolve(asked, old_event(asked, type="question.answered", actor="user:ann", text="Red"))
    assert (answered.phase, answered.question, unread(answered)) == ("planning", None, ("Red",))
