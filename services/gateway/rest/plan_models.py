"""Request models of execution plans."""

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool

from parley.events.values import Line, Text
from parley.protocol.bounds import Hash, Preapproved, SentKnowledge, SentSteps, SentTimeZone, Settings, Words

TaskId = Annotated[
    str,
    Path(
        pattern=r"^[A-Za-z0-9_-]{1,64}(\.t[0-9]{1,15})?$",
        description="`<session>.<task>`; the session's id alone means its newest plan",
    ),
]
StepPath = Annotated[
    str,
    Path(
        pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}(\[[0-9]{1,3}\])?$",
        description="the id of a step; `s3[0]` is its call for the first item of its list",
    ),
]
Version = Annotated[int, Field(ge=1, le=2**48, strict=True)]


class TaskRequest(BaseModel):
    """`id` is your own id of this request: sent twice, it is carried out once. `timeout`: seconds to wait."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    timeout: Annotated[float, Field(ge=0, le=600)] = 60


class GenerateRequest(TaskRequest):
    """A request to make a plan for. The last four can be given in `settings` instead; the session keeps them.

    `generator`: the plan generator to use. `tools`: the only tools that the plan may call. `model`: the model to use,
    one that the operator configured. `instructions`: rules for every version of the plan.
    """

    request: Text
    settings: Settings | None = None
    knowledge: SentKnowledge = ()
    time_zone: SentTimeZone = None
    generator: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    tools: Annotated[tuple[Line, ...], Field(min_length=1, max_length=500)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    instructions: Annotated[str, Field(min_length=1, max_length=20_000)] | None = None


class StoreRequest(TaskRequest):
    """A plan of your own. Steps without an id get one."""

    description: Line
    steps: SentSteps
    notes: Words = ""
    settings: Settings | None = None
    time_zone: SentTimeZone = None


class ModifyRequest(TaskRequest):
    """Either `feedback` for the planner, or your own `steps` with the `version` that they are based on."""

    feedback: Text | None = None
    version: Version | None = None
    description: Line | None = None
    steps: SentSteps | None = None
    notes: Words | None = None


class ApproveRequest(TaskRequest):
    """The exact version to approve, with the hash of its content. It starts at once, or without `start` on `execute`.

    `preapprove`: steps whose calls are approved with any values that their references get.
    """

    version: Version
    hash: Hash | None = None
    preapprove: Preapproved = ()
    start: Annotated[bool, Field(strict=True)] = True


class SkipRequest(TaskRequest):
    """`output`: replaces the step's output; not null. `with_dependents`: also skip the steps that refer to it."""

    output: JsonValue = None
    with_dependents: StrictBool = False


class ExecuteRequest(TaskRequest):
    """Start an approved plan, and wait for its result. `retry`: continue one that failed, was stopped or is paused."""

    retry: StrictBool = False
