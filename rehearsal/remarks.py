"""Replies to remarks that ask for reasons, or agree."""

from typing import Any

from rehearsal.matching import has_phrase, words_of
from rehearsal.prompt import ParsedPrompt
from rehearsal.refusals import DEMO_MODEL
from rehearsal.replies import remark_answer

NO_REASONS = f"{DEMO_MODEL}: I have no reasons beyond them."
AGREED = "Good. What waits for your approval is done when you approve it, and not before."
TASKS = ("text_plan", "turn", "path", "execution_plan", "code")
_AGREEMENT = frozenset(words_of("ok okay yes good fine great nice perfect lgtm thank thanks you that it looks sounds"))
_WHY = (["why"], ["how", "come"], ["what", "for"])


def answer_remark(prompt: ParsedPrompt) -> dict[str, Any] | None:
    """The reply to a remark that only asks why, or agrees; None for others, which may request something."""
    remarks = prompt.new_messages
    if prompt.task not in TASKS or not remarks:
        return None
    if all(_AGREEMENT.issuperset(words_of(remark)) for remark in remarks):
        return remark_answer(AGREED)
    return remark_answer(NO_REASONS) if all(map(_asks_why, remarks)) else None


def _asks_why(remark: str) -> bool:
    """Whether the remark asks the model for reasons. “Why was my order cancelled?” is a question to the store."""
    words = words_of(remark)
    begin = words[words[:1] == ["and"] :]
    return any(begin[: len(why)] == why for why in _WHY) and not has_phrase(remark, ("my order",))
