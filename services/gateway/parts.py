"""The parts of a session as clients see them: plan, code, turn, memory, answer, failure. Pure."""

from shared.domain.session import Session
from shared.domain.state import Action, Code, Plan, Verdict
from shared.protocol import server as s


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
        text=action.spec.text,
        effect=action.spec.effect,
        status=action.status,
        approval=action.spec.approval,
        hash=action.hash,
        result=action.result,
        error=action.error,
        depends_on=action.spec.depends_on,
        repairs=action.spec.repairs,
        ruling=action.spec.ruling,
        why=action.spec.why,
        seconds=action.seconds,
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
    )


def memory_view(session: Session) -> s.MemoryView:
    memory = session.memory
    return s.MemoryView(
        turns=session.turns - session.turns_before,
        max_turns=session.settings.max_turns,
        sub_goals=tuple(s.SubGoalView(goal=each.goal, status=each.status) for each in memory.sub_goals),
        recalled=memory.recalled,
        planned=memory.planned,
        executed=memory.executed,
    )


def answer_view(session: Session) -> s.AnswerView | None:
    """None until there is one."""
    if not session.answer:
        return None
    return s.AnswerView(text=session.answer, confidence=session.confidence, evidence=session.evidence)


def failure_view(session: Session) -> s.FailureView | None:
    failure = session.failure
    if failure is None:
        return None
    return s.FailureView(stage=failure.stage, reason=failure.reason, retryable=failure.retryable, raw=failure.raw)
