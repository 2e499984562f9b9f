"""The verifier's application: `python -m services.verifier.app`."""

from collections.abc import Awaitable, Callable

from services.verifier import agentflow, conversation, execution_plan, flow
from shared.bus import Delivery
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, Turn
from shared.domain.transcript.sub_goals import actions_by_sub_goal
from shared.settings import Settings
from shared.worker import WorkContext, WorkerApplication, WorkerOverrides, serve, worker_application

JUDGES: dict[str, Callable[[WorkContext, Turn], Awaitable[c.VerifyTurn]]] = {
    "conversation": conversation.judge,
    "agentflow": agentflow.judge,
    "flow": flow.judge,
    "execution_plan": execution_plan.judge,
}
MAX_ANALYSIS = 2_000  # characters of each analysis


async def verify(context: WorkContext) -> c.VerifyCode | c.VerifyTurn:
    turn = context.session.turn
    if turn is None:
        return await conversation.check(context, context.session)
    verdict = await JUDGES.get(turn.workflow, agentflow.judge)(context, turn)
    return with_analyses(context.session, turn, verdict)


def with_analyses(session: Session, turn: Turn, verdict: c.VerifyTurn) -> c.VerifyTurn:
    """The verdict with both analyses; an existing analysis stays as it is."""
    execution = (
        verdict.execution_analysis.strip() or " ".join(_action_line(action) for action in turn.actions)[:MAX_ANALYSIS]
    )
    memory = verdict.memory_analysis.strip() or _memory_summary(session, turn, verdict)[:MAX_ANALYSIS]
    return verdict.model_copy(update={"execution_analysis": execution, "memory_analysis": memory})


def _action_line(action: Action) -> str:
    why = f" ({action.explanation})" if action.status != "finished" and action.explanation else ""
    return f"{action.spec.id} {action.spec.tool}: {action.shown_status}{why}."


def _memory_summary(session: Session, turn: Turn, verdict: c.VerifyTurn) -> str:
    """How many of the request's actions were carried out, and which sub-goals of other turns are open."""
    memory = session.memory
    ran = sum(action.status in ("finished", "failed", "uncertain") for action in turn.actions)
    planned = max(memory.planned, memory.executed + len(turn.actions))
    counts = f"{memory.executed + ran} of {planned} actions of this request were carried out."
    others = {sub_goal.goal for sub_goal in memory.sub_goals if sub_goal.status == "pending"} - {
        *actions_by_sub_goal(turn)
    }
    is_over = (verdict.status, verdict.next_action) == ("success", "complete")
    return f"{counts} Still open: {'; '.join(sorted(others))}." if others and not is_over else counts


def build(settings: Settings, parts: WorkerOverrides | None = None) -> WorkerApplication:
    app = worker_application("verifier", settings, parts)

    @app.broker.subscriber(durable="verifier")
    async def check(delivery: Delivery) -> None:
        """Judge the program, the run or the turn that is due."""
        await app.work(delivery, verify)

    return app


if __name__ == "__main__":
    serve(build(Settings()))
