"""Views of a session's parts for clients: plan, code, turn, path, memory, answer, failure. Pure."""

from collections.abc import Sequence

from parley.events.values import PathPlan
from parley.protocol import server as s
from shared.domain.flow_paths import OPEN_STATUSES
from shared.domain.session import Session
from shared.domain.state import Action, Code, Plan, Verdict
from shared.domain.workflows.flow import path_of
from shared.flows import PERSON_NODE, group_by_flow, split_tool_name

IN_REVIEW = ("draft", "pending_approval", "rejected")  # a plan whose path has not started


def plan_view(plan: Plan | None) -> s.PlanView | None:
    return s.PlanView.model_validate(plan) if plan else None


def code_view(code: Code | None) -> s.CodeView | None:
    return s.CodeView.model_validate(code) if code else None


def action_view(action: Action) -> s.ActionView:
    return s.ActionView(
        action_id=action.spec.id,
        tool=action.spec.tool,
        arguments=action.spec.arguments,
        text=action.spec.description,
        sub_goal=action.spec.sub_goal,
        effect=action.spec.effect,
        status=action.shown_status,
        approval=action.spec.approval_reason,
        hash=action.hash,
        result=action.result,
        error=action.explanation,
        depends_on=action.spec.depends_on,
        repairs=action.spec.repairs,
        ruling=action.spec.decision,
        why=action.spec.decision_reason,
        seconds=action.seconds,
        tokens=action.tokens,
        artefact=action.artefact,
    )


def turn_view(session: Session) -> s.TurnView | None:
    turn = session.turn
    if turn is None:
        return None
    return s.TurnView(
        number=turn.number,
        sub_goal=turn.sub_goal,
        actions=tuple(map(action_view, turn.actions)),
        by=turn.by,
        verdict=verdict_view(turn.verdict),
        selected_tool=turn.selected_tool,
        required_skills=turn.required_skills,
        reasoning=turn.reasoning,
        final=turn.final,
    )


def path_view(session: Session) -> s.PathView | None:
    """The running path, or the one in review; None if there is none."""
    turn, plan = session.turn, session.plan
    if turn and (path := path_of(turn)):
        nodes = [action for action in turn.actions if split_tool_name(action.spec.tool)[1] != PERSON_NODE]
        started = [action for action in nodes if action.status not in (*OPEN_STATUSES, "skipped", "denied")]
        remaining = tuple(action.spec.tool for action in nodes if action.status in OPEN_STATUSES)
        return _path(path, started, remaining)
    if plan and (path := path_of(plan)) and plan.status in IN_REVIEW:
        return _path(path, (), path.nodes)
    return None


def planned_path(plan: PathPlan | None) -> s.PlannedPathView | None:
    return s.PlannedPathView.model_validate(plan) if plan else None


def _path(plan: PathPlan, started: Sequence[Action], remaining: tuple[str, ...]) -> s.PathView:
    is_running = bool(started) and (started[-1].status != "finished" or not remaining)
    planned = dict(s.PlannedPathView.model_validate(plan))
    return s.PathView(
        flows=tuple(dict.fromkeys(flow for flow, _ in group_by_flow(plan.nodes))),
        planned_execution_path=plan.nodes,
        current_path_index=len(started) - is_running,
        walked=tuple(action.spec.tool for action in started),
        remaining=remaining,
        **{name: planned[name] for name in planned.keys() - {"nodes"}},
    )


def verdict_view(verdict: Verdict | None) -> s.VerdictView | None:
    return s.VerdictView.model_validate(verdict) if verdict else None


def memory_view(session: Session) -> s.MemoryView:
    memory = session.memory
    return s.MemoryView(
        turns=session.counts.turns - session.counts.turns_before,
        max_turns=session.settings.max_turns,
        sub_goals=tuple(s.SubGoalView(goal=sub_goal.goal, status=sub_goal.status) for sub_goal in memory.sub_goals),
        recalled=memory.recalled,
        planned=memory.planned,
        executed=memory.executed,
    )


def answer_view(session: Session) -> s.AnswerView | None:
    """The answer; None until there is one."""
    return s.AnswerView.model_validate(session.answer) if session.answer.text else None


def failure_view(session: Session) -> s.FailureView | None:
    return s.FailureView.model_validate(session.failure) if session.failure else None
