"""What a fork takes over from its parent, so that nobody needs the parent to fold the fork."""

from typing import Annotated

from pydantic import Field, JsonValue

from parley.events.values import (
    Check,
    FileRef,
    Knowledge,
    Line,
    PathPlan,
    PlanKind,
    SessionSettings,
    Steps,
    Stored,
    Text,
    Workflow,
    is_empty,
)


class EarlierRound(Stored):
    """An earlier request, and what became of it: both by their beginnings."""

    request: str
    outcome: str


class CarriedPlan(Stored):
    """The parent's plan; `author` is the actor that drafted or edited it, `task` that of an execution plan.

    The fork's plan is a task of its own: what the parent has done, or does, is none of it.
    """

    kind: PlanKind = "text"
    goal: Text
    steps: Steps
    notes: str = ""
    author: Line
    path: PathPlan | None = None
    task: Annotated[str, Field(max_length=32, exclude_if=is_empty)] = ""
    checks: Annotated[tuple[Check, ...], Field(exclude_if=is_empty)] = ()


class CarriedCode(Stored):
    """The program of the carried plan, with its checks and the tests that were written for it."""

    code: Text
    explanation: str = ""
    author: Line
    checks: tuple[Check, ...] = ()
    tests: str = ""


class Carried(Stored):
    """All that the fork begins with. It names no artefact, so a purge of the parent takes nothing from the fork.

    `plan_number` and `code_number` count the versions that the parent had. A carried plan or program is the newest of
    them, and the fork's next one gets the next number.
    `feedback` is what the next draft must take in, `unread` what nobody has looked at yet.
    `flow_states` tells, by flow, what earlier paths produced. `files`, by name: the session's files, whose bytes are
    stored under the fork's own name before this event.
    """

    title: Annotated[str, Field(max_length=500)] = ""
    workflow: Workflow = "conversation"
    settings: SessionSettings = SessionSettings()
    knowledge: tuple[Knowledge, ...] = ()
    request: str = ""
    rounds: tuple[EarlierRound, ...] = ()
    feedback: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    plan: CarriedPlan | None = None
    plan_number: int = Field(0, ge=0)
    code: CarriedCode | None = None
    code_number: int = Field(0, ge=0)
    answer: str = ""
    confidence: float = Field(0, ge=0, le=1)
    flow_states: dict[str, tuple[dict[str, JsonValue], ...]] = Field(default_factory=dict)
    files: Annotated[dict[str, FileRef], Field(exclude_if=is_empty)] = Field(default_factory=dict)  # format 2
