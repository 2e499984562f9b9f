"""A step executor that runs the tools of a plan and keeps a journal."""

from collections.abc import Mapping

from pydantic import JsonValue

from parley.events.values import Step
from parley.step_executor import Result, StepContext, StepExecutor

JOURNAL: list[str] = []  # completed steps, kept until the executor ends


class Journalled(StepExecutor):
    """Runs the tool, and records the step in the journal."""

    tools = ("*_note", "list_notes")

    async def run(self, step: Step, resolved: Mapping[str, JsonValue], key: str, context: StepContext) -> Result:
        result = await context.run_tool()
        JOURNAL.append(f"{step.id} {context.tool.name}: {'done' if result.ok else result.error}")
        return result
