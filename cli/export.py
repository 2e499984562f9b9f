"""A session as a file: Markdown to read, JSON to process, Python to run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from cli.gist import gist
from parley.events import EVENTS, SessionEvent, facts

Format = Literal["md", "json", "py"]
FORMATS: tuple[Format, ...] = ("md", "json", "py")


class CannotExport(ValueError):
    """There is nothing to write in that format, or it is none; the message says which there are."""


def format_of(file: Path) -> Format:
    """By the file's suffix. Raises CannotExport."""
    suffix = file.suffix.removeprefix(".")
    for name in FORMATS:
        if suffix == name:
            return name
    raise CannotExport(f"{file} does not end in .md, .json or .py.")


def export(events: Sequence[SessionEvent], form: Format) -> str:
    """The session's journal in this format; `py` is its newest program. Raises CannotExport."""
    if form == "json":
        return "[\n" + ",\n".join(EVENTS.dump_json(event).decode() for event in events) + "\n]\n"
    if form == "md":
        return markdown(events)
    if program := newest_code(events):
        return f"{program.rstrip()}\n"
    raise CannotExport("There is no code in this session yet.")


def newest_code(events: Sequence[SessionEvent]) -> str:
    """The program as it was drafted or edited last, "" if there is none."""
    return next((e.code for e in reversed(events) if isinstance(e, facts.CodeDrafted | facts.CodeEdited)), "")


def markdown(events: Sequence[SessionEvent]) -> str:
    """The conversation with its plans and programs in full, and one line for everything else."""
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
        return f"{gist(event)}\n\n{steps}" + (f"\n\nNotes: {event.notes}" if event.notes else "")
    if isinstance(event, facts.CodeDrafted | facts.CodeEdited):
        return f"{gist(event)}\n\n{_fenced(event.code, 'python')}"
    if isinstance(event, facts.ActionsFinished):
        results = [one.result for one in event.outcomes if isinstance(one.result, dict)]
        printed = [_fenced(str(text), "") for result in results if (text := result.get("stdout"))]
        return "\n\n".join([gist(event), *printed])
    if isinstance(event, facts.AnswerGiven | facts.RemarkAnswered):
        return f"\n\n{event.text}"
    return gist(event)


def _fenced(text: str, language: str) -> str:
    """A fence that is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
