"""The question that the planner's model may ask instead of planning. Pure."""

from pydantic import BaseModel, ConfigDict, Field

from shared.domain import commands as c

LONGEST, LONGEST_OPTION = 50_000, 500  # characters


class Question(BaseModel):
    """The fields that all replies of the planner share. `options`: answers to choose from."""

    model_config = ConfigDict(extra="forbid")

    question: str | None = None
    options: list[str] = Field(default_factory=list, max_length=10)

    def asked(self) -> c.Ask | None:
        """The command that asks the question; None if the reply asks nothing."""
        if not (text := (self.question or "").strip()):
            return None
        options = (option.strip()[:LONGEST_OPTION] for option in self.options)
        return c.Ask(text=text[:LONGEST], options=tuple(option for option in options if option))
