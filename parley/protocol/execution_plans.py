"""What is told of execution plans over REST."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from parley.events.values import Effect

TaskStatus = Literal["draft", "pending_approval", "approved", "executing", "paused", "completed", "failed", "cancelled"]


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class PlanStep(Answer):
    """A step and what has come of it. `number` is its place, from 1; `id` stays in all versions of the plan.

    `until`: when a step that waits for a time goes on.
    """

    id: str
    number: int
    tool: str
    description: str
    parameters: dict[str, JsonValue]
    after: tuple[str, ...]
    for_each: str | None = None
    effect: Effect | None
    status: str
    attempt: int
    output: JsonValue
    error: str
    seconds: float
    until: datetime | None = None


class ExecutionPlan(Answer):
    """An execution plan as it stands. An approval names `version` and `hash`.

    `working`: a service is at it. `question`: what a person is asked. `problem`: why it could not go on. `result`: what
    the plan came to, in words.
    `user_approved`: a person approved this version; nobody can set it. `text`: the plan with its steps, to be read.
    `current`: it is the session's newest task; an earlier one stands as when the next began, and can only be read.
    """

    task_id: str
    session_id: str
    version: int | None
    number: int | None
    hash: str | None
    description: str
    notes: str
    steps: tuple[PlanStep, ...]
    status: TaskStatus
    user_approved: bool
    created_at: datetime | None
    updated_at: datetime | None
    working: bool
    question: str
    problem: str
    result: str
    text: str
    current: bool = True


class PlanStatus(Answer):
    """`steps`: the status of each, by id."""

    task_id: str
    status: TaskStatus
    steps: dict[str, str]


class PlanLine(Answer):
    """A plan in a list: `task_id` names the newest plan of its session; in the list of a session, this task's."""

    task_id: str
    version: int
    description: str
    status: str
    steps: int
    updated_at: datetime


class PlanList(Answer):
    plans: tuple[PlanLine, ...]
    total: int
