"""Reads the prompts that Parley's services write: a system text, a conversation, and what is due."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rehearsal.openai_schema import CompletionMessage

_HEAD = re.compile(r"\ARole: *(\w+) *\nTask: *([\w.-]+)")
_SECTION = re.compile(r"^<((\w+)-[0-9a-f]{8})>\n(.*?)\n</\1>$", re.MULTILINE | re.DOTALL)
_CALL = re.compile(r"(\S+) (\S+) (\{.*?\})\n(.*)", re.DOTALL)
_DECLINED = re.compile(r"Declined (\S+) (\S+) (\{.*?\})\.$", re.DOTALL)
_TOOL = re.compile(r"([\w.-]+) \((\w+)\): (.*)")
_ANOTHER = "wants another one"
BAD = ("failed", "uncertain")  # how a call can have ended
SAID = ("request", "message", "answered", "decision", "run", "question", "verdict")  # sections of the conversation
DRAFTS = ("plan", "code", "turn", "path", "nothing_to_do")
# in these tasks a message after the answer is another request
ANSWERED_TASKS = ("turn", "turn_verdict", "answer", "execution_plan", "path")


class ConversationEntry(NamedTuple):
    """What stands in the conversation: a section of the user's, or a reply with its kind."""

    kind: str
    text: str
    reply: dict[str, Any] | None = None


@dataclass(frozen=True)
class ParsedPrompt:
    """A parsed prompt. `sections`: texts by tag. `task` is empty if the prompt is not one of Parley's.

    `conversation`: what was said since the current request, which is the first of it.
    """

    role: str = ""
    task: str = ""
    sections: dict[str, str] = field(default_factory=dict)
    conversation: tuple[ConversationEntry, ...] = ()
    before: tuple[ConversationEntry, ...] = ()

    def __getitem__(self, tag: str) -> str:
        """The section's text, "" if it is missing."""
        return self.sections.get(tag, "")

    def lines(self, tag: str) -> list[str]:
        """The section's lines that are not blank."""
        return [line for line in self[tag].splitlines() if line.strip()]

    @property
    def complaint(self) -> str:
        """Why the last proposal was not accepted, for people: without the proposal itself."""
        return "\n".join(line for line in self.lines("problems") if not line.startswith("You proposed: "))

    @property
    def feedback(self) -> list[str]:
        """What the person said since the last plan, or, where tools are used, since the request."""
        whole = self.task in ("turn", "turn_verdict", "answer")
        kinds = ("plan", "path") if self.task == "code" else DRAFTS
        last = (
            -1 if whole else max((at for at, entry in enumerate(self.conversation) if entry.kind in kinds), default=-1)
        )
        return [entry.text for entry in self.conversation[max(last + 1, 1) :] if entry.kind in ("message", "answered")]

    @property
    def new_messages(self) -> list[str]:
        """The messages since the last reply."""
        last = max((at for at, entry in enumerate(self.conversation) if entry.reply is not None), default=-1)
        return [entry.text for entry in self.conversation[last + 1 :] if entry.kind == "message"] if last >= 0 else []

    @property
    def replan(self) -> bool:
        """The person wants another plan or program since the last one."""
        last = max((at for at, entry in enumerate(self.conversation) if entry.kind in DRAFTS), default=-1)
        return any(_ANOTHER in entry.text for entry in self.conversation[last + 1 :] if entry.kind == "decision")

    @property
    def repairs(self) -> bool:
        """The last thing that happened was a verdict: what it found is to be put right."""
        return bool(self.conversation) and self.conversation[-1].kind == "verdict"

    @property
    def closing(self) -> str:
        """Why the planner had nothing left to do, "" if it planned something last."""
        drafts = [entry.reply for entry in self.conversation if entry.kind in DRAFTS and entry.reply]
        return str(drafts[-1].get("reason", "")) if drafts else ""

    def dialogue(self) -> list[tuple[str, str]]:
        """Questions and their answers."""
        asked: list[tuple[str, str]] = []
        for entry in self.conversation:
            if entry.kind == "question" and entry.reply:
                asked.append((str(entry.reply.get("text", "")), ""))
            elif entry.kind == "answered" and asked and not asked[-1][1]:
                asked[-1] = asked[-1][0], entry.text
        return [exchange for exchange in asked if exchange[1]]

    @property
    def last_question(self) -> str:
        """The newest answered question, "" if there is none."""
        return next((question for question, _ in reversed(self.dialogue())), "")

    def calls(self, *, earlier: bool = False) -> Iterator[dict[str, Any]]:
        """The calls of the request, or of the requests before it, with what they gave."""
        entries = self.before if earlier else self.conversation
        for place, entry in enumerate(entries, 1):
            if entry.kind == "decision" and (match := _DECLINED.match(entry.text)):
                call = {"id": match[1], "tool": match[2], "arguments": parsed(match[3]) or {}}
                why = entries[place].text if place < len(entries) and entries[place].kind == "message" else ""
                yield call | {"status": "denied", "result": why}
            if entry.kind == "run" and (match := _CALL.match(entry.text)):
                status = next((status for status in BAD if match[4].startswith(f"{status}: ")), "finished")
                result = match[4].removeprefix(f"{status}: ")
                call = {"id": match[1], "tool": match[2], "arguments": parsed(match[3]) or {}}
                yield call | {"status": status, "result": result}

    @property
    def plan(self) -> str:
        """The plan; its goal and notes from the reply that made it, where the section has only steps."""
        if self["plan"].startswith("Goal:") or not self["plan"]:
            return self["plan"]
        made = [entry.reply for entry in (*self.before, *self.conversation) if entry.kind == "plan" and entry.reply]
        said = made[-1] if made else {}
        return f"Goal: {said.get('goal', '')}\n\n{self['plan']}\n\nNotes: {said.get('notes', '')}"

    def tools(self) -> list[dict[str, Any]]:
        """The tools that may be called."""
        told = (_TOOL.match(line) for name in ("tools", "found_tools") for line in self.lines(name))
        named = [{"name": match[1], "effect": match[2], "description": match[3]} for match in told if match]
        return [*named, *self.objects("tools"), *self.objects("found_tools")]

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
    """Parse the head of the system message, its sections, and the conversation.

    A reply that does not parse and what was said about it are left out.
    """
    entries: list[ConversationEntry] = []
    sections: dict[str, str] = {}
    head = None
    for message in messages:
        if message.role == "assistant":
            reply = first_object(message.text).get("reply")
            if isinstance(reply, dict):
                entries.append(ConversationEntry(str(reply.get("kind", "")), message.text, reply))
            continue
        head = head or _HEAD.match(message.text)
        for _, name, text in _SECTION.findall(message.text):
            sections[name] = text
            if message.role == "user" and name in SAID:
                entries.append(ConversationEntry(name, text))
    task = head[2] if head else ""
    original = sections.pop("original_request", "")
    began = 0 if original else _began(entries, task)
    if original or began < len(entries):
        sections["request"] = original or entries[began].text
    return ParsedPrompt(head[1] if head else "", task, sections, tuple(entries[began:]), tuple(entries[:began]))


def _began(entries: Sequence[ConversationEntry], task: str) -> int:
    """The place of the current request: the last one, or a message after the work on it has ended."""
    began, has_ended = 0, False
    for at, entry in enumerate(entries):
        if entry.kind == "request" or (entry.kind == "message" and has_ended):
            began, has_ended = at, False
        elif (entry.kind == "answer" and task in ANSWERED_TASKS) or (
            entry.kind == "decision" and entry.text.startswith("Approved program")
        ):
            has_ended = True
        elif entry.kind in DRAFTS:
            has_ended = False
    return began
