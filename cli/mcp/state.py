"""A session as `parley mcp` presents it to an assistant: the sections of its screen that a user decides about."""

from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

from parley.client import Screen
from parley.protocol.pages import SessionRow
from parley.protocol.screen import ActionSection, OfferSection, QuestionSection, ScreenView
from parley.protocol.views import CodeView, PlanView

WaitsFor = Literal[
    "work",
    "offer",
    "plan_approval",
    "code_approval",
    "action_approval",
    "answer",
    "feedback",
    "take_over",
    "paused",
    "failed",
    "rest",
]


class McpModel(BaseModel):
    model_config = ConfigDict(frozen=True)


class SessionState(McpModel):
    """`waits_for`: "work" goes on by itself; else what the person is asked for, or why nothing goes on.

    `version`: of the session, which goes with the approval of an action; a plan, code and an offer have their own.
    `actions`: those that wait for approval. `offer`: while it is open, nothing but reads begins.
    """

    session_id: str
    version: int
    state: str
    waits_for: WaitsFor
    title: str
    request: str
    workflow: str
    plan: PlanView | None
    code: CodeView | None
    question: QuestionSection | None
    actions: tuple[ActionSection, ...]
    offer: OfferSection | None
    answer: str
    failure: str


class SessionItem(McpModel):
    session_id: str
    title: str
    state: str
    workflow: str
    updated_at: datetime

    @classmethod
    def of(cls, row: SessionRow) -> Self:
        return cls(
            session_id=row.id,
            title=row.title or row.request[:200],
            state=row.state,
            workflow=row.workflow,
            updated_at=row.updated_at,
        )


class Sessions(McpModel):
    sessions: tuple[SessionItem, ...]
    total: int


def state_of(session_id: str, screen: Screen) -> SessionState:
    view = screen.view
    return SessionState(
        session_id=session_id,
        version=screen.version,
        state=view.state,
        waits_for=_waits_for(view),
        title=view.title,
        request=view.request,
        workflow=view.workflow,
        plan=view.plan,
        code=view.code,
        question=view.question,
        actions=tuple(view.actions[name] for name in view.approval_request.actions) if view.approval_request else (),
        offer=view.offer,
        answer=view.answer.text if view.answer else "",
        failure=view.failure.reason if view.failure else "",
    )


def _waits_for(view: ScreenView) -> WaitsFor:
    """What the session waits for. "paused" comes last, because a user can also decide during a pause."""
    if view.reply:
        return "work"
    pending: dict[WaitsFor, object] = {
        "offer": view.offer,
        "failed": view.failure,
        "plan_approval": view.review and view.review.target == "plan",
        "code_approval": view.review and view.review.target == "code",
        "feedback": view.feedback_request,
        "answer": view.question,
        "action_approval": view.approval_request,
        "take_over": view.escalation,
        "rest": view.phase == "resting",
        "paused": view.paused,
        "work": view.work,
    }
    return next((kind for kind, applies in pending.items() if applies), "rest")
