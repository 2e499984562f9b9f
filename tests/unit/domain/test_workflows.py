"""The edges that workflows declare, compared with those that sessions take."""

from typing import NamedTuple

import pytest

from parley.events import EVENT_CLASSES, SessionEvent
from parley.events.values import PathPlan, Step
from scripts.reachability import explore
from shared.domain import workflows
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.kernel.workflow import Edge, Workflow, always
from shared.domain.workflows import WORKFLOWS
from tests.unit.domain.spec import StoryLine, act, answer, approve, done, draft, given, request, say, turn, verdict


class EdgeKey(NamedTuple):
    """An edge of a workflow; `label` names its condition."""

    workflow: str
    event_type: str
    label: str


PATH = PathPlan(nodes=("look",))
path_drafted = draft("look", goal="count", kind="path", path=PATH)


def path_edited(session: Session) -> c.EditPlan:
    assert session.plan is not None
    return c.EditPlan(base=session.plan.version, steps=(Step(text="Look twice", tool="look"),))


def declared() -> set[EdgeKey]:
    return {
        EdgeKey(workflow.name, event_type, edge.label)
        for workflow in WORKFLOWS.values()
        for event_type, edges in workflow.after.items()
        for edge in edges
        if edge.label != "out of turns"  # under older rules only
    }


LOOK = act("1.1", tool="look")
WALKED = (request("flow"), turn(LOOK, path=PATH), c.Start(), done())
LOOK_STEPS = (Step(text="Look", tool="look", id="s1"),)
CARRIED_OUT = (
    request("execution_plan"),
    c.DraftPlan(goal="look", steps=LOOK_STEPS, kind="execution"),
    approve,
    c.Start(),
    done(action_id="t2.s1"),
)
# Stories for edges that the search misses: it treats sessions that differ only in texts or in the turns left as equal.
RARE: tuple[tuple[StoryLine, ...], ...] = (
    (request("agentflow"), say("hurry"), turn(act("1.1"))),
    (request("agentflow"), turn(nothing=True)),
    (request("flow"), say("hurry"), turn(LOOK, path=PATH)),
    (*WALKED, verdict(), answer()),
    (request("flow", confirm="path"), path_drafted, path_edited),
    (*CARRIED_OUT, verdict(), answer()),
)


def test_the_declared_edges_are_those_that_sessions_take(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {EdgeKey(arrow.workflow, arrow.kind, arrow.test) for arrow in explore().edges}
    original = workflows.edge_for

    def record_edge(session: Session, event: SessionEvent) -> Edge:
        taken_edge = original(session, event)
        taken.add(EdgeKey(workflows.owner(session, event).name, event.type, taken_edge.label))
        return taken_edge

    monkeypatch.setattr(workflows, "edge_for", record_edge)
    for rare in RARE:
        given(*rare)
    event_types = {edge.event_type for edge in declared()}  # no workflow has edges for the other types
    assert {edge for edge in taken if edge.event_type in event_types} == declared()


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS)
def test_only_the_last_edge_of_an_event_type_has_no_condition(workflow: Workflow) -> None:
    event_types = {str(event_class.model_fields["type"].default) for event_class in EVENT_CLASSES}
    assert workflow.after.keys() <= event_types
    for edges in workflow.after.values():
        assert [edge.when is always for edge in edges] == [False] * (len(edges) - 1) + [True]
