"""Replies in words: to a question for reasons, about what is in review or was answered."""

import re
from typing import Any

from rehearsal.prompt import Prompt
from rehearsal.refusals import DEMO_MODEL, workflow_of
from rehearsal.replies import words

NO_REASONS = f"{DEMO_MODEL}have no reasons beyond them: what you see is what they make of your words."
TASKS = ("text_plan", "turn", "path", "code")
_WHY = re.compile(r"^\W*(?:(?:and|but|so|ok|okay|hm+|wait)\W+)?(?:why|how come|what for)\b", re.IGNORECASE)
_OF_THIS = re.compile(r"\b(?:you|your|this|that|these|those|it)\b", re.IGNORECASE)


def answer_remark(prompt: Prompt) -> dict[str, Any] | None:
    """The reply to a remark that only asks why; None if there is none, or it may ask for something to be done."""
    said = prompt.lines("remark")
    if prompt.task not in TASKS or not prompt["review"] or not said or not all(map(_asks_why, said)):
        return None
    return words(NO_REASONS)


def _asks_why(said: str) -> bool:
    """“Why was my order cancelled?” is a question to the store, “Why do you cancel this order?” is one to the model."""
    return bool(_WHY.match(said)) and bool(_OF_THIS.search(said) or workflow_of(said) is None)
