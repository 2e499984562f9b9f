"""The kinds of replies of Parley's planner; each is what stands under `reply`."""

from collections.abc import Sequence
from typing import Any

from rehearsal.prompt import Prompt

QUESTIONS = 3  # that Parley takes in one request


def may_ask(prompt: Prompt, text: str) -> bool:
    """Whether this may be asked: a request has room for a few questions, and the same one is not asked again."""
    asked = [question for question, _ in prompt.dialogue()]
    return len(asked) < QUESTIONS and text not in asked


def question(text: str, options: Sequence[str] = ()) -> dict[str, Any]:
    """A question with answers to choose from."""
    return {"kind": "question", "text": text, "options": list(options)}


def words(text: str) -> dict[str, Any]:
    """The answer to a remark."""
    return {"kind": "answer", "text": text}


def turn(
    reasoning: str, sub_goal: str, actions: Sequence[dict[str, Any]], *, final: bool, **more: Any
) -> dict[str, Any]:
    """Calls of tools. `more`: the other fields, which are empty by default."""
    empty: dict[str, Any] = {"sub_goals": [], "required_skills": []}
    given = {"reasoning": reasoning, "sub_goal": sub_goal, "actions": list(actions), "final": final}
    return {"kind": "turn"} | empty | given | more


def nothing_to_do(reason: str) -> dict[str, Any]:
    """The end of the work."""
    return {"kind": "nothing_to_do", "reason": reason}


def more_tools(wanted: str) -> dict[str, Any]:
    """A wish for other tools."""
    return {"kind": "more_tools", "words": wanted}


def asked_already(wanted: str, nudge: str) -> bool:
    """Whether the nudge answers an earlier wish for tools that fit these words: asking again would show no others."""
    return f"“{wanted[:200]}”" in nudge
