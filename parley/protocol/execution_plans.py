"""What is told of execution plans over REST."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from parley.events.values import Check, Effect, Step
from parley.protocol.screen import PollView
from parley.protocol.tools import Preview

TaskStatus = Literal["draft", "pending_approval", "approved", "executing", "paused", "completed", "failed", "cancelled"]


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class PlanStep(Answer):
    """A step and what has come of it. `number` is its place, from 1; `id` stays in all versions of the plan.

    `preapprovable`: an approval may allow its calls before the values of its references are known. `preapproved`: one
    did. `poll`: how a step stands that polls. `given`: it was skipped, and a person gave this `output` in its place.
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
    preapprovable: bool = False
    preapproved: bool = False
    poll: PollView | None = None
    given: bool = False


class Progress(Answer):
    """How far a plan has come, by the ids of its steps.

    `running`: begun, and without a known outcome; it is recorded in any case. `not_done`: still to be done, failed, or
    skipped. `text`: the same in words.
    """

    done: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    not_done: tuple[str, ...] = ()
    text: str = ""


class ExecutionPlan(Answer):
    """An execution plan as it stands. An approval names `version` and `hash`.

    `working`: a service is at it. `question`: what a person is asked. `problem`: why it could not go on. `result`: what
    the plan came to, in words.
    `user_approved`: a person approved this version, and not the session's settings; nobody can set it. `text`: the plan
    with its steps, to be read.
    `reply`: what the planner answered in words to what was said last; "" where it made a version instead.
    `current`: it is the session's newest task; an earlier one stands as when the next began, and can only be read.
    `checks`: how this version was held against the tools there are. One whose `ok` is None has notes in its `detail`.
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
    checks: tuple[Check, ...] = ()
    progress: Progress = Progress()
    reply: str = ""


class PlanVersion(Answer):
    """A version of a plan. `reason`: the person's words that led to it; "" for an edit, which is its author's own."""

    version: int
    number: int
    by: str
    at: datetime
    reason: str = ""


class ChangedStep(Answer):
    """A step in two versions of a plan; `old` and `new` are its numbers, None where it is not there."""

    kind: str
    old: int | None
    new: int | None
    before: Step | None
    after: Step | None
    status: str | None = None


class PlanDifference(Answer):
    """What changed between two versions of a plan, a step at a time, and who made them, and why."""

    old: int
    new: int
    steps: tuple[ChangedStep, ...]
    unified: str
    origins: tuple[PlanVersion, ...] = ()


class PlanStatus(Answer):
    """`steps`: the status of each, by id."""

    task_id: str
    status: TaskStatus
    steps: dict[str, str]


class PlanPreviews(Answer):
    """What the plan's changes would make of what is there now (`at`), by the step's id.

    A step is absent that has begun, that refers to what others give, or whose tool cannot tell or did not answer in
    time. `left_out` counts those that were not looked up because there are too many.
    """

    version: int | None
    at: datetime
    steps: dict[str, Preview]
    left_out: int = 0


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
