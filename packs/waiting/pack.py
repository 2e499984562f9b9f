"""Three tools for steps that wait: for the user's answer, for a time, or until a condition holds."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, model_validator

from parley import Context, Pack, tool
from parley.polling import Polling

MAX_WAIT = 90 * 24 * 3600  # seconds
MAX_QUESTION = 5_000  # characters of a question
UNTIL = {  # the step's output: when the wait ended
    "type": "object",
    "properties": {"until": {"type": "string"}},
    "additionalProperties": False,
}
PROMPT = (
    "Three steps of a plan are no calls. ask_person asks the person who owns the plan while it is carried out, and "
    "gives their answer: use it for what only they can know or decide by then. wait_until waits for an instant, or for "
    "some seconds from when it begins. poll_until calls a tool that only reads, again and again, until a condition on "
    "its result holds, and gives that result: use it for what happens elsewhere at an unknown time. Steps that come "
    "after them wait; all others go on."
)


class AskPerson(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, Field(description="What the person is asked.", min_length=1, max_length=MAX_QUESTION)]
    options: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=500)]],
        Field(description="Answers to choose from; none: they answer in words.", max_length=20),
    ] = Field(default_factory=list)
    form: Annotated[
        dict[str, JsonValue] | None,
        Field(description="A JSON Schema of type object, for an answer of several fields."),
    ] = None


class WaitUntil(BaseModel):
    model_config = ConfigDict(extra="forbid")

    until: Annotated[AwareDatetime | None, Field(description="An instant with its offset: 2026-12-24T18:00+01:00.")] = (
        None
    )
    seconds: Annotated[int | None, Field(description="Instead of an instant.", ge=1, le=MAX_WAIT)] = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.until is None) == (self.seconds is None):
            raise ValueError("say until when, or for how many seconds: one of both")
        return self


@tool(waits_for="person")
async def ask_person(ask: AskPerson, context: Context) -> dict[str, Any]:
    """Ask the person while the plan is carried out; the step gives their answer."""
    return {"text": ask.question, "options": ask.options, "form": ask.form}


@tool(waits_for="time", returns=UNTIL)
async def wait_until(wait: WaitUntil, context: Context) -> datetime | timedelta:
    """Wait until an instant, or for some seconds. An instant that is past is not waited for. At most 90 days."""
    return wait.until or timedelta(seconds=wait.seconds or 0)


@tool(waits_for="condition")
async def poll_until(polling: Polling, context: Context) -> Polling:
    """Call a tool that only reads every so many seconds until a condition on its result holds; gives that result.

    It looks at most for 24 hours and 1,000 times. Where the condition never holds the step fails.
    """
    return polling


pack = Pack("waiting", [ask_person, wait_until, poll_until], prompt=PROMPT)
