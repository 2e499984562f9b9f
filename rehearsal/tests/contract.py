"""The contract between Parley's services and models, and the rehearsal model's replies to prompts that follow it."""

import json
from pathlib import Path
from typing import Any

from rehearsal.openai_schema import CompletionMessage
from rehearsal.prompt import read_prompt
from rehearsal.rules import answer

CONTRACT: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "shared" / "contracts" / "model.json").read_text(encoding="utf-8")
)


def reply_to(task: str, **sections: Any) -> dict[str, Any]:
    """The `reply` field of the rehearsal model's answer to a prompt. A section that is a list becomes lines of JSON."""
    assert sections.keys() <= set(CONTRACT[task]["sections"]), "the services send no such section"
    texts = {
        tag: value if isinstance(value, str) else "\n".join(map(json.dumps, value)) for tag, value in sections.items()
    }
    body = "\n\n".join(f"<{tag}>\n{text}\n</{tag}>" for tag, text in texts.items() if text)
    system = f"Role: {CONTRACT[task]['role']}\nTask: {task}\n\nRules."
    reply = answer(
        read_prompt([CompletionMessage(role="system", content=system), CompletionMessage(role="user", content=body)])
    )
    assert isinstance(reply, dict)
    content: dict[str, Any] = reply["reply"]
    return content
