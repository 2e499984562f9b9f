"""Replies to remarks that ask for reasons, or agree."""

import re
from typing import Any

from rehearsal.prompt import ParsedPrompt
from rehearsal.refusals import DEMO_MODEL, workflow_of
from rehearsal.replies import remark_answer

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


def answer_remark(prompt: ParsedPrompt) -> dict[str, Any] | None:
    """The reply to a remark that only asks why, or agrees; None for others, which may request something."""
    remarks = prompt.lines("remark")
    if prompt.task not in TASKS or not prompt["review"] or not remarks:
        return None
    if all(map(_AGREES.match, remarks)):
        return remark_answer(AGREED)
    return remark_answer(NO_REASONS) if all(map(_asks_why, remarks)) else None


def _asks_why(remark: str) -> bool:
    """Whether the remark asks the model for reasons. “Why was my order cancelled?” is a question to the store."""
    return bool(_WHY.match(remark)) and bool(_OF_THIS.search(remark) or workflow_of(remark) is None)
