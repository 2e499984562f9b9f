"""Which messages approve or start an execution plan, and the command that starts it. Pure."""

from typing import Literal

from parley.protocol import client as m
from parley.protocol.client import ClientMessage
from shared.domain import commands as c
from shared.domain.errors import OutOfTurn
from shared.domain.plan_steps import task_status
from shared.domain.session import Session, review_target
from shared.domain.user_commands import UserCommand


class Execute(ClientMessage):
    """Start the approved execution plan; with `retry`, continue one that failed or was stopped. Not on /ws."""

    type: Literal["execute"] = "execute"
    retry: bool = False


def approves_plan(message: ClientMessage, session: Session) -> bool:
    """Whether the message approves an execution plan."""
    plan = session.plan
    if plan is None or not plan.task or not isinstance(message, m.Approval):
        return False
    names_plan = message.action_id is None and message.version in (None, plan.version)
    return message.approved and names_plan and review_target(session) == "text"


def execution_commands(message: Execute, session: Session) -> tuple[UserCommand, ...]:
    """Nothing while a service works on the plan, and nothing for a plan that has ended or needs the user."""
    match task_status(session):
        case "draft" | "pending_approval":
            raise OutOfTurn("The plan is not approved. Approve it: that starts it, too.")
        case "cancelled":
            raise OutOfTurn("The plan was cancelled. Generate or store another one.")
        case "paused" if session.paused and message.retry:
            return (c.Resume(),)
        case "approved" if not session.is_working:
            return (c.Retry(),)
        case "paused" | "failed" if message.retry and not session.is_working:
            return (c.Retry(),)
    return ()
