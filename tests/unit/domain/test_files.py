"""A session's files: outcomes change them, forks copy them."""

from parley.events import facts, parse_event
from parley.events.values import FileRef, Outcome
from shared.domain.kernel import commands as c
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import decide
from shared.domain.transcript.forks import carry_over
from shared.log import body_of
from shared.story import finish_action
from tests.conftest import person
from tests.unit.domain.spec import act, given, new_request, request, turn

FIRST, SECOND = (FileRef(sha256=digit * 64, size=size) for digit, size in (("1", 1), ("2", 2)))
TWO_WRITES = (
    request("agentflow", approval="never"),
    turn(act("1.1", effect="write"), act("1.2", tool="b", effect="write")),
    c.Start(),
)


def test_a_file_changes_with_the_outcome_of_its_action() -> None:
    before = given(*TWO_WRITES)
    assert before.session.files == {}
    first = before.when(finish_action("1.1", files={"a": FIRST, "b": FIRST})).then("actions.finished")
    assert first.session.files == {"a": FIRST, "b": FIRST}
    second = first.given.when(finish_action("1.2", files={"a": SECOND, "b": None, "never there": None}))
    assert second.then("actions.finished").session.files == {"a": SECOND}


def test_outcomes_of_one_event_apply_in_order() -> None:
    outcomes = (
        Outcome(action_id="1.1", ok=True, files={"a": FIRST}),
        Outcome(action_id="1.2", ok=True, files={"a": SECOND}),
    )
    result = given(*TWO_WRITES).when(c.Finish(outcomes=outcomes)).then("actions.finished")
    assert result.session.files == {"a": SECOND}


def test_outcomes_without_files_are_readable_by_older_releases() -> None:
    result = given(*TWO_WRITES).when(finish_action("1.1")).then("actions.finished")
    assert b"files" not in body_of(result.event)


def test_an_outcome_after_a_stop_or_in_another_request_changes_files() -> None:
    stopped = given(*TWO_WRITES, c.Stop())
    assert stopped.when(finish_action("1.1", files={"a": FIRST})).then("actions.finished").session.files == {"a": FIRST}
    other = given(*TWO_WRITES, c.Stop(), new_request("something else"))
    assert other.when(finish_action("1.1", files={"a": FIRST})).then("actions.finished").session.files == {"a": FIRST}


def test_files_are_kept_for_the_next_request() -> None:
    assert given(
        *TWO_WRITES, finish_action("1.1", files={"a": FIRST}), c.Stop(), new_request("more")
    ).session.files == {"a": FIRST}


def fork(parent: Session, session_id: str = "s2") -> facts.SessionForked:
    command = c.Fork(parent_id=parent.id, parent_version=parent.version, carried=carry_over(parent))
    event = decide(Session(session_id), command, person())
    assert isinstance(event, facts.SessionForked)
    return event


def test_a_fork_copies_the_files_and_changes_only_its_copy() -> None:
    parent = given(*TWO_WRITES, finish_action("1.1", files={"a": FIRST, "b": FIRST}), c.Stop()).session
    event = fork(parent)
    child = evolve(Session("s2"), parse_event(body_of(event)))
    assert child.files == parent.files
    changed = given(*TWO_WRITES, finish_action("1.1", files={"a": SECOND, "b": None}), begin=child).session
    assert (changed.files, parent.files) == ({"a": SECOND}, {"a": FIRST, "b": FIRST})
