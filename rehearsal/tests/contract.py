"""The contract with Parley's services, read as the data that it is, and prompts that are made by it."""

import json
from pathlib import Path
from typing import Any

from rehearsal.prompt import read_prompt
from rehearsal.rules import answer
from rehearsal.wire import ChatMessage

CONTRACT: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "shared" / "contracts" / "model.json").read_text(encoding="utf-8")
)


def reply_to(task: str, **sections: Any) -> dict[str, Any]:
    """What stands under `reply` to a prompt of these sections; a list stands there as lines of JSON."""
    assert sections.keys() <= set(CONTRACT[task]["sections"]), "the services send no such section"
    texts = {
        tag: value if isinstance(value, str) else "\n".join(map(json.dumps, value)) for tag, value in sections.items()
    }
    body = "\n\n".join(f"<{tag}>\n{text}\n</{tag}>" for tag, text in texts.items() if text)
    system = f"Role: {CONTRACT[task]['role']}\nTask: {task}\n\nRules."
    reply = answer(read_prompt([ChatMessage(role="system", content=system), ChatMessage(role="user", content=body)]))
    assert isinstance(reply, dict)
    said: dict[str, Any] = reply["reply"]
    return said
