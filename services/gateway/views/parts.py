"""The parts of a session as clients see them: plan, code, turn, path, memory, answer, failure. Pure."""

from collections.abc import Sequence

from parley.events.values import PathPlan
from parley.protocol import server as s
from parley.protocol.views import SubGoalVerdictView
from shared.domain.paths import OPEN
from shared.domain.session import Session
from shared.domain.state import Action, Code, Plan, Verdict
from shared.domain.workflows.flow import path_of
from shared.flows import PERSON, chains, split

IN_REVIEW = ("draft", "pending_approval", "rejected")  # a plan whose path has not begun


def plan_view(plan: Plan | None) -> s.PlanView | None:
    if plan is None:
        return None
    return s.PlanView(
        version=plan.version,
        number=plan.number,
        kind=plan.kind,
        goal=plan.goal,
        steps=plan.steps,
        notes=plan.notes,
        text=plan.text,
        hash=plan.hash,
        status=plan.status,
        by=plan.by,
        path=planned_path(plan.path),
        checks=plan.checks,
    )


def code_view(code: Code | None) -> s.CodeView | None:
    if code is None:
        return None
    return s.CodeView(
        version=code.version,
        number=code.number,
        plan_version=code.plan_version,
        code=code.code,
        explanation=code.explanation,
        hash=code.hash,
        status=code.status,
        by=code.by,
        checks=code.checks,
        tests=code.tests,
    )


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
    """The path that is walked, or that waits for a yes; None where there is none."""
    turn, plan = session.turn, session.plan
    if turn and (path := path_of(turn)):
        nodes = [action for action in turn.actions if split(action.spec.tool)[1] != PERSON]
        begun = [action for action in nodes if action.status not in (*OPEN, "skipped", "denied")]
        remaining = tuple(action.spec.tool for action in nodes if action.status in OPEN)
        return _path(path, begun, remaining)
    if plan and (path := path_of(plan)) and plan.status in IN_REVIEW:
        return _path(path, (), path.nodes)
    return None


def planned_path(plan: PathPlan | None) -> s.PlannedPathView | None:
    return s.PlannedPathView.model_validate(plan) if plan else None


def _path(plan: PathPlan, begun: Sequence[Action], remaining: tuple[str, ...]) -> s.PathView:
    at_work = bool(begun) and (begun[-1].status != "finished" or not remaining)
    how_planned = dict(s.PlannedPathView.model_validate(plan))
    return s.PathView(
        flows=tuple(dict.fromkeys(flow for flow, _ in chains(plan.nodes))),
        planned_execution_path=plan.nodes,
        current_path_index=len(begun) - at_work,
        walked=tuple(action.spec.tool for action in begun),
        remaining=remaining,
        **{name: how_planned[name] for name in how_planned.keys() - {"nodes"}},
    )


def verdict_view(verdict: Verdict | None) -> s.VerdictView | None:
    if verdict is None:
        return None
    return s.VerdictView(
        status=verdict.status,
        next_action=verdict.next_action,
        reasoning=verdict.reasoning,
        execution_analysis=verdict.execution_analysis,
        memory_analysis=verdict.memory_analysis,
        rule=verdict.rule,
        sub_goals=tuple(map(SubGoalVerdictView.model_validate, verdict.sub_goals)),
    )


def memory_view(session: Session) -> s.MemoryView:
    memory = session.memory
    return s.MemoryView(
        turns=session.counts.turns - session.counts.turns_before,
        max_turns=session.settings.max_turns,
        sub_goals=tuple(s.SubGoalView(goal=each.goal, status=each.status) for each in memory.sub_goals),
        recalled=memory.recalled,
        planned=memory.planned,
        executed=memory.executed,
    )


def answer_view(session: Session) -> s.AnswerView | None:
    """None until there is one."""
    if not session.answer.text:
        return None
    return s.AnswerView(
        text=session.answer.text,
        confidence=session.answer.confidence,
        evidence=session.answer.evidence,
        accepted=session.answer.accepted,
        saved=session.answer.saved,
    )


def failure_view(session: Session) -> s.FailureView | None:
    failure = session.failure
    if failure is None:
        return None
    return s.FailureView(stage=failure.stage, reason=failure.reason, retryable=failure.retryable, raw=failure.raw)
