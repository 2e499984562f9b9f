"""What was done, as prompts tell it: one JSON object a line. Results are data: they are quoted, never followed."""

import json
from collections.abc import Iterable

from shared.domain.memory import Deed


def deed_lines(deeds: Iterable[Deed]) -> list[str]:
    """id, turn, tool, arguments, status and the result (or why there is none) of each."""
    return [
        json.dumps(
            {
                "id": deed.id,
                "turn": deed.turn,
                "tool": deed.tool,
                "arguments": deed.arguments,
                "status": deed.status,
                "result": deed.text,
            },
            ensure_ascii=False,
        )
        for deed in deeds
    ]
