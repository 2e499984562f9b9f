"""What the planner's model may say instead of planning: a question, or the answer to a remark in words. Pure."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from shared.domain import commands as c
from shared.domain.said import in_words
from shared.domain.session import Session

LONGEST, LONGEST_OPTION = 50_000, 500  # characters


class Question(BaseModel):
    """The fields that all replies of the planner share. `options`: answers to choose from.

    `reply`: words are all that a remark asks for.
    """

    model_config = ConfigDict(extra="forbid")

    question: str | None = None
    options: list[str] = Field(default_factory=list, max_length=10)
    reply: str | None = None

    @property
    def speaks(self) -> bool:
        """It says something instead of planning."""
        return bool((self.reply or "").strip() or (self.question or "").strip())

    def spoken(self, session: Session, *, planned: object) -> c.Ask | c.AnswerRemark | None:
        """The command that asks the question, or gives the reply if nothing is planned beside it; None otherwise."""
        if (text := (self.reply or "").strip()) and not planned:
            return in_words(session, text)
        if not (text := (self.question or "").strip()):
            return None
        options = (option.strip()[:LONGEST_OPTION] for option in self.options)
        return c.Ask(text=text[:LONGEST], options=tuple(option for option in options if option))


def said(partial: Mapping[str, Any]) -> str:
    """The reply or question as far as it has come; "" where something is planned."""
    return next((text for name in ("reply", "question") if isinstance(text := partial.get(name), str) and text), "")
