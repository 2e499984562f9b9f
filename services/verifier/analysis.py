"""Fills in a verdict's analyses from what was recorded, where no model wrote them. Pure."""

from shared.domain import commands as c
from shared.domain.session import Session
from shared.domain.state import Action, Turn

MAX_ANALYSIS = 2_000  # characters of each analysis


def with_analyses(session: Session, turn: Turn, verdict: c.VerifyTurn) -> c.VerifyTurn:
    """The verdict with both analyses; an existing analysis stays as it is."""
    execution = (
        verdict.execution_analysis.strip() or " ".join(_action_line(action) for action in turn.actions)[:MAX_ANALYSIS]
    )
    memory = verdict.memory_analysis.strip() or _memory_summary(session, turn)[:MAX_ANALYSIS]
    return verdict.model_copy(update={"execution_analysis": execution, "memory_analysis": memory})


def _action_line(action: Action) -> str:
    why = f" ({action.explanation})" if action.status != "finished" and action.explanation else ""
    return f"{action.spec.id} {action.spec.tool}: {action.shown_status}{why}."


def _memory_summary(session: Session, turn: Turn) -> str:
    """How many of the request's actions were carried out, and the states of its sub-goals."""
    memory = session.memory
    ran = sum(action.status in ("finished", "failed", "uncertain") for action in turn.actions)
    planned = max(memory.planned, memory.executed + len(turn.actions))
    counts = f"{memory.executed + ran} of {planned} actions of this request were carried out."
    goals = "; ".join(f"{sub_goal.goal} ({sub_goal.status})" for sub_goal in memory.sub_goals if sub_goal.goal)
    return f"{counts} Sub-goals before this verdict: {goals}." if goals else counts
