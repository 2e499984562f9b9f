"""What the nodes of a flow get of the conversation: the last question that was answered, and its answer."""

from shared.domain.kernel import commands as c
from shared.domain.transcript.forks import carry_over
from shared.domain.transcript.queries import last_exchange
from tests.unit.domain.spec import EXECUTING, TO_PLAN, StoryLine, answer, given, new_request, request, say, turn

ORDERS, ANSWER = "How many orders wait?", "Three wait."


def asked(text: str, reply: str = ANSWER) -> tuple[StoryLine, ...]:
    """A request that is answered without a tool."""
    return (new_request(text), turn(nothing=True), answer(reply))


FIRST = (request("agentflow", ORDERS), turn(nothing=True), answer(ANSWER))


def exchange(*lines: StoryLine) -> str:
    return last_exchange(given(*lines).session)


def test_the_last_question_comes_with_its_answer() -> None:
    assert exchange(*FIRST, new_request("And in Texas?")) == f"user: {ORDERS}\n\nassistant: {ANSWER}"


def test_only_the_last_of_several_counts() -> None:
    lines = (*FIRST, *asked("And in Texas?", "One."), new_request("And in Ohio?"))
    assert exchange(*lines) == "user: And in Texas?\n\nassistant: One."


def test_what_was_answered_about_the_current_request_counts_too() -> None:
    assert exchange(*FIRST) == f"user: {ORDERS}\n\nassistant: {ANSWER}"
    lines = (*FIRST, new_request("And in Texas?"), turn(nothing=True), answer("One."))
    assert exchange(*lines, say("Yes, do that")) == "user: And in Texas?\n\nassistant: One."


def test_without_an_answer_there_is_no_exchange() -> None:
    assert last_exchange(given(say()).session) == ""
    assert exchange(*TO_PLAN, c.Stop(), new_request("another")) == ""
    assert exchange(*EXECUTING, c.Stop(), new_request("another")) == ""


def test_an_answer_in_words_to_a_message_counts_with_that_message() -> None:
    lines = (*TO_PLAN, say("How long is it?"), c.AnswerRemark(text="Ten lines."), c.Stop(), new_request("another"))
    assert exchange(*lines) == "user: How long is it?\n\nassistant: Ten lines."


def test_an_answered_question_counts_as_what_was_asked_last() -> None:
    asks = (request("agentflow", ORDERS), c.Ask(text="Where?"), c.Answer(text="In Texas"))
    lines = (*asks, turn(nothing=True), answer("One."), new_request("And in Ohio?"))
    assert exchange(*lines) == "user: In Texas\n\nassistant: One."


def test_a_long_answer_stays_readable() -> None:
    said = f"{'word ' * 9_000}end"
    told = exchange(*FIRST[:2], answer(said), new_request("And in Texas?"))
    assert told.startswith(f"user: {ORDERS}\n\nassistant: word word")
    assert told.endswith("word end")
    assert len(told) < len(said)


def test_a_fork_remembers_the_exchange() -> None:
    parent = given(*FIRST).session
    fork = c.Fork(parent_id="s1", parent_version=parent.version, carried=carry_over(parent))
    assert exchange(fork, new_request("And in Texas?")) == f"user: {ORDERS}\n\nassistant: {ANSWER}"
