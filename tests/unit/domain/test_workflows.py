"""The edges that workflows declare, compared with those that sessions take."""

import ast
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from parley.events import EVENT_CLASSES, SessionEvent
from parley.events.values import PathPlan, Step
from scripts.reachability import explore
from shared.domain import workflows
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Phase, Session
from shared.domain.kernel.workflow import Edge, Row, always
from shared.domain.workflows import WORKFLOWS, phases
from tests.unit.domain.spec import (
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


class EdgeKey(NamedTuple):
    """An edge of a workflow; `label` names its condition."""

    workflow: str
    event_type: str
    label: str


ROOT = Path(__file__).resolve().parents[3]
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
    original = phases.edge_for

    def record_edge(session: Session, event: SessionEvent) -> Edge:
        taken_edge = original(session, event)
        if event.type not in phases.EVENTS:
            taken.add(EdgeKey(workflows.owner(session, event).name, event.type, taken_edge.label))
        return taken_edge

    monkeypatch.setattr(phases, "edge_for", record_edge)
    for rare in RARE:
        given(*rare)
    event_types = {edge.event_type for edge in declared()}  # no workflow has edges for the other types
    assert {edge for edge in taken if edge.event_type in event_types} == declared()


ROWS = [
    *(
        pytest.param(row, id=f"{workflow.name} {kind}")
        for workflow in WORKFLOWS.values()
        for kind, row in workflow.after.items()
    ),
    *(pytest.param(row, id=name) for name, row in (*phases.EVENTS.items(), *phases.ROWS.items())),
]


@pytest.mark.parametrize("row", ROWS)
def test_only_the_last_edge_has_no_condition_and_every_edge_leads_somewhere(row: Row) -> None:
    assert [edge.when is always for edge in row] == [False] * (len(row) - 1) + [True]
    named = {edge.to for edge in row if edge.to is not None and not callable(edge.to)}
    assert named <= {*get_args(Phase), *phases.ROWS}


def test_every_event_type_has_edges_in_the_table_or_in_workflows() -> None:
    event_types = {str(event_class.model_fields["type"].default) for event_class in EVENT_CLASSES}
    of_workflows = {kind for workflow in WORKFLOWS.values() for kind in workflow.after}
    assert phases.EVENTS.keys() | of_workflows == event_types
    assert not phases.EVENTS.keys() & of_workflows


def test_only_the_table_sets_the_phase_of_a_session() -> None:
    product = (path for folder in ("services", "shared", "parley", "cli") for path in (ROOT / folder).rglob("*.py"))
    setters = {path.relative_to(ROOT).as_posix() for path in product if sets_phase(path)}
    # the old protocol shows a message being answered as the phase that it once was
    assert setters == {"shared/domain/workflows/phases.py", "services/gateway/views/protocol1.py"}


def sets_phase(path: Path) -> bool:
    """Whether the module makes a session, or a copy of one, in another phase."""
    calls = (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call))
    changes = (call for call in calls if isinstance(call.func, ast.Name) and call.func.id in ("replace", "Session"))
    return any(keyword.arg == "phase" for call in changes for keyword in call.keywords)
