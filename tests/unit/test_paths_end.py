"""How a walked path ends: the rule that judges it, and the answer that it made itself. No model is asked for either."""

from typing import Any

import pytest

from services.generator.handlers import found_on_the_way
from services.verifier.paths import walked
from shared.domain import commands as c
from shared.domain.session import Session
from tests.unit.domain.spec import Told, given, verdict
from tests.unit.domain.test_paths import PLANNED, edit, node, walk

WALKED = (*PLANNED, *walk(1), *walk(2), *walk(3))
ANSWERED = (*WALKED, *walk(4, answer="12 orders", confidence=0.75))
FAILED = (*PLANNED, *walk(1), c.Start(), c.Finish(action_id="1.2", ok=False, error="no such table"))
LOOK_FIRST = node("sql.run", arguments={"sql": "select 1"}, approval="look first")
REFUSED = (*PLANNED, *walk(1), c.ChangePath(actions=(LOOK_FIRST,)), c.Reject(action_id="1.5", reason="too slow"))
ENDED = (*PLANNED, *walk(1), edit(after="1.1"))
WRITE = node("sql.run", effect="write", arguments={"n": 1}, approval="it changes something")


@pytest.mark.parametrize(
    ("story", "status", "rule", "why"),
    [
        (ANSWERED, "success", "path-walked", "walked to its end"),
        ((*WALKED, *walk(4)), "partial", "path-walked", "ended after sql.tell"),
        (ENDED, "partial", "path-walked", "ended after sql.look"),
        (FAILED, "failure", "path-ended", "sql.write (failed): no such table"),
        (REFUSED, "failure", "path-ended", "sql.run (denied): too slow"),
        ((*PLANNED, c.Skip(action_id="1.1")), "failure", "path-ended", "no node was run"),
    ],
)
def test_a_path_speaks_for_itself(story: tuple[Told, ...], status: str, rule: str, why: str) -> None:
    session = given(*story).session
    assert session.phase == "verifying"
    assert session.turn is not None
    told = walked(session.turn)
    assert (told.status, told.next_action, told.rule) == (status, "complete", rule)
    assert why in told.reasoning


def answer_of(*story: Told) -> c.GiveAnswer:
    session: Session = given(*story, verdict("complete")).session
    assert session.turn is not None
    return found_on_the_way(session.turn)


def test_the_answer_is_what_the_path_made() -> None:
    told = answer_of(*ANSWERED)
    assert (told.text, told.confidence) == ("12 orders", 0.75)
    assert told.evidence == ("1.2", "1.3", "1.4")


def test_what_a_person_set_is_no_evidence() -> None:
    story = (*PLANNED, *walk(1), edit(after="1.1", answer="it is 42"))
    told = answer_of(*story)
    assert (told.text, told.confidence, told.evidence) == ("it is 42", 1, ("1.1",))


@pytest.mark.parametrize("story", [ENDED, FAILED, REFUSED])
def test_without_an_answer_it_says_how_far_the_path_came(story: tuple[Any, ...]) -> None:
    told = answer_of(*story)
    assert told.text == "There is no answer. seen"
    assert told.confidence == 0


def test_a_doubt_that_was_left_is_told() -> None:
    story = (*PLANNED, *walk(1), c.ChangePath(actions=(WRITE,)), lambda s: c.Approve(version=s.version), c.Start())
    doubt = (*story, c.Uncertain(action_id="1.5", reason="?"), c.Answer(text="Leave it"))
    session = given(*doubt).session
    assert session.turn is not None
    told = walked(session.turn)
    assert (told.status, told.rule) == ("partial", "in-doubt")
