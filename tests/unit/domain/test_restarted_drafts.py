"""A draft that began again with messages that came while it was made takes them in, and its event says so."""

import pytest

from chaos.conversation import Conversation
from parley.events import SessionEvent, dump_event
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand
from tests.unit.domain.spec import CODING, StoryLine, draft, given, program, request, say, turn, unread

ANSWERED = c.AnswerRemark(text="It is short.")
DRAFTED: list[tuple[tuple[StoryLine, ...], AnyCommand, str]] = [
    ((say(),), draft("floats"), "awaiting_approval"),
    (CODING, program("floats"), "verifying"),
    ((request("agentflow"),), turn(), "executing"),
    ((say(),), ANSWERED, "resting"),
]


def drafted(before: Session, command: AnyCommand, seen: int) -> tuple[SessionEvent, Session]:
    """The event of a draft or reply that was made from the session at version `seen`, and the session after it."""
    when = given(begin=before).when(command, seen=seen)
    event = when.then_event()
    return event, when.then(event.type).session


@pytest.mark.parametrize(("before", "command", "phase"), DRAFTED)
def test_a_draft_takes_in_the_messages_up_to_the_version_that_it_was_made_from(
    before: tuple[StoryLine, ...], command: AnyCommand, phase: str
) -> None:
    said = given(*before, say("floats"), say("and tests")).session
    event, after = drafted(said, command, said.version)
    assert (event.read_until, after.phase, unread(after)) == (said.version, phase, ())
    event, after = drafted(said, command, said.version - 1)
    assert (event.read_until, unread(after)) == (said.version - 1, ("and tests",))
    assert after.phase == ("coding" if before == CODING else "planning"), "the other one is read next"


@pytest.mark.parametrize(("before", "command", "phase"), DRAFTED)
def test_an_event_names_no_version_if_its_work_has_read_all_that_it_takes_in(
    before: tuple[StoryLine, ...], command: AnyCommand, phase: str
) -> None:
    """As the events of older logs do."""
    quiet = given(*before).session
    event, after = drafted(quiet, command, quiet.version)
    assert (event.read_until, after.phase) == (None, phase)
    assert b"read_until" not in dump_event(event)
    late = given(*before, say("floats")).session
    event, after = drafted(late, command, quiet.version)
    assert (event.read_until, unread(after)) == (None, ("floats",))


def test_the_transcript_tells_a_draft_that_has_read_all_messages() -> None:
    said = given(say(), say("floats")).session
    for seen, told in ((said.version, True), (said.version - 1, False)):
        _, after = drafted(said, draft("floats"), seen)
        assert any(entry.kind == "draft" for entry in after.transcript) is told


def test_the_chaos_suite_counts_what_a_draft_has_read() -> None:
    said = given(say(), say("floats")).session
    for seen, unanswered in ((said.version, set()), (said.version - 1, {said.version})):
        conversation = Conversation(unanswered={said.version})
        conversation.add(*drafted(said, draft("floats"), seen))
        assert conversation.unanswered == unanswered
