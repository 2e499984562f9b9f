"""A session to take away: Markdown to read, JSON to process, the program to run. Pure."""

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from parley.events import SessionEvent, dump_event
from parley.protocol import journal as j
from parley.protocol.words import JOURNAL
from services.gateway.trouble import Trouble
from services.gateway.views import messages
from services.gateway.views.entries import entries
from shared.domain.session import Session

MEDIA = {"md": "text/markdown; charset=utf-8", "json": "application/json", "py": "text/x-python; charset=utf-8"}


class Export(NamedTuple):
    name: str
    media_type: str
    body: str


def export(session: Session, events: Sequence[SessionEvent], form: str) -> Export:
    """`form` is "md", "json" or "py". Raises Trouble(not_found) for a program that there is not."""
    body = {"md": _markdown, "json": _json, "py": _program}[form](session, events)
    return Export(f"{_slug(session.title)}-{session.id[:8]}.{form}", MEDIA[form], body)


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-") or "session"


def _json(session: Session, events: Sequence[SessionEvent]) -> str:
    snapshot = messages.snapshot(session).model_dump(mode="json", by_alias=True)
    journal = [json.loads(dump_event(event)) for event in events]
    return json.dumps({"session": snapshot, "journal": journal}, ensure_ascii=False, indent=2) + "\n"


def _program(session: Session, events: Sequence[SessionEvent]) -> str:
    """The approved code, or the newest there is."""
    if session.code is None:
        raise Trouble("not_found", "This session has no code yet.", "Approve the plan first: the code comes next.")
    return session.code.code.rstrip("\n") + "\n"


def _markdown(session: Session, events: Sequence[SessionEvent]) -> str:
    parts = [f"# {session.title}", f"Session `{session.id}`, version {session.version}.", "## Conversation"]
    parts += _conversation(session.owner, events)
    if session.plan:
        parts += [f"## Plan {session.plan.number} ({session.plan.status})", session.plan.text]
    if session.code:
        fence = _fence(session.code.code)
        body = session.code.code.rstrip("\n")
        parts += [f"## Code {session.code.number} ({session.code.status})", f"{fence}python\n{body}\n{fence}"]
    if session.answer.text:
        parts += ["## Answer", session.answer.text]
    return "\n\n".join(parts) + "\n"


def _fence(code: str) -> str:
    """One backtick more than any run of them in the code."""
    return "`" * max(3, 1 + max(map(len, re.findall(r"`+", code)), default=0))


def _conversation(owner: str, events: Sequence[SessionEvent]) -> list[str]:
    """The journal as it came out, a paragraph an entry."""
    kept: j.Kept = {}
    for event in events:
        j.keep(kept, entries(event))
    return [told for entry in map(j.read, kept.values()) if (told := _told(entry, owner))]


def _told(entry: j.AnyEntry, owner: str) -> str:
    """What a reader of the conversation wants to know; "" for the rest."""
    who = f"**{_name(entry.by, owner)}**"
    match entry:
        case j.SaidEntry() | j.ReplyEntry() | j.AnswerEntry():
            line = f"{who}: {entry.text}"
        case j.PlanEntry() | j.CodeEntry():
            wrote = JOURNAL["edited" if entry.by.startswith("user:") else "wrote"]
            goal = f": {entry.goal}" if isinstance(entry, j.PlanEntry) else "."
            line = f"{who} {wrote.format(what=f'{entry.title} ({entry.summary})')}{goal}"
        case j.QuestionEntry():
            answer = f"\n\n> {entry.answer}" if entry.answer else ""
            line = f"**{JOURNAL['asked'].format(by='Parley')}**: {entry.text}{answer}"
        case j.TurnEntry():
            line = _turn(entry)
        case j.ActionEntry() if entry.state != "dropped":
            word = "" if entry.state == "finished" or entry.word in entry.gist.casefold() else f"{entry.word}: "
            line = f"- `{entry.tool}`: {word}{entry.gist}"
        case j.FailureEntry():
            line = f"{entry.title}: {entry.reason}"
        case j.NoteEntry() | j.PathChangeEntry() if entry.text:
            line = f"{who} {entry.text}." if entry.by else f"{entry.text}."
        case _:
            line = ""
    return line


def _turn(entry: j.TurnEntry) -> str:
    """With what became of it; its actions follow."""
    goal = f": {entry.sub_goal}" if entry.sub_goal else ""
    said = entry.verdict
    return f"**Turn {entry.number}{goal}**" + (f" ({said.word}, {said.next}) {said.text}".rstrip() if said else "")


def _name(by: str, owner: str) -> str:
    """“You” for the session's owner."""
    return JOURNAL["you"] if by == f"user:{owner}" else by.removeprefix("user:").replace("_", " ")
