"""docs/workflows.md: the diagrams of the workflows, from their edges and from what the search over sessions reached."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from scripts.gen_reach import Arrow, Reach
from shared.domain.session import SERVICE_OF
from shared.domain.workflow import Workflow
from shared.domain.workflows import WORKFLOWS

EVERYWHERE = {"plan.cancelled", "plan.deleted"}  # they end work in whatever phase, and would cross each diagram
TEXT = Path(__file__).parent / "gen_text" / "workflows.md"


def workflows_md(reach: Reach) -> str:
    """One diagram and one table a workflow."""
    sections = "\n\n".join(_section(one, reach.arrows) for one in WORKFLOWS.values())
    return TEXT.read_text("utf-8").replace("{workflows}", sections)


def _section(workflow: Workflow, arrows: set[Arrow]) -> str:
    arrows = {arrow for arrow in arrows if arrow.workflow == workflow.name} | set(_rare(workflow, arrows))
    source = f"shared/domain/workflows/{workflow.name}.py"
    return "\n".join((f"## {workflow.name}", "", f"Declared in `{source}`.", "", *_diagram(arrows)))


def _rare(workflow: Workflow, arrows: set[Arrow]) -> Iterator[Arrow]:
    """The edges that the search did not come to: it takes sessions for the same that differ in words or numbers."""
    taken = {(arrow.workflow, arrow.kind, arrow.test) for arrow in arrows}
    for kind, edges in workflow.after.items():
        origins = {arrow.before for arrow in arrows if arrow.kind == kind}
        for edge in edges:
            if edge.to != "wave" and (workflow.name, kind, edge.label) not in taken:
                yield from (Arrow(workflow.name, origin, kind, edge.label, edge.to) for origin in origins)


def _diagram(arrows: set[Arrow]) -> Iterator[str]:
    labels: dict[tuple[str, str], set[str]] = defaultdict(set)
    for arrow in (arrow for arrow in arrows if arrow.kind not in EVERYWHERE):
        test = f" [{arrow.test}]" if arrow.test else ""
        labels[arrow.before, arrow.after].add(f"{arrow.kind}{test}")
    yield "```mermaid"
    yield "stateDiagram-v2"
    shown = {phase for pair in labels for phase in pair}
    yield from (f"    {phase}: {phase} ({service})" for phase, service in SERVICE_OF.items() if phase in shown)
    for (before, after), lines in sorted(labels.items()):
        yield f"    {before} --> {after}: {'<br>'.join(sorted(lines))}"
    yield "```"
