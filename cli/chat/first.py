"""What is chosen on the command line for the first request."""

from typing import NamedTuple

import typer

from parley.events.values import Confirm, SessionSettings, Workflow
from shared.domain.workflows import WORKFLOWS


def known(workflow: str | None) -> str | None:
    """This workflow. Raises typer.BadParameter where there is none of that name."""
    if workflow not in (None, *WORKFLOWS):
        raise typer.BadParameter(f"--workflow is one of {', '.join(WORKFLOWS)}")
    return workflow


class First(NamedTuple):
    """What is chosen for the first request: its workflow, for a flow also which, and where it stops for the person.

    `plan_approval`: whether a plan that acts waits for the person.
    """

    workflow: Workflow | None = None
    flow: str = ""
    confirm: Confirm | None = None
    plan_approval: bool = True

    def choices(self, now: SessionSettings) -> dict[str, object]:
        """The fields of the message; other settings stay as they are."""
        changed: dict[str, object] = {"confirm": self.confirm} if self.confirm else {}
        if self.flow:
            changed["planning"] = now.planning.model_copy(update={"flow": self.flow})
        usual = "flow" if changed else "execution_plan"
        if not self.plan_approval:
            changed["require_plan_approval"] = False
        chosen: dict[str, object] = {"workflow": self.workflow or usual} if self.workflow or changed else {}
        return chosen | ({"settings": now.model_copy(update=changed)} if changed else {})


AS_IT_IS = First()
