"""Plan and code: a plan in words is reviewed, a program is written for it, checked and reviewed, and run on request."""

from parley.events import facts
from shared.domain.kernel.session import Session, with_code, with_next_draft
from shared.domain.kernel.workflow import (
    PLAN_REVIEW,
    Edge,
    Workflow,
    repairable,
    replans,
    unread,
    unread_while_drafting,
)


def run_failed(session: Session, event: facts.TurnVerified) -> bool:
    """The run of the approved code failed, so the code is written again."""
    return event.next_action == "retry" and session.code is not None


def _run_judged(session: Session, event: facts.TurnVerified) -> Session:
    if not run_failed(session, event):
        return session
    return with_code(with_next_draft(session, problems=(event.reasoning,)), repairs=0)


CONVERSATION = Workflow(
    "conversation",
    after={
        **PLAN_REVIEW,
        "plan.approved": (Edge("coding"),),
        "code.drafted": (Edge("coding", unread_while_drafting), Edge("verifying")),
        "code.edited": (Edge("verifying"),),
        "code.verified": (Edge("coding", unread), Edge("coding", repairable), Edge("awaiting_approval")),
        "code.approved": (Edge("resting", rests="answered"),),
        "code.rejected": (Edge("coding", replans), Edge("awaiting_input")),
        "turn.requested": (Edge("first_batch"),),
        "turn.verified": (Edge("coding", run_failed), Edge("resting", rests="answered")),
    },
    plans="text",
    steps_call=False,
    judged=_run_judged,
)
