"""A session as `parley mcp` tells it to an assistant: no more than it takes to show a person what is to be decided."""

from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, JsonValue

from parley.client import Screen
from parley.protocol.pages import SessionRow
from parley.protocol.screen import ActionSection, ScreenView

Wait = Literal[
    "work",
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


class Told(BaseModel):
    model_config = ConfigDict(frozen=True)


class Item(Told):
    """One version of the plan or of the code; `version` and `hash` go with an approval."""

    version: int
    hash: str
    status: str
    text: str


class WaitingAction(Told):
    """An action that waits for a yes; `version`, `hash` and `action_id` go with it. `why` it has to be asked for."""

    action_id: str
    version: int
    hash: str
    tool: str
    arguments: dict[str, JsonValue]
    effect: str
    text: str
    why: str


class Question(Told):
    question_id: str
    text: str
    options: tuple[str, ...]


class SessionState(Told):
    """`waits_for`: "work" goes on by itself; else what the person is asked for, or why nothing goes on."""

    session_id: str
    version: int
    state: str
    waits_for: Wait
    title: str
    request: str
    workflow: str
    plan: Item | None
    code: Item | None
    question: Question | None
    actions: tuple[WaitingAction, ...]
    answer: str
    failure: str


class Summary(Told):
    session_id: str
    title: str
    state: str
    workflow: str
    updated_at: datetime

    @classmethod
    def of(cls, one: SessionRow) -> Self:
        return cls(
            session_id=one.id,
            title=one.title or one.request[:200],
            state=one.state,
            workflow=one.workflow,
            updated_at=one.updated_at,
        )


class Sessions(Told):
    sessions: tuple[Summary, ...]
    total: int


def state_of(session_id: str, screen: Screen) -> SessionState:
    view = screen.view
    plan, code, question, asked = view.plan, view.code, view.question, view.approval_request
    return SessionState(
        session_id=session_id,
        version=screen.version,
        state=view.state,
        waits_for=_waits_for(view),
        title=view.title,
        request=view.request,
        workflow=view.workflow,
        plan=plan and Item(version=plan.version, hash=plan.hash, status=plan.status, text=plan.text),
        code=code and Item(version=code.version, hash=code.hash, status=code.status, text=code.code),
        question=question
        and Question(question_id=question.question_id, text=question.content, options=question.options),
        actions=tuple(_action(view.actions[one], screen.version) for one in asked.actions) if asked else (),
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


def _waits_for(view: ScreenView) -> Wait:
    """Paused work is told as such only where no person is asked: a decision can be made in a pause, too."""
    pending: dict[Wait, object] = {
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
    return next((kind for kind, there in pending.items() if there), "rest")
