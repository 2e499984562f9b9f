"""Execution plans in the REST API."""

from datetime import datetime

from pydantic import JsonValue

from parley.events.values import Check, Effect, Step, TaskStatus
from parley.protocol.screen import OfferSection, PollView
from parley.protocol.tools import Preview
from parley.protocol.views import RestModel

TASK_ID = r"^[A-Za-z0-9_-]{1,64}(\.t[0-9]{1,15})?$"  # `<session>.<task>`; the session's id alone: its newest plan


class PlanStep(RestModel):
    """A step and its outcome. `number`: its position, from 1. `id` is the same in all versions of the plan.

    `preapprovable`: an approval may cover its calls before the values of its references are known; `preapproved`: one
    did. `poll`: set for a polling step. `given`: it was skipped, and a person gave this `output` instead. `until`: when
    a waiting step goes on.
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


class Progress(RestModel):
    """A plan's progress, as ids of its steps.

    `running`: started, without a known outcome yet. `not_done`: pending, failed, or skipped. `text`: the same in words.
    """

    done: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    not_done: tuple[str, ...] = ()
    text: str = ""


class ExecutionPlan(RestModel):
    """An execution plan. An approval names its `version` and `hash`.

    `working`: a service works on it. `question`: the open question. `problem`: why it could not go on. `result`: the
    answer in words. `text`: the plan with its steps as Markdown.
    `user_approved`: a person approved this version, not the session's settings.
    `reply`: the planner's reply to the last message; "" if it made a version instead. `offer`: what it offers in place
    of the plan that runs; nothing but reads begins before that is taken or turned down.
    `current`: it is the session's newest task. An earlier one is shown as it was when the next began, and is read-only.
    `checks`: checks of this version against the tools. One whose `ok` is None has notes in its `detail`.
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
    offer: OfferSection | None = None


class PlanVersion(RestModel):
    """A version of a plan. `reason`: the user's message that led to it; "" for an edit."""

    version: int
    number: int
    by: str
    at: datetime
    reason: str = ""


class ChangedStep(RestModel):
    """A step in two versions of a plan. `old` and `new` are its numbers, None in a version without it."""

    kind: str
    old: int | None
    new: int | None
    before: Step | None
    after: Step | None
    status: str | None = None


class PlanDifference(RestModel):
    """What changed between two versions of a plan, step by step, and who made the versions and why."""

    old: int
    new: int
    steps: tuple[ChangedStep, ...]
    unified: str
    origins: tuple[PlanVersion, ...] = ()


class PlanStatus(RestModel):
    """A plan's status. `steps`: the status of each step, by id."""

    task_id: str
    status: TaskStatus
    steps: dict[str, str]


class PlanPreviews(RestModel):
    """Previews of the plan's changes to the data as it is now (`at`), by step id.

    Steps are absent that have started, that refer to outputs of others, or whose tool has no preview or did not answer
    in time. `left_out` counts steps beyond the limit.
    """

    version: int | None
    at: datetime
    steps: dict[str, Preview]
    left_out: int = 0


class PlanLine(RestModel):
    """A plan in a list. `task_id` names its session's newest plan; in the list of one session, the task's own plan."""

    task_id: str
    version: int
    description: str
    status: str
    steps: int
    updated_at: datetime


class PlanList(RestModel):
    plans: tuple[PlanLine, ...]
    total: int
