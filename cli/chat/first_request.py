"""Command-line options that apply to the first request."""

from typing import NamedTuple

import typer

from parley.events.values import Confirm, SessionSettings, Workflow
from shared.domain.workflows import WORKFLOWS


def check_workflow(workflow: str | None) -> str | None:
    """The workflow's name. Raises typer.BadParameter if it is unknown."""
    if workflow not in (None, *WORKFLOWS):
        raise typer.BadParameter(f"--workflow is one of {', '.join(WORKFLOWS)}")
    return workflow


class FirstRequest(NamedTuple):
    """Options of the first request: its workflow, the flow, and where a flow stops for the user.

    `plan_approval`: whether an execution plan needs the user's approval.
    """

    workflow: Workflow | None = None
    flow: str = ""
    confirm: Confirm | None = None
    plan_approval: bool = True

    def message_fields(self, now: SessionSettings) -> dict[str, object]:
        """The message's fields for these options; other settings stay unchanged."""
        changed: dict[str, object] = {"confirm": self.confirm} if self.confirm else {}
        if self.flow:
            changed["planning"] = now.planning.model_copy(update={"flow": self.flow})
        default = "flow" if changed else "execution_plan"
        if not self.plan_approval:
            changed["require_plan_approval"] = False
        fields: dict[str, object] = {"workflow": self.workflow or default} if self.workflow or changed else {}
        return fields | ({"settings": now.model_copy(update=changed)} if changed else {})


UNCHANGED = FirstRequest()
