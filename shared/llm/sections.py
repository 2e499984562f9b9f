"""How Parley's prompts are laid out: first who and what, the same for every session (so it is cached), then data."""

import re
from collections.abc import Iterable, Mapping

from shared.llm.types import Message, Role


def prompt(role: Role, task: str, rules: str, sections: Mapping[str, str | Iterable[str] | None]) -> list[Message]:
    """A system message that never varies, and a user message of `<name>…</name>` sections; empty ones are left out.

    What people, tools and programs said stands in sections: it is data, and the rules say so.
    """
    data = "\n\n".join(_section(name, text) for name, text in sections.items() if text)
    return [
        {"role": "system", "content": f"Role: {role}\nTask: {task}\n\n{rules.strip()}"},
        {"role": "user", "content": data},
    ]


def _section(name: str, text: str | Iterable[str] | None) -> str:
    body = text if isinstance(text, str) else "\n".join(text or ())
    held = re.sub(rf"<\s*/\s*{name}\s*>", f"</ {name}>", body, flags=re.IGNORECASE)  # however it is spelt
    return f"<{name}>\n{held}\n</{name}>"
