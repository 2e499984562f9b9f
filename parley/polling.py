"""Polling: a step calls a tool that only reads, repeatedly, until a condition on its result holds."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from parley.conditions import BadCondition, Condition
from parley.events.facts import MAX_POLL_TIME, MAX_POLLS, MIN_POLL_INTERVAL

OUTPUT = "output"  # the name of the complete result in a condition, as in a reference
DEFAULT_EVERY, DEFAULT_AT_MOST = 60, 3600  # seconds
MAX_VALUE = 8_000  # bytes of a polled result, as JSON


class Polling(BaseModel):
    """Call `tool` with `arguments` every so many seconds, until `condition` holds or `at_most` seconds are over."""

    model_config = ConfigDict(extra="forbid")

    tool: Annotated[str, Field(description="The name of a tool that only reads.", min_length=1, max_length=500)]
    arguments: Annotated[
        dict[str, JsonValue], Field(description="The arguments of its calls.", default_factory=dict, max_length=200)
    ]
    condition: Annotated[
        str,
        Field(
            description=(
                'What ends the wait, for instance: status == "delivered". Names are the fields of what the tool gives, '
                "and output is the whole of it. No reference may stand in it."
            ),
            min_length=1,
            max_length=500,
        ),
    ]
    every: Annotated[int, Field(description="Seconds between two polls.", ge=MIN_POLL_INTERVAL, le=MAX_POLL_TIME)] = (
        DEFAULT_EVERY
    )
    at_most: Annotated[
        int,
        Field(
            description="Seconds after which it gives up, and the step fails.", ge=MIN_POLL_INTERVAL, le=MAX_POLL_TIME
        ),
    ] = DEFAULT_AT_MOST

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if wrong := polls_problem(self.every, self.at_most) or condition_problem(self.condition):
            raise ValueError(wrong)
        return self


def polls_problem(every: int, at_most: int) -> str:
    """Why a step cannot poll at this interval for this long (both in seconds); "" if it can."""
    if not (MIN_POLL_INTERVAL <= every <= MAX_POLL_TIME and MIN_POLL_INTERVAL <= at_most <= MAX_POLL_TIME):
        return f"every and at_most are from {MIN_POLL_INTERVAL} to {MAX_POLL_TIME:,} seconds"
    if at_most <= MAX_POLLS * every:
        return ""
    return f"it would poll more than {MAX_POLLS:,} times: let it poll less often, or give up earlier"


def condition_problem(text: str) -> str:
    """Why this cannot be the condition of a step; "" if it can."""
    try:
        names = Condition(text).names
    except BadCondition as error:
        return f"the condition cannot be used: {error}"
    return "" if names else f"the condition names nothing: name a field of what the tool gives, or {OUTPUT}"


def holds(condition: str, result: JsonValue) -> bool:
    """Whether the condition holds for this result. Raises BadCondition."""
    fields: Mapping[str, JsonValue] = result if isinstance(result, dict) else {}
    return Condition(condition).holds({OUTPUT: result, **fields})
