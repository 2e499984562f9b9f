"""Exports a session as Markdown, as JSON, or as its newest Python program."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from cli.talk.event_summary import summarize
from parley.events import EVENTS, SessionEvent, facts

Format = Literal["md", "json", "py"]
FORMATS: tuple[Format, ...] = ("md", "json", "py")


class CannotExport(ValueError):
    """The session has nothing in this format, or the format is unknown; the message says which."""


def format_of(file: Path) -> Format:
    """The format that the file's suffix names. Raises CannotExport."""
    suffix = file.suffix.removeprefix(".")
    for name in FORMATS:
        if suffix == name:
            return name
    raise CannotExport(f"{file} does not end in .md, .json or .py.")


def export(events: Sequence[SessionEvent], form: Format) -> str:
    """The session's journal in this format, or for `py` its newest program. Raises CannotExport."""
    if form == "json":
        return "[\n" + ",\n".join(EVENTS.dump_json(event).decode() for event in events) + "\n]\n"
    if form == "md":
        return markdown(events)
    if program := newest_code(events):
        return f"{program.rstrip()}\n"
    raise CannotExport("There is no code in this session yet.")


def newest_code(events: Sequence[SessionEvent]) -> str:
    """The newest program, drafted or edited; "" if there is none."""
    return next((e.code for e in reversed(events) if isinstance(e, facts.CodeDrafted | facts.CodeEdited)), "")


def markdown(events: Sequence[SessionEvent]) -> str:
    """The conversation: messages, plans and programs in full, other events on one line."""
    title = next((e.title for e in reversed(events) if isinstance(e, facts.SessionRenamed)), "")
    lines = [f"# {title or (events[0].session_id if events else 'Empty session')}", ""]
    for event in events:
        if isinstance(event, facts.UsageRecorded):
            continue
        lines += [f"**{event.version} · {event.actor} · {event.at:%Y-%m-%d %H:%M:%S} UTC** {_body(event)}", ""]
    return "\n".join(lines)


def _body(event: SessionEvent) -> str:
    if isinstance(event, facts.MessageReceived):
        return "\n\n" + "\n".join(f"> {line}" for line in event.text.splitlines())
    if isinstance(event, facts.PlanDrafted | facts.PlanEdited):
        steps = "\n".join(f"{number}. {step.text}" for number, step in enumerate(event.steps, 1))
        return f"{summarize(event)}\n\n{steps}" + (f"\n\nNotes: {event.notes}" if event.notes else "")
    if isinstance(event, facts.CodeDrafted | facts.CodeEdited):
        return f"{summarize(event)}\n\n{_fenced(event.code, 'python')}"
    if isinstance(event, facts.ActionsFinished):
        results = [outcome.result for outcome in event.outcomes if isinstance(outcome.result, dict)]
        printed = [_fenced(str(text), "") for result in results if (text := result.get("stdout"))]
        return "\n\n".join([summarize(event), *printed])
    if isinstance(event, facts.AnswerGiven | facts.RemarkAnswered):
        return f"\n\n{event.text}"
    return summarize(event)


def _fenced(text: str, language: str) -> str:
    """A fenced code block, with a fence longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
