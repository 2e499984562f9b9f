"""A session as `parley mcp` presents it to an assistant: only what a user needs in order to decide."""

from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, JsonValue

from parley.client import Screen
from parley.protocol.pages import SessionRow
from parley.protocol.screen import ActionSection, FurtherQuestionSection, QuestionSection, ScreenView
from shared.domain.plan_text import draft_text

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


class VersionedText(McpModel):
    """One version of the plan or of the code; `version` and `hash` go with an approval."""

    version: int
    hash: str
    status: str
    text: str


class WaitingAction(McpModel):
    """An action that waits for a yes; `version`, `hash` and `action_id` go with it. `why` it has to be asked for."""

    action_id: str
    version: int
    hash: str
    tool: str
    arguments: dict[str, JsonValue]
    effect: str
    text: str
    why: str


class McpQuestion(McpModel):
    """`several`: more than one of the options may be chosen."""

    question_id: str
    text: str
    options: tuple[str, ...]
    several: bool

    @classmethod
    def of(cls, asked: QuestionSection | FurtherQuestionSection) -> Self:
        return cls(question_id=asked.question_id, text=asked.content, options=asked.options, several=asked.several)


class McpOffer(McpModel):
    """What Parley offers in place of what waits or runs. `version` goes with the decision."""

    version: int
    text: str


class SessionState(McpModel):
    """`waits_for`: "work" goes on by itself; else what the person is asked for, or why nothing goes on.

    `further`: questions that follow the open one. An answer to it may hold theirs, too. `offer`: while it is open,
    nothing but reads begins.
    """

    session_id: str
    version: int
    state: str
    waits_for: WaitsFor
    title: str
    request: str
    workflow: str
    plan: VersionedText | None
    code: VersionedText | None
    question: McpQuestion | None
    further: tuple[McpQuestion, ...]
    actions: tuple[WaitingAction, ...]
    offer: McpOffer | None
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
    plan, code, question, request = view.plan, view.code, view.question, view.approval_request
    return SessionState(
        session_id=session_id,
        version=screen.version,
        state=view.state,
        waits_for=_waits_for(view),
        title=view.title,
        request=view.request,
        workflow=view.workflow,
        plan=plan and VersionedText(version=plan.version, hash=plan.hash, status=plan.status, text=plan.text),
        code=code and VersionedText(version=code.version, hash=code.hash, status=code.status, text=code.code),
        question=question and McpQuestion.of(question),
        further=tuple(map(McpQuestion.of, question.further)) if question else (),
        actions=tuple(_action(view.actions[row], screen.version) for row in request.actions) if request else (),
        offer=view.offer and McpOffer(version=view.offer.version, text=draft_text(view.offer.draft)),
        answer=view.answer.text if view.answer else "",
        failure=view.failure.reason if view.failure else "",
    )


def _action(action: ActionSection, version: int) -> WaitingAction:
    return WaitingAction(
        action_id=action.action_id,
        version=version,
        hash=action.hash,
        tool=action.tool,
        arguments=action.arguments,
        effect=action.effect,
        text=action.text,
        why=action.approval or "",
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
