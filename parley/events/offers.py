"""What an offer holds: a draft of a plan, a program or a turn, with the fields of the event that taking it makes."""

from typing import Annotated, Literal

from pydantic import Field

from parley.events.values import (
    ActionSpec,
    Check,
    Line,
    PathPlan,
    PlanKind,
    Steps,
    Stored,
    TellsSubjects,
    Text,
    is_empty,
)


class OfferedPlan(Stored):
    """A plan. Its fields are those of `plan.drafted`."""

    type: Literal["plan"] = "plan"
    kind: PlanKind = Field(
        "text", description="`text`: sentences; `path`: nodes of a flow; `execution`: calls of tools"
    )
    goal: Text = Field(description="what the plan is for, in a sentence")
    steps: Steps = Field(description="what to do, in order")
    notes: str = Field("", description="anything the steps do not say")
    path: PathPlan | None = Field(
        None, description="the path through nodes of flows; none: the plan does not walk a flow"
    )
    checks: Annotated[tuple[Check, ...], Field(exclude_if=is_empty, description="checks, with their results")] = ()
    reason: Annotated[
        str, Field(max_length=500, exclude_if=is_empty, description="the person's words that led to it")
    ] = ""
    drops: Annotated[
        tuple[Text, ...],
        Field(exclude_if=is_empty, description="steps of the person's own that this version leaves out, in words"),
    ] = ()
    tells_subjects: TellsSubjects = False


class OfferedCode(Stored):
    """A program. Its fields are those of `code.drafted`."""

    type: Literal["code"] = "code"
    code: Text = Field(description="the whole program")
    explanation: str = Field("", description="what the generator says about it")
    wish: Annotated[str, Field(exclude_if=is_empty, description="what the person wants that the plan does not say")] = (
        ""
    )


class OfferedTurn(Stored):
    """A turn. Its fields are those of `turn.planned`; the ids of its actions are given when it is taken."""

    type: Literal["turn"] = "turn"
    sub_goal: Text = Field(description="what the turn is for")
    actions: Annotated[tuple[ActionSpec, ...], Field(max_length=100, description="the tool calls of the turn")]
    selected_tool: str = Field("", description="the tool that the planner chose first")
    reasoning: str = Field("", description="why the planner chose these actions")
    sub_goals: Annotated[
        tuple[Line, ...],
        Field(max_length=100, description="the sub-goals of the request that remain, in order, this turn's included"),
    ] = ()
    final: bool = Field(False, description="true: the request is fulfilled when these actions succeed")
    path: PathPlan | None = Field(
        None, description="the path through nodes of flows; none: the plan does not walk a flow"
    )
    tells_subjects: TellsSubjects = False


OfferedDraft = Annotated[OfferedPlan | OfferedCode | OfferedTurn, Field(discriminator="type")]
