"""A step executor: it runs the tools of a plan, and writes down what was carried out."""

from collections.abc import Mapping

from pydantic import JsonValue

from parley.events.values import Step
from parley.step_executor import Result, StepContext, StepExecutor

JOURNAL: list[str] = []  # what was carried out, until the executor ends


class Journalled(StepExecutor):
    """Runs the tool, and writes down which step it was."""

    tools = ("*_note", "list_notes")

    async def run(self, step: Step, resolved: Mapping[str, JsonValue], key: str, context: StepContext) -> Result:
        result = await context.run_tool()
        JOURNAL.append(f"{step.id} {context.tool.name}: {'done' if result.ok else result.error}")
        return result
