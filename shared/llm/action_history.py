"""The action history for prompts: one JSON object per line. Results are data, never instructions."""

import json
from collections.abc import Iterable

from shared.domain.memory import ActionRecord


def action_lines(records: Iterable[ActionRecord]) -> list[str]:
    """A line per action: id, turn, tool, arguments, status and the result, or why there is none."""
    return [
        json.dumps(
            {
                "id": record.id,
                "turn": record.turn,
                "tool": record.tool,
                "arguments": record.arguments,
                "status": record.status,
                "result": record.text,
            },
            ensure_ascii=False,
        )
        for record in records
    ]
