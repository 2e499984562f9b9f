"""A fork's first event holds everything that the fork begins with, and fits into the log."""

import json

import pytest

from parley.events import facts, parse_event
from parley.events.carried import Carried
from parley.events.values import Check, Knowledge, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import MAX_WORDS_BYTES, Session
from shared.domain.rules.decide import decide
from shared.domain.transcript.entries import MAX_BYTES
from shared.domain.transcript.forks import carry_over
from shared.log import MAX_FORK, EventTooLarge, body_of
from tests.conftest import person
from tests.unit.domain.spec import NOTES, TO_DONE, approve, draft, given, program, say, unread

PAGE = 'It costs 19 % in “Köln”, said she: "really".\n'


def fork_event(parent: Session) -> facts.SessionForked:
    command = c.Fork(parent_id=parent.id, parent_version=parent.version, carried=carry_over(parent))
    event = decide(Session("s2"), command, person())
    assert isinstance(event, facts.SessionForked)
    return event


def text(size: int) -> str:
    """This many bytes of prose and quoted code, as JSON."""
    return (PAGE * (size // len(json.dumps(PAGE, ensure_ascii=False).encode())))[:50_000]


def largest() -> Session:
    """A session in which all texts of users and models are as long as allowed."""
    book = tuple(Knowledge(name=f"page {number}", text=text(40_000)) for number in range(10))
    steps = tuple(Step(text="x" * 2_000) for _ in range(100))
    return given(
        say(text(50_000), knowledge=book),
        c.DraftPlan(goal="g", steps=steps, notes=text(40_000)),
        approve,
        program(text(50_000)),
        c.VerifyCode(checks=(Check(name="tests", ok=True, detail="d" * 20_000),), tests=text(50_000)),
        *(say(text(50_000)) for _ in range(8)),
    ).session


def transcript_of(session: Session) -> list[tuple[str, str, str]]:
    return [(entry.by, entry.kind, entry.text) for entry in session.transcript]


def test_the_event_alone_creates_the_fork() -> None:
    parent = given(
        say(knowledge=(NOTES,)), *TO_DONE[1:], say("and floats"), draft("floats"), c.Rename(title="Mine")
    ).session
    event = fork_event(parent)
    child = evolve(Session("s2"), parse_event(body_of(event)))
    assert (child.title, child.words.knowledge, child.words.request) == ("Mine", (NOTES,), "and floats")
    assert transcript_of(child) == transcript_of(parent)
    assert (child.plan and child.plan.number, child.counts.plans, child.code, child.counts.codes) == (2, 2, None, 1)
    assert given(begin=child).when(approve).then_event().version == 2


def test_the_largest_session_can_be_forked() -> None:
    parent = largest()
    assert len(parent.words.unread) > 3
    assert sum(entry.size for entry in parent.transcript) > MAX_BYTES // 3
    event = fork_event(parent)
    body = body_of(event)
    assert MAX_FORK // 2 < len(body) <= MAX_FORK
    child = evolve(Session("s2"), parse_event(body))
    assert child.code
    assert child.plan
    assert (child.words.request, child.plan.steps, child.code.code) == (
        parent.words.request, parent.plan and parent.plan.steps, parent.code and parent.code.code)  # fmt: skip
    assert child.words.unread[-1].text == parent.words.unread[-1].text
    words = len(json.dumps(unread(child), ensure_ascii=False).encode())
    assert MAX_WORDS_BYTES - 50_000 < words <= MAX_WORDS_BYTES + 1_000
    assert transcript_of(child) == transcript_of(parent)


def test_a_fork_that_is_too_large_is_refused_with_advice() -> None:
    parent = given(*TO_DONE).session
    event = fork_event(parent)
    waiting = event.carried.model_copy(update={"answer": "x" * MAX_FORK})
    with pytest.raises(EventTooLarge, match="fork it earlier"):
        body_of(event.model_copy(update={"carried": waiting}))


def test_a_forks_first_event_contains_no_artefacts() -> None:
    """Bytes that the fork needs are stored under its own name first, so purging the parent is safe."""
    assert "Artefact" not in Carried.model_json_schema()["$defs"]
