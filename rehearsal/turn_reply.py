"""The planner's reply about a turn, with every field that there is."""

from typing import Any


def turn_reply(why: str, **more: Any) -> dict[str, Any]:
    """No calls, because of this; `more` are the fields that say something nevertheless."""
    empty: dict[str, Any] = {
        "question": None,
        "options": [],
        "sub_goal": "",
        "sub_goals": [],
        "selected_tool": "",
        "required_skills": [],
        "actions": [],
        "reasoning": why,
        "final": False,
        "more_tools": "",
    }
    return empty | more


def asked_already(words: str, nudge: str) -> bool:
    """Whether tools that fit these words were asked for just now, and are shown if there are any."""
    return f"“{words[:200]}”" in nudge
