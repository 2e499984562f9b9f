"""What a client's message asks of the domain, given the session and what its screen shows. Pure."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from parley.events.values import SessionSettings, Step, Workflow
from parley.protocol import client as m
from parley.protocol.bounds import OwnPlan
from parley.protocol.client import ClientMessage
from parley.protocol.flows import FlowPage
from services.gateway.flows import NO_FLOWS, edited_path, edited_plan
from services.gateway.form_answers import answer_text
from services.gateway.plan_edits import check_current, edited_steps
from services.gateway.plan_text import read_plan
from services.gateway.tools import Tools, known, own_actions
from services.gateway.trouble import Trouble
from shared.domain import commands as c
from shared.domain.errors import Invalid, OutOfTurn
from shared.domain.people import PersonCommand
from shared.domain.session import SERVICE_OF, Session, put_back, reviewing, undecided
from shared.domain.state_names import OPTION_COMPLETE, OPTION_FEEDBACK, OPTION_RUN
from shared.domain.waves import find
from shared.domain.workflows import WORKFLOWS
from shared.domain.workflows.flow import path_of

WITHOUT_TOOL = dict.fromkeys(("effect", "policy", "waits_for", "fingerprint"))  # what a step records of its tool
NO_TOOLS: Tools = MappingProxyType({})

SessionMessage = (
    m.UserMessage
    | m.Approval
    | m.Feedback
    | m.Replan
    | m.Edit
    | m.QuestionReply
    | m.AnswerReply
    | m.ContinueChoice
    | m.Complete
    | m.Run
    | m.Stop
    | m.Pause
    | m.Unpause
    | m.Skip
    | m.Cancel
    | m.DeletePlan
    | m.Retry
    | m.TakeOver
    | m.HandBack
    | m.EditPath
    | m.Judge
    | m.Remember
    | m.RaiseBudget
    | m.Rename
    | m.ChooseWorkflow
    | m.SaveToLibrary
)


class Shown(NamedTuple):
    """What a screen last asked approval for: the version and content of a plan or of code, or actions."""

    kind: Literal["item", "actions"]
    version: int
    hash: str | None = None  # each action has its own


class Situation(NamedTuple):
    """What a message is read against. `tools` and `flows` are there for the messages that need them."""

    session: Session
    shown: Shown | None
    tools: Tools
    flows: FlowPage


Read = Callable[[Any, Situation], tuple[PersonCommand, ...]]


def to_commands(
    message: SessionMessage,
    session: Session,
    shown: Shown | None,
    tools: Tools = NO_TOOLS,
    flows: FlowPage = NO_FLOWS,
) -> tuple[PersonCommand, ...]:
    """The commands that carry this message out, in order. Raises Trouble or a Refused."""
    return COMMANDS[type(message)](message, Situation(session, shown, tools, flows))


def _say(message: m.UserMessage, at: Situation) -> tuple[PersonCommand, ...]:
    _available(message.workflow)
    if message.settings:
        _for_plans(message.settings, message.workflow or at.session.workflow, at.tools)
    said = c.Say(
        text=message.content,
        workflow=message.workflow,
        settings=message.settings,
        knowledge=message.knowledge,
        brings_plan=message.plan is not None,
    )
    return (said, _own_plan(message.plan, message.workflow, message.settings, at)) if message.plan else (said,)


def _for_plans(settings: SessionSettings, workflow: Workflow, tools: Tools) -> None:
    """Raises Invalid for settings of plans that act where there are none, and for tools that nobody knows."""
    if not (settings.tools or settings.instructions):
        return
    own = WORKFLOWS.get(workflow)
    if own is None or own.plans != "execution":
        raise Invalid(f"`tools` and `instructions` are for plans that act, not for the workflow “{workflow}”.")
    for name in settings.tools:
        known(name, tools)


def _own_plan(plan: OwnPlan, workflow: Workflow | None, settings: SessionSettings | None, at: Situation) -> c.EditPlan:
    """The plan that a request brings along, as a version of the plan that is not there yet."""
    own = WORKFLOWS[workflow or at.session.workflow]
    if own.plans not in ("text", "execution"):
        raise Invalid(f"A session of the workflow “{own.name}” takes no plan of your own.")
    steps = tuple(_edited_step(step) for step in plan.steps)
    edit = c.EditPlan(base=1, steps=steps, goal=plan.goal, notes=plan.notes)
    allowed = (at.session.settings if settings is None else settings).tools
    return edited_steps(edit, (), at.tools, allowed=allowed) if own.turn.by_step else edit


def _answer(message: m.QuestionReply | m.AnswerReply, at: Situation) -> c.Answer:
    return c.Answer(text=answer_text(at.session, message.content), action_id=message.question_id)


def _take_over(message: m.TakeOver, at: Situation) -> tuple[PersonCommand, ...]:
    _with_a_person(at.session)
    return (c.TakeOver(sub_goal=message.sub_goal, actions=own_actions(message.actions, at.session, at.tools)),)


def _hand_back(message: m.HandBack, at: Situation) -> tuple[PersonCommand, ...]:
    _with_a_person(at.session)
    return (c.Say(text=message.content),)


def _choose_workflow(message: m.ChooseWorkflow, at: Situation) -> tuple[PersonCommand, ...]:
    _available(message.workflow)
    return (c.ChooseWorkflow(workflow=message.workflow),)


def _available(workflow: Workflow | None) -> None:
    if workflow is not None and workflow not in WORKFLOWS:
        hint = f"These can be chosen: {', '.join(WORKFLOWS)}."
        raise Trouble("not_available", f"There is no workflow “{workflow[:80]}”.", hint)


def _with_a_person(session: Session) -> None:
    if session.phase != "escalated":
        raise OutOfTurn("A person takes over, and hands back, when the session is escalated to one.")


def _approval(message: m.Approval, session: Session, shown: Shown | None, tools: Tools) -> tuple[PersonCommand, ...]:
    if not message.approved and (message.preapprove or not message.start):
        raise Invalid("`preapprove` and `start` go with a yes.")
    if tools and approves_plan(message, session) and session.plan:
        check_current(session.plan.steps, tools)
    version = _meant(message, session, shown)
    unnamed = message.version is None and message.action_id is None
    content = message.hash or (shown.hash if shown and unnamed else None)
    given = (
        c.Approve(
            version=version,
            hash=content,
            action_id=message.action_id,
            preapprove=message.preapprove,
            start=message.start,
        )
        if message.approved
        else c.Reject(version=version, action_id=message.action_id, reason=message.reason)
    )
    if not message.remember:
        return (given,)
    return given, c.Remember(tool=_tool(message, session), policy="never" if message.approved else "deny")


def approves_plan(message: SessionMessage, session: Session) -> bool:
    """Whether this is the yes to a plan that acts."""
    plan = session.plan
    if plan is None or not plan.task or reviewing(put_back(session)) != "text" or not isinstance(message, m.Approval):
        return False
    return message.approved and message.action_id is None and message.version in (None, plan.version)


def _meant(message: m.Approval, session: Session, shown: Shown | None) -> int:
    """The version that is approved or refused: the one named, else the one on the screen; an action goes by its id."""
    if message.version is not None:
        return message.version
    if message.action_id is not None:
        return session.version
    if shown is None:
        raise Trouble(
            "nothing_shown",
            "Nothing has been shown here that could be approved.",
            "Resume the session first, or name the version.",
        )
    actions = reviewing(session) == "actions"
    if session.phase == "awaiting_approval" and actions != (shown.kind == "actions"):
        raise Trouble("stale_version", "Something else is in review now.", "Look at it and decide again.")
    return shown.version


def _tool(message: m.Approval, session: Session) -> str:
    waiting = undecided(session.turn)
    action = find(session, message.action_id) if message.action_id else waiting[0] if len(waiting) == 1 else None
    if action is None:
        raise Invalid("`remember` goes with the approval of an action: name it with action_id.")
    return action.spec.tool


def _skip(message: m.Skip) -> c.Skip:
    return c.Skip(action_id=message.action_id, output=message.output, with_dependents=message.with_dependents)


def _feedback(message: m.Feedback, session: Session) -> c.Say:
    if not session.asking and session.phase not in SERVICE_OF:
        raise OutOfTurn("Nothing is in review and no work goes on: send a user_message instead.")
    return c.Say(text=message.content, feedback=True)


def _edit(message: m.Edit, session: Session, tools: Tools, flows: FlowPage) -> c.EditPlan | c.EditCode:
    if message.target == "code":
        if message.content is None:
            raise Invalid("An edit of the code carries the whole program in `content`.")
        return c.EditCode(base=message.version, code=message.content)
    edit = _edited_plan(message, session)
    plan = session.plan
    if plan and plan.task and edit.base == plan.version:
        return edited_steps(edit, plan.steps, tools, allowed=session.settings.tools)
    return edited_plan(edit, plan, flows) if plan and path_of(plan) and edit.base == plan.version else edit


def _edited_step(step: Step | str) -> Step:
    """What a step does to the world is not for a client to say."""
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


def _continue(message: m.ContinueChoice) -> PersonCommand:
    """One of the options, whatever its case; nothing asks what to do next; any other text is a new request."""
    options: dict[str, PersonCommand] = {
        "": c.Continue(),
        OPTION_FEEDBACK.lower(): c.Continue(),
        OPTION_RUN.lower(): c.Run(),
        OPTION_COMPLETE.lower(): c.Complete(),
    }
    content = message.content.strip()
    return options.get(content.lower()) or c.Say(text=content)


COMMANDS: Mapping[type[ClientMessage], Read] = {
    m.UserMessage: _say,
    m.Approval: lambda message, at: _approval(message, at.session, at.shown, at.tools),
    m.Feedback: lambda message, at: (_feedback(message, at.session),),
    m.Replan: lambda message, at: (c.Reject(version=message.version, replan=True, target=message.plan_type),),
    m.Edit: lambda message, at: (_edit(message, at.session, at.tools, at.flows),),
    m.QuestionReply: lambda message, at: (_answer(message, at),),
    m.AnswerReply: lambda message, at: (_answer(message, at),),
    m.ContinueChoice: lambda message, at: (_continue(message),),
    m.Complete: lambda message, at: (c.Complete(),),
    m.Run: lambda message, at: (c.Run(stdin=message.stdin, args=message.args),),
    m.Stop: lambda message, at: (c.Stop(reason=message.reason),),
    m.Pause: lambda message, at: (c.Pause(),),
    m.Unpause: lambda message, at: (c.Resume(),),
    m.Skip: lambda message, at: (_skip(message),),
    m.Cancel: lambda message, at: (c.CancelPlan(),),
    m.DeletePlan: lambda message, at: (c.DeletePlan(),),
    m.Retry: lambda message, at: (c.Retry(),),
    m.TakeOver: _take_over,
    m.HandBack: _hand_back,
    m.EditPath: lambda message, at: (edited_path(message, at.session, at.flows),),
    m.Judge: lambda message, at: (c.Judge(accepted=message.accepted, saved=message.saved),),
    m.SaveToLibrary: lambda message, at: (c.Judge(accepted=True, saved=True),),
    m.Remember: lambda message, at: (c.Remember(tool=known(message.tool, at.tools).name, policy=message.policy),),
    m.RaiseBudget: lambda message, at: (c.RaiseBudget(**message.model_dump(include=set(c.RaiseBudget.model_fields))),),
    m.Rename: lambda message, at: (c.Rename(title=message.title),),
    m.ChooseWorkflow: _choose_workflow,
}
