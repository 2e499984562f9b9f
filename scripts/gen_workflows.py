"""docs/workflows.md: the workflows' diagrams, from their declared edges and the search over reachable sessions."""

from collections import defaultdict
from collections.abc import Iterator

from scripts.gen_tables import fill
from scripts.reachability import PhaseEdge, Reachability
from shared.domain.kernel.session import SERVICE_OF
from shared.domain.kernel.workflow import Workflow
from shared.domain.workflows import WORKFLOWS

EVERYWHERE = {"plan.cancelled", "plan.deleted"}  # possible in every phase, they would clutter each diagram


def workflows_md(reach: Reachability) -> str:
    """One diagram and one table for each workflow."""
    sections = (_section(workflow, reach.edges) for workflow in WORKFLOWS.values())
    return fill("workflows", workflows="\n\n".join(sections))


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
            if edge.to != "batch" and (workflow.name, kind, edge.label) not in taken:
                yield from (PhaseEdge(workflow.name, origin, kind, edge.label, edge.to) for origin in origins)


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
