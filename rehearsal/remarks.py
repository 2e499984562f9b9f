"""Replies in words: to a question for reasons, about what is in review or was answered."""

import re
from typing import Any

from rehearsal.prompt import Prompt
from rehearsal.refusals import DEMO_MODEL, workflow_of
from rehearsal.replies import words

NO_REASONS = f"{DEMO_MODEL}have no reasons beyond them: what you see is what they make of your words."
AGREED = "Good. What waits for your approval is done when you approve it, and not before."
TASKS = ("text_plan", "turn", "path", "execution_plan", "code")
_WHY = re.compile(r"^\W*(?:(?:and|but|so|ok|okay|hm+|wait)\W+)?(?:why|how come|what for)\b", re.IGNORECASE)
_OF_THIS = re.compile(r"\b(?:you|your|this|that|these|those|it)\b", re.IGNORECASE)


_AGREES = re.compile(
    r"^\W*(?:(?:ok|okay|yes|good|fine|great|nice|perfect|lgtm|thanks|thank you|(?:that |it |this )?(?:looks|sounds) "
    r"(?:good|fine|great|right))\W*)+$",
    re.IGNORECASE,
)


def answer_remark(prompt: Prompt) -> dict[str, Any] | None:
    """The reply to a remark that only asks why, or agrees; None if there is none, or it may want something done."""
    said = prompt.lines("remark")
    if prompt.task not in TASKS or not prompt["review"] or not said:
        return None
    if all(map(_AGREES.match, said)):
        return words(AGREED)
    return words(NO_REASONS) if all(map(_asks_why, said)) else None


def _asks_why(said: str) -> bool:
    """“Why was my order cancelled?” is a question to the store, “Why do you cancel this order?” is one to the model."""
    return bool(_WHY.match(said)) and bool(_OF_THIS.search(said) or workflow_of(said) is None)
