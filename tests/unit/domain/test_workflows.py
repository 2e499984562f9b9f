"""Workflows are data: the declared edges are exactly those that sessions take."""

from typing import NamedTuple

import pytest

from parley.events import EVENT_CLASSES, SessionEvent
from parley.events.values import PathPlan, Step
from scripts.reachability import explore
from shared.domain import commands as c
from shared.domain import workflows
from shared.domain.session import Session
from shared.domain.workflow import Edge, Workflow, always
from shared.domain.workflows import WORKFLOWS
from tests.unit.domain.spec import (
    TO_DONE,
    StoryLine,
    act,
    answer,
    approve,
    done,
    draft,
    given,
    request,
    say,
    turn,
    verdict,
)


class Taken(NamedTuple):
    """An edge of a workflow; `test` is the label of its condition."""

    workflow: str
    kind: str
    test: str


path_drafted = draft("look", goal="count", kind="path", path=PathPlan(nodes=("look",)))


def path_edited(session: Session) -> c.EditPlan:
    assert session.plan is not None
    return c.EditPlan(base=session.plan.version, steps=(Step(text="Look twice", tool="look"),))


def declared() -> set[Taken]:
    return {
        Taken(workflow.name, kind, edge.label)
        for workflow in WORKFLOWS.values()
        for kind, edges in workflow.after.items()
        for edge in edges
    }


PATH = PathPlan(nodes=("look",))
LOOK = act("1.1", tool="look")
LAST_TURN = (request("agentflow", max_turns=1), turn(), c.Start(), done(), verdict("continue"))
WALKED = (request("flow"), turn(LOOK, path=PATH), c.Start(), done())
CALL = (Step(text="Look", tool="look", id="s1"),)
CARRIED_OUT = (
    request("execution_plan"),
    c.DraftPlan(goal="look", steps=CALL, kind="execution"),
    approve,
    c.Start(),
    done(action_id="t2.s1"),
)
# The search does not come to these: it takes sessions for the same that differ in words, or in how many turns are left.
RARE: tuple[tuple[StoryLine, ...], ...] = (
    LAST_TURN,
    (*TO_DONE, c.Run(), c.Start(), say("hurry"), done(), verdict()),
    (request("agentflow"), say("hurry"), turn(act("1.1"))),
    (request("agentflow"), turn(nothing=True)),
    (request("flow", max_turns=1), turn(LOOK, path=PATH), c.Start(), done(), verdict("retry")),
    (request("flow"), say("hurry"), turn(LOOK, path=PATH)),
    (*WALKED, say("hurry"), verdict()),
    (*WALKED, verdict(), say("hurry"), answer()),
    (request("flow", confirm="path"), path_drafted, path_edited),
    (*CARRIED_OUT, verdict(), say("hurry"), answer()),
    (*CARRIED_OUT, verdict(), answer()),
)


def test_every_edge_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The declared edges are exactly those that sessions take."""
    taken = {Taken(arrow.workflow, arrow.kind, arrow.test) for arrow in explore().edges}
    edge = workflows.edge_for

    def record_edge(session: Session, event: SessionEvent) -> Edge:
        taken_edge = edge(session, event)
        taken.add(Taken(workflows.owner(session, event).name, event.type, taken_edge.label))
        return taken_edge

    monkeypatch.setattr(workflows, "edge_for", record_edge)
    for rare in RARE:
        given(*rare)
    kinds = {edge.kind for edge in declared()}
    assert {edge for edge in taken if edge.kind in kinds} == declared()


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS)
def test_the_last_edge_of_an_event_has_no_condition(workflow: Workflow) -> None:
    kinds = {str(kind.model_fields["type"].default) for kind in EVENT_CLASSES}
    assert workflow.after.keys() <= kinds
    for edges in workflow.after.values():
        assert [edge.when is always for edge in edges] == [False] * (len(edges) - 1) + [True]
