"""Replies that begin no work: to unknown requests, with examples that work, and to remarks that ask why or agree."""

from typing import Any

from rehearsal.examples import EXAMPLES, Workflow
from rehearsal.matching import has_phrase, words_of
from rehearsal.prompt import ParsedPrompt
from rehearsal.replies import question, remark_answer

DEMO_MODEL = "I’m the demo model and know only a few examples"
CONNECT = "Connect a language model for anything else."
NO_REASONS = f"{DEMO_MODEL}: I have no reasons beyond them."
AGREED = "Good. What waits for your approval is done when you approve it, and not before."
TASKS = ("text_plan", "turn", "path", "execution_plan", "code")
_AGREEMENT = frozenset(words_of("ok okay yes good fine great nice perfect lgtm thank thanks you that it looks sounds"))
_WHY = (["why"], ["how", "come"], ["what", "for"])


def refuse(workflow: Workflow, request: str, prompt: ParsedPrompt) -> dict[str, Any]:
    """The question for a request that is not known in this workflow.

    If an earlier answer was not known either, the question says so, because no question is repeated.
    """
    again = any(DEMO_MODEL in asked for asked, _ in prompt.dialogue())
    begin = f"I do not know “{request[:80]}” either. " if again else ""
    return question(f"{begin}{DEMO_MODEL}, such as these. {CONNECT}", EXAMPLES[workflow])


def effective_request(prompt: ParsedPrompt) -> str:
    """What to act on: the answer to the newest refusal, which replaces the request; without a refusal, the request."""
    answers = [answer for asked, answer in prompt.dialogue() if answer and DEMO_MODEL in asked]
    return answers[-1] if answers else prompt["request"]


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
