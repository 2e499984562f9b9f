"""The contract between Parley's services and models, and the rehearsal model's replies to prompts that follow it."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from rehearsal.openai_schema import CompletionMessage
from rehearsal.prompt import ParsedPrompt, read_prompt
from rehearsal.rules import answer

CONTRACT: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "shared" / "contracts" / "model.json").read_text(encoding="utf-8")
)
type Part = tuple[str, str] | dict[str, Any]  # a section of the user's by name, or a reply
PLANNED: Part = {"kind": "plan"}
CODED: Part = {"kind": "code"}
ANOTHER: Part = ("decision", "Declined plan 1: wants another one, from scratch.")


def asked(text: str, answer: str) -> tuple[Part, Part]:
    """A question and its answer."""
    return {"kind": "question", "text": text}, ("answered", answer)


def section(name: str, text: str) -> str:
    """A section as Parley writes it."""
    tag = f"{name}-{sha256(text.encode()).hexdigest()[:8]}"
    return f"<{tag}>\n{text}\n</{tag}>"


def prompt_of(task: str, *talk: Part, **sections: Any) -> ParsedPrompt:
    """The prompt with this conversation, which begins with the request, and these sections before what is due.

    A section that is a list becomes lines of JSON.
    """
    names = {part[0] for part in talk if isinstance(part, tuple)} | sections.keys()
    assert names <= set(CONTRACT[task]["sections"]), "the services send no such section"
    texts = {
        tag: value if isinstance(value, str) else "\n".join(map(json.dumps, value)) for tag, value in sections.items()
    }
    request = texts.pop("request", "")
    begin: list[Part] = [("request", request)] if request else []
    messages = [("system", f"Role: {CONTRACT[task]['role']}\nTask: {task}\n\nRules.")]
    for part in (*begin, *talk, *((tag, text) for tag, text in texts.items() if text)):
        is_reply = isinstance(part, dict)
        messages.append(("assistant", json.dumps({"reply": part})) if is_reply else ("user", section(*part)))
    return read_prompt([CompletionMessage(role=role, content=content) for role, content in messages])


def steps_of(plan: dict[str, Any]) -> list[str]:
    """The words of a plan's steps."""
    return [step["text"] for step in plan["steps"]]


def reply_to(task: str, *talk: Part, **sections: Any) -> dict[str, Any]:
    """The `reply` field of the rehearsal model's answer to the prompt."""
    reply = answer(prompt_of(task, *talk, **sections))
    assert isinstance(reply, dict)
    content: dict[str, Any] = reply["reply"]
    return content
