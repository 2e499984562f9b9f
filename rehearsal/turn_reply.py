"""The planner's reply to the task `turn`, with all its fields."""

from typing import Any


def turn_reply(reasoning: str, **fields: Any) -> dict[str, Any]:
    """A reply with these fields and this reasoning; all other fields are empty, so that by default no call is made."""
    empty: dict[str, Any] = {
        "question": None,
        "options": [],
        "sub_goal": "",
        "sub_goals": [],
        "selected_tool": "",
        "required_skills": [],
        "actions": [],
        "reasoning": reasoning,
        "final": False,
        "more_tools": "",
    }
    return empty | fields


def asked_already(words: str, nudge: str) -> bool:
    """Whether the nudge answers an earlier wish for tools that fit these words: asking again would show no others."""
    return f"“{words[:200]}”" in nudge
