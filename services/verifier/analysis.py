"""What a verdict says of the turn and of what is remembered, where a model did not: as it was recorded. Pure."""

from shared.domain import commands as c
from shared.domain.session import Session
from shared.domain.state import Action, Turn

LONGEST = 2_000  # characters of either text


def analysed(session: Session, turn: Turn, verdict: c.VerifyTurn) -> c.VerifyTurn:
    """The verdict with both analyses; one that a model or a rule wrote stays as it is."""
    did = verdict.execution_analysis.strip() or " ".join(_did(action) for action in turn.actions)[:LONGEST]
    holds = verdict.memory_analysis.strip() or _holds(session, turn)[:LONGEST]
    return verdict.model_copy(update={"execution_analysis": did, "memory_analysis": holds})


def _did(action: Action) -> str:
    why = f" ({action.explanation})" if action.status != "finished" and action.explanation else ""
    return f"{action.spec.id} {action.spec.tool}: {action.shown_status}{why}."


def _holds(session: Session, turn: Turn) -> str:
    """How much was carried out for the request, and how its sub-goals stand."""
    memory = session.memory
    ran = sum(action.status in ("finished", "failed", "uncertain") for action in turn.actions)
    planned = max(memory.planned, memory.executed + len(turn.actions))
    counts = f"{memory.executed + ran} of {planned} actions of this request were carried out."
    goals = "; ".join(f"{one.goal} ({one.status})" for one in memory.sub_goals if one.goal)
    return f"{counts} Sub-goals before this verdict: {goals}." if goals else counts
