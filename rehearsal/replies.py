"""Builds the kinds of replies of Parley's planner: the values of `reply`."""

from collections.abc import Sequence
from typing import Any

from rehearsal.prompt import ParsedPrompt

QUESTIONS = 3  # Parley's limit for a request


def may_ask(prompt: ParsedPrompt, text: str) -> bool:
    """Whether this question may be asked: a request allows a few questions, and none is repeated."""
    earlier = [question for question, _ in prompt.dialogue()]
    return len(earlier) < QUESTIONS and text not in earlier


def question(text: str, options: Sequence[str] = ()) -> dict[str, Any]:
    """A question with answers to choose from."""
    return {"kind": "question", "text": text, "options": list(options)}


def remark_answer(text: str) -> dict[str, Any]:
    """The answer to a remark."""
    return {"kind": "answer", "text": text}


def turn(
    reasoning: str, sub_goal: str, actions: Sequence[dict[str, Any]], *, final: bool, **more: Any
) -> dict[str, Any]:
    """Calls of tools. `more`: the other fields, which are empty by default."""
    empty: dict[str, Any] = {"sub_goals": [], "required_skills": []}
    fields = {"reasoning": reasoning, "sub_goal": sub_goal, "actions": list(actions), "final": final}
    return {"kind": "turn"} | empty | fields | more


def nothing_to_do(reason: str) -> dict[str, Any]:
    """The end of the work."""
    return {"kind": "nothing_to_do", "reason": reason}


def more_tools(words: str) -> dict[str, Any]:
    """A request for other tools."""
    return {"kind": "more_tools", "words": words}


def was_answered(words: str, problem: str) -> bool:
    """Whether the problem answers an earlier request for these tools. Asking again would show no others."""
    return f"“{words[:200]}”" in problem
