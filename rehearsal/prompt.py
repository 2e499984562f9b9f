"""Reads the prompts that Parley's services write."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rehearsal.openai_schema import CompletionMessage

_HEAD = re.compile(r"\ARole: *(\w+) *\nTask: *([\w.-]+)")
_SECTION = re.compile(r"^<(\w+)>[ \t]*\n(.*?)\n?^</\1>[ \t]*$", re.MULTILINE | re.DOTALL)
_REPLAN = re.compile(r"^<replan */>", re.MULTILINE)


@dataclass(frozen=True)
class ParsedPrompt:
    """A parsed prompt. `sections`: texts by tag. `task` is empty if the prompt is not one of Parley's."""

    role: str = ""
    task: str = ""
    sections: dict[str, str] = field(default_factory=dict)
    replan: bool = False

    def __getitem__(self, tag: str) -> str:
        """The section's text, "" if it is missing."""
        return self.sections.get(tag, "")

    def lines(self, tag: str) -> list[str]:
        """The section's lines that are not blank."""
        return [line for line in self[tag].splitlines() if line.strip()]

    def dialogue(self) -> list[tuple[str, str]]:
        """Questions and their answers, from `Q: …` and `A: …`. Other lines continue the one above."""
        parts = re.split(r"^Q:[ \t]*", self["dialogue"], flags=re.MULTILINE)[1:]
        return [
            (question.strip(), answer.strip()) for question, _, answer in (part.partition("\nA:") for part in parts)
        ]

    @property
    def last_question(self) -> str:
        """The newest answered question, "" if there is none."""
        return next((question for question, _ in reversed(self.dialogue())), "")

    def objects(self, tag: str) -> Iterator[dict[str, Any]]:
        """The JSON objects of the section, one a line. Other lines are ignored."""
        for line in self.lines(tag):
            if isinstance(value := parsed(line), dict):
                yield value


def parsed(text: str) -> Any:
    """The JSON value of a text, None if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def first_object(text: str) -> dict[str, Any]:
    """The first JSON object in a text, {} if there is none."""
    try:
        value = json.JSONDecoder().raw_decode(text[text.index("{") :])[0]
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def read_prompt(messages: Sequence[CompletionMessage]) -> ParsedPrompt:
    """Parse the head of the system message, and the sections of the last user message that has any.

    User messages after that one only say what was wrong with a reply.
    """
    system = next((message.text for message in messages if message.role == "system"), "")
    head = _HEAD.match(system)
    users = [message.text for message in reversed(messages) if message.role == "user"]
    body = next((text for text in users if _SECTION.match(text) or "<request>" in text), "")
    sections = {tag: text.strip("\n") for tag, text in _SECTION.findall(body)}
    replan = "replan" in sections or bool(_REPLAN.search(_SECTION.sub("", body)))
    return ParsedPrompt(head[1] if head else "", head[2] if head else "", sections, replan)
