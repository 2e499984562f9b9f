"""A plan generator: one step for each line of the request, after a step that reads the notes."""

from collections.abc import Sequence

from parley.events.values import Step
from parley.plan_generator import Draft, DraftContext, PlanGenerator
from parley.protocol.tools import ToolSpec


class EachLine(PlanGenerator):
    """Plans without a model."""

    async def generate(self, request: str, tools: Sequence[ToolSpec], context: DraftContext) -> Draft:
        lines = [line.strip() for line in (request, *context.feedback) for line in line.splitlines() if line.strip()]
        first = Step(id="read", tool="list_notes", text="Read the notes")
        adds = [
            Step(id=f"add{number}", tool="add_note", arguments={"text": line}, text=f"Note: {line}", after=("read",))
            for number, line in enumerate(lines, 1)
        ]
        return Draft(f"Add {len(adds)} notes", [first, *adds])
