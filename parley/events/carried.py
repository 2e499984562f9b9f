"""What a fork takes over from its parent, so that folding the fork does not need the parent."""

from typing import Annotated

from pydantic import Field, JsonValue

from parley.events.values import (
    Check,
    EntryKind,
    FileRef,
    Knowledge,
    Line,
    PathPlan,
    PlanKind,
    SessionSettings,
    Speaker,
    Steps,
    Stored,
    Subject,
    Subjects,
    Text,
    TimeZone,
    Workflow,
    is_empty,
    is_none,
)


class CarriedEntry(Stored):
    """An entry of the parent's transcript."""

    by: Speaker = Field(description="who said it or did it")
    kind: EntryKind = Field(description="what was said or done")
    text: str = Field(description="the words; what a service said is its reply as JSON")


class CarriedPlan(Stored):
    """The parent's plan. In the fork it is a task of its own: steps that the parent has run or runs do not count
    for it."""

    kind: PlanKind = Field(
        "text", description="`text`: sentences; `path`: nodes of a flow; `execution`: calls of tools"
    )
    goal: Text = Field(description="what the plan is for, in a sentence")
    steps: Steps = Field(description="what to do, in order")
    notes: str = Field("", description="anything the steps do not say")
    author: Line = Field(description="the actor that drafted or edited it")
    path: PathPlan | None = Field(
        None, description="the path through nodes of flows; none: the plan does not walk a flow"
    )
    task: Annotated[
        str,
        Field(
            max_length=32,
            exclude_if=is_empty,
            description="of an execution plan: the parent's task id; the fork's own differs",
        ),
    ] = ""
    checks: Annotated[tuple[Check, ...], Field(exclude_if=is_empty, description="checks, with their results")] = ()
    wishes: Annotated[
        tuple[str, ...], Field(exclude_if=is_empty, description="what the person wants of the program beside the plan")
    ] = ()


class CarriedCode(Stored):
    """The code of the carried plan, with its checks and the tests that were written for it."""

    code: Text = Field(description="the whole program")
    explanation: str = Field("", description="what the generator says about it")
    author: Line = Field(description="the actor that drafted or edited it")
    checks: tuple[Check, ...] = Field((), description="checks, with their results")
    tests: str = Field("", description="the tests that were written from the plan")


class Carried(Stored):
    """Everything that the fork begins with. It names no artefact, so purging the parent takes nothing from the fork."""

    title: Annotated[str, Field(max_length=500, description="the session's title")] = ""
    workflow: Workflow = Field("conversation", description="the name of the workflow that the session follows")
    settings: SessionSettings = Field(SessionSettings(), description="what the session may do")
    time_zone: TimeZone | None = Field(
        None, exclude_if=is_none, description="the IANA name of the person's time zone, where it is known"
    )
    knowledge: tuple[Knowledge, ...] = Field((), description="texts and files that came with the request")
    request: str = Field("", description="the request that the session works on")
    transcript: Annotated[
        tuple[CarriedEntry, ...], Field(exclude_if=is_empty, description="the parent's transcript, oldest first")
    ] = ()
    unread: tuple[str, ...] = Field((), description="messages sent during work that no draft has used yet")
    plan: CarriedPlan | None = Field(None, description="the parent's plan; it is in review again")
    plan_number: int = Field(
        0,
        ge=0,
        description="how many versions of the plan the parent had; the plan is the last of them, and the "
        "next gets the next number",
    )
    code: CarriedCode | None = Field(None, description="the program of this plan; it is in review again")
    code_number: int = Field(
        0, ge=0, description="how many versions of the program the parent had; the program is the last of them"
    )
    answer: str = Field("", description="the answer to the request, if there is one")
    confidence: float = Field(0, ge=0, le=1, description="how sure the answer is, 0 to 1")
    flow_states: dict[str, tuple[dict[str, JsonValue], ...]] = Field(
        default_factory=dict, description="by flow, what its earlier paths produced, the newest last"
    )
    subject: Annotated[Subject, Field(exclude_if=is_empty, description="whom the parent is about, if known")] = ""
    subjects: Subjects = Field(
        "several",
        exclude_if=lambda subjects: subjects == "several",
        description="whether the parent can be about somebody; left out if about several",
    )
    files: Annotated[dict[str, FileRef], Field(exclude_if=is_empty)] = Field(
        default_factory=dict,
        description="by name, the session's files, whose bytes are stored under the fork's own name before "
        "this event; absent where there are none",
    )
