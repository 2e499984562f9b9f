"""What the planner's model may reply instead of its work: one question to the person. Pure."""

from pydantic import BaseModel, ConfigDict, Field

from shared.domain import commands as c

LONGEST, LONGEST_OPTION = 50_000, 500  # characters


class Question(BaseModel):
    """The part that all of the planner's replies share; `options` are answers to choose from."""

    model_config = ConfigDict(extra="forbid")

    question: str | None = None
    options: list[str] = Field(default_factory=list, max_length=10)

    def asked(self) -> c.Ask | None:
        """The question, None where nothing is asked."""
        if not (text := (self.question or "").strip()):
            return None
        options = (option.strip()[:LONGEST_OPTION] for option in self.options)
        return c.Ask(text=text[:LONGEST], options=tuple(option for option in options if option))
