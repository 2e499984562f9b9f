"""What REST takes about execution plans."""

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool

from parley.events.values import Line, Text
from parley.protocol.bounds import Hash, Preapproved, SentKnowledge, SentSteps, Settings, Words

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
        description="the id of a step; `s3[0]` is what it does for the first item of its list",
    ),
]
Version = Annotated[int, Field(ge=1, le=2**48, strict=True)]


class Asked(BaseModel):
    """`id` is your own id of this request: sent twice, it is done once. `timeout`: seconds to wait; 0: do not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    timeout: Annotated[float, Field(ge=0, le=600)] = 60


class Generate(Asked):
    """A request to make a plan for. The last four may stand in `settings`, too; the session keeps them.

    `generator`: the plan generator that makes it. `tools`: the only tools that the plan may call. `model`: the model
    that is asked, one that the operator configured. `instructions`: what every version of the plan is to keep to.
    """

    request: Text
    settings: Settings | None = None
    knowledge: SentKnowledge = ()
    generator: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    tools: Annotated[tuple[Line, ...], Field(min_length=1, max_length=500)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    instructions: Annotated[str, Field(min_length=1, max_length=20_000)] | None = None


class Store(Asked):
    """A plan of your own. Steps without an id get one."""

    description: Line
    steps: SentSteps
    notes: Words = ""
    settings: Settings | None = None


class Modify(Asked):
    """Either `feedback` for the planner, or `steps` of your own with the `version` that they are made from."""

    feedback: Text | None = None
    version: Version | None = None
    description: Line | None = None
    steps: SentSteps | None = None
    notes: Words | None = None


class Approve(Asked):
    """Exactly this version, with this content. It is carried out at once, or without `start` when it is executed.

    `preapprove`: the steps whose calls are allowed with whatever values their references get.
    """

    version: Version
    hash: Hash | None = None
    preapprove: Preapproved = ()
    start: Annotated[bool, Field(strict=True)] = True


class Skip(Asked):
    """A step is left out. `output`: given in its place, any JSON value but null. `with_dependents`: skip, too, the
    steps that refer to its output.
    """

    output: JsonValue = None
    with_dependents: StrictBool = False


class Execute(Asked):
    """To wait for the result. A plan that was approved and not started begins; one that stopped or failed goes on."""
