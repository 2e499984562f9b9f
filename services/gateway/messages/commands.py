"""Translates client messages into domain commands. Pure."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from parley.events.values import SessionSettings, Step, ToolPolicy, Workflow
from parley.protocol import client as m
from parley.protocol.bounds import OwnPlan
from parley.protocol.client import ClientMessage
from parley.protocol.flows import FlowPage
from services.gateway.api_errors import ApiError
from services.gateway.messages.flows import NO_FLOWS, edited_path, edited_plan
from services.gateway.messages.plan_commands import (
    Execute,
    answer_command,
    approves_plan,
    check_current,
    continue_command,
    edited_steps,
    execution_commands,
    read_plan,
)
from services.gateway.messages.tools import Tools, known_tool, own_actions
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.kernel.session import SERVICE_OF, Session, review_target, undecided_actions
from shared.domain.plan.policy import asked_tool
from shared.domain.rules.user_commands import UserCommand
from shared.domain.steps.plan_steps import with_kept_ids
from shared.domain.turn.batches import find_action
from shared.domain.workflows import WORKFLOWS
from shared.domain.workflows.flow import path_of
from shared.time_zones import time_zone

WITHOUT_TOOL = dict.fromkeys(("effect", "policy", "waits_for", "fingerprint"))  # facts of its tool that a step records
NO_TOOLS: Tools = MappingProxyType({})
SessionMessage = m.SessionMessage | Execute


class ApprovalTarget(NamedTuple):
    """What a client's screen last showed for approval: a plan or code with its version and hash, or actions."""

    kind: Literal["item", "actions"]
    version: int
    hash: str | None = None  # None for actions: each has its own


class MessageContext(NamedTuple):
    """What a message is translated with. `tools` and `flows` are loaded only for messages that need them."""

    session: Session
    target: ApprovalTarget | None
    tools: Tools
    flows: FlowPage


CommandBuilder = Callable[[Any, MessageContext], tuple[UserCommand, ...]]


def to_commands(
    message: SessionMessage,
    session: Session,
    target: ApprovalTarget | None,
    tools: Tools = NO_TOOLS,
    flows: FlowPage = NO_FLOWS,
) -> tuple[UserCommand, ...]:
    """The commands that carry this message out, in order. Raises ApiError or CommandRefused."""
    return COMMANDS[type(message)](message, MessageContext(session, target, tools, flows))


def _say(message: m.UserMessage, context: MessageContext) -> tuple[UserCommand, ...]:
    _check_workflow(message.workflow)
    if message.settings:
        _check_plan_settings(message.settings, message.workflow or context.session.workflow, context.tools)
    say = c.Say(
        text=message.content,
        workflow=message.workflow,
        settings=message.settings,
        knowledge=message.knowledge,
        brings_plan=message.plan is not None,
        time_zone=message.time_zone if message.time_zone and time_zone(message.time_zone) else None,
    )
    return (say, _own_plan(message.plan, message, context)) if message.plan else (say,)


def _check_plan_settings(settings: SessionSettings, workflow: Workflow, tools: Tools) -> None:
    """Raises Invalid for plan settings in a workflow without execution plans, and for unknown tools."""
    if not (settings.tools or settings.instructions):
        return
    workflow_rules = WORKFLOWS.get(workflow)
    if workflow_rules is None or workflow_rules.plans != "execution":
        raise Invalid(f"`tools` and `instructions` are for plans that act, not for the workflow “{workflow}”.")
    for name in settings.tools:
        known_tool(name, tools)


def _own_plan(plan: OwnPlan, message: m.UserMessage, context: MessageContext) -> c.EditPlan:
    """The plan that a request brings along, as an edit of the first version."""
    workflow_rules = WORKFLOWS[message.workflow or context.session.workflow]
    if workflow_rules.plans not in ("text", "execution"):
        raise Invalid(f"A session of the workflow “{workflow_rules.name}” does not accept a plan of your own.")
    steps = tuple(_edited_step(step) for step in plan.steps)
    edit = c.EditPlan(base=1, steps=steps, goal=plan.goal, notes=plan.notes)
    allowed = (context.session.settings if message.settings is None else message.settings).tools
    return edited_steps(edit, context.tools, allowed=allowed) if workflow_rules.turn.by_step else edit


def _take_over(message: m.TakeOver, context: MessageContext) -> tuple[UserCommand, ...]:
    _check_escalated(context.session)
    actions = own_actions(message.actions, context.session, context.tools)
    return (c.TakeOver(sub_goal=message.sub_goal, actions=actions),)


def _hand_back(message: m.HandBack, context: MessageContext) -> tuple[UserCommand, ...]:
    _check_escalated(context.session)
    return (c.Say(text=message.content),)


def _choose_workflow(message: m.ChooseWorkflow, context: MessageContext) -> tuple[UserCommand, ...]:
    _check_workflow(message.workflow)
    return (c.ChooseWorkflow(workflow=message.workflow),)


def _check_workflow(workflow: Workflow | None) -> None:
    if workflow is not None and workflow not in WORKFLOWS:
        hint = f"These can be chosen: {', '.join(WORKFLOWS)}."
        raise ApiError("not_available", f"There is no workflow “{workflow[:80]}”.", hint)


def _check_escalated(session: Session) -> None:
    if session.phase != "escalated":
        raise OutOfTurn("A person takes over, and hands back, when the session is escalated to one.")


def _approval(
    message: m.Approval, session: Session, target: ApprovalTarget | None, tools: Tools
) -> tuple[UserCommand, ...]:
    if not message.approved and (message.preapprove or not message.start):
        raise Invalid("`preapprove` and `start` are for approvals only.")
    if tools and approves_plan(message, session) and session.plan:
        check_current(session.plan.steps, tools)
    version = _approved_version(message, session, target)
    unnamed = message.version is None and message.action_id is None
    content_hash = message.hash or (target.hash if target and unnamed else None)
    decision = (
        c.Approve(
            version=version,
            hash=content_hash,
            action_id=message.action_id,
            preapprove=message.preapprove,
            start=message.start,
        )
        if message.approved
        else c.Reject(version=version, action_id=message.action_id, reason=message.reason)
    )
    if not message.remember:
        asks = message.reason.strip() and not message.approved and review_target(session) in ("text", "code")
        return (decision, c.Say(text=message.reason, feedback=True)) if asks else (decision,)
    policy: ToolPolicy = "never" if message.approved else "deny"
    return decision, c.Remember(tool=_tool_to_remember(message, session), policy=policy)


def _approved_version(message: m.Approval, session: Session, target: ApprovalTarget | None) -> int:
    """The version that is approved or rejected: the one named, else the one on the screen."""
    if message.version is not None:
        return message.version
    if message.action_id is not None:
        return session.version
    if target is None:
        raise ApiError(
            "nothing_shown",
            "Nothing has been shown here that could be approved.",
            "Resume the session first, or name the version.",
        )
    actions = review_target(session) == "actions"
    if session.phase == "awaiting_approval" and actions != (target.kind == "actions"):
        raise ApiError("stale_version", "Something else is in review now.", "Look at it and decide again.")
    return target.version


def _tool_to_remember(message: m.Approval, session: Session) -> str:
    waiting = undecided_actions(session.turn)
    action = find_action(session, message.action_id) if message.action_id else waiting[0] if len(waiting) == 1 else None
    if action is None:
        raise Invalid("`remember` goes with the approval of an action: name it with action_id.")
    return asked_tool(action.spec)


def _feedback(message: m.Feedback, session: Session) -> c.Say:
    if not session.is_awaiting_user and session.phase not in SERVICE_OF:
        raise OutOfTurn("Nothing is in review and no service is working: send a user_message instead.")
    return c.Say(text=message.content, feedback=True)


def _edit(message: m.Edit, session: Session, tools: Tools, flows: FlowPage) -> c.EditPlan | c.EditCode:
    if message.target == "code":
        if message.content is None:
            raise Invalid("An edit of the code carries the whole program in `content`.")
        return c.EditCode(base=message.version, code=message.content)
    edit = _edited_plan(message, session)
    plan = session.plan
    if plan and plan.task and edit.base == plan.version:
        return edited_steps(edit, tools, session=session, allowed=session.settings.tools)
    if plan and path_of(plan) and edit.base == plan.version:
        return edited_plan(edit, plan, flows)
    return edit.model_copy(update={"steps": with_kept_ids(edit.steps, plan.steps if plan else ())})


def _edited_step(step: Step | str) -> Step:
    """A step of the client, without its claims about the tool's effect and policy."""
    return Step(text=step) if isinstance(step, str) else step.model_copy(update=WITHOUT_TOOL)


def _edited_plan(message: m.Edit, session: Session) -> c.EditPlan:
    if message.steps is not None:
        steps = tuple(_edited_step(step) for step in message.steps)
        return c.EditPlan(base=message.version, steps=steps, goal=message.goal, notes=message.notes)
    if message.content is None:
        raise Invalid("An edit of the plan carries `steps`, or the whole plan as text in `content`.")
    goal, steps, notes = read_plan(message.content, session.plan)
    return c.EditPlan(
        base=message.version,
        steps=steps,
        goal=goal if message.goal is None else message.goal,
        notes=notes if message.notes is None else message.notes,
    )


COMMANDS: Mapping[type[ClientMessage], CommandBuilder] = {
    m.UserMessage: _say,
    m.Approval: lambda message, at: _approval(message, at.session, at.target, at.tools),
    m.Feedback: lambda message, at: (_feedback(message, at.session),),
    m.Replan: lambda message, at: (c.Reject(version=message.version, replan=True, target=message.plan_type),),
    m.Edit: lambda message, at: (_edit(message, at.session, at.tools, at.flows),),
    **dict.fromkeys((m.QuestionReply, m.AnswerReply), lambda message, at: (answer_command(message, at.session),)),
    m.ContinueChoice: lambda message, at: (continue_command(message, at.session),),
    m.TakeOffer: lambda message, at: (c.TakeOffer(version=message.version),),
    m.KeepOffer: lambda message, at: (c.KeepOffer(version=message.version),),
    m.Complete: lambda message, at: (c.Complete(),),
    m.Run: lambda message, at: (c.Run(stdin=message.stdin, args=message.args),),
    m.Stop: lambda message, at: (c.Stop(reason=message.reason),),
    m.Pause: lambda message, at: (c.Pause(),),
    m.Unpause: lambda message, at: (c.Resume(),),
    m.Skip: lambda message, at: (
        c.Skip(action_id=message.action_id, output=message.output, with_dependents=message.with_dependents),
    ),
    m.Cancel: lambda message, at: (c.CancelPlan(),),
    m.DeletePlan: lambda message, at: (c.DeletePlan(),),
    m.Retry: lambda message, at: (c.Retry(),),
    m.TakeOver: _take_over,
    m.HandBack: _hand_back,
    m.EditPath: lambda message, at: (edited_path(message, at.session, at.flows),),
    m.Judge: lambda message, at: (c.Judge(accepted=message.accepted, saved=message.saved),),
    m.SaveToLibrary: lambda message, at: (c.Judge(accepted=True, saved=True),),
    m.Remember: lambda message, at: (c.Remember(tool=known_tool(message.tool, at.tools).name, policy=message.policy),),
    m.RaiseBudget: lambda message, at: (c.RaiseBudget(**message.model_dump(include=set(c.RaiseBudget.model_fields))),),
    Execute: lambda message, at: execution_commands(message, at.session),
    m.Rename: lambda message, at: (c.Rename(title=message.title),),
    m.ChooseWorkflow: _choose_workflow,
}
