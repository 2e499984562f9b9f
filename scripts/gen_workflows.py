"""docs/workflows.md: the workflows' diagrams, from their declared edges and the search over reachable sessions."""

from collections import defaultdict
from collections.abc import Iterator
from typing import cast, get_args

from scripts.gen_tables import fill, table
from scripts.reachability import PhaseEdge, Reachability
from shared.domain.kernel.session import SERVICE_OF, Phase
from shared.domain.kernel.workflow import Row, Target, Workflow
from shared.domain.workflows import WORKFLOWS
from shared.domain.workflows.phases import EVENTS, ROWS

EVERYWHERE = {"plan.cancelled", "plan.deleted"}  # possible in every phase, they would clutter each diagram
PHASES = get_args(Phase)


def workflows_md(reach: Reachability) -> str:
    """One diagram and one table for each workflow."""
    sections = (_section(workflow, reach.edges) for workflow in WORKFLOWS.values())
    own = ((kind, workflow.name, row) for workflow in WORKFLOWS.values() for kind, row in workflow.after.items())
    events = sorted((*own, *((kind, "", row) for kind, row in EVENTS.items())), key=lambda line: line[0])
    return fill(
        "workflows",
        workflows="\n\n".join(sections),
        events=table(("Event", "In", "Leads to"), ((f"`{kind}`", name, _leads_to(row)) for kind, name, row in events)),
        rows=table(("Row", "Leads to"), ((f"*{_words(name)}*", _leads_to(row)) for name, row in ROWS.items())),
    )


def _leads_to(row: Row) -> str:
    """The edges in words, in their order."""
    *tested, last = row
    edges = [f"{_target(edge.to)} if {edge.label}" for edge in tested]
    return "; ".join((*edges, f"else {_target(last.to)}" if edges else _target(last.to)))


def _target(to: Target) -> str:
    if callable(to):
        return f"the {_words(to.__name__)}"
    return "the same phase" if to is None else f"`{to}`" if to in PHASES else f"*{_words(to)}*"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _section(workflow: Workflow, arrows: set[PhaseEdge]) -> str:
    arrows = {arrow for arrow in arrows if arrow.workflow == workflow.name} | set(_rare(workflow, arrows))
    source = f"shared/domain/workflows/{workflow.name}.py"
    return "\n".join((f"## {workflow.name}", "", f"Declared in `{source}`.", "", *_diagram(arrows)))


def _rare(workflow: Workflow, arrows: set[PhaseEdge]) -> Iterator[PhaseEdge]:
    """The edges that the search did not reach, because it ignores differences in texts and numbers."""
    taken = {(arrow.workflow, arrow.kind, arrow.test) for arrow in arrows}
    for kind, edges in workflow.after.items():
        origins = {arrow.before for arrow in arrows if arrow.kind == kind}
        for edge in edges:
            if edge.to in PHASES and (workflow.name, kind, edge.label) not in taken:
                after = cast("Phase", edge.to)
                yield from (PhaseEdge(workflow.name, origin, kind, edge.label, after) for origin in origins)


def _diagram(arrows: set[PhaseEdge]) -> Iterator[str]:
    labels: dict[tuple[str, str], set[str]] = defaultdict(set)
    for arrow in (arrow for arrow in arrows if arrow.kind not in EVERYWHERE):
        test = f" [{arrow.test}]" if arrow.test else ""
        labels[arrow.before, arrow.after].add(f"{arrow.kind}{test}")
    yield "```mermaid"
    yield "stateDiagram-v2"
    phases = {phase for pair in labels for phase in pair}
    yield from (f"    {phase}: {phase} ({service})" for phase, service in SERVICE_OF.items() if phase in phases)
    for (before, after), lines in sorted(labels.items()):
        yield f"    {before} --> {after}: {'<br>'.join(sorted(lines))}"
    yield "```"
