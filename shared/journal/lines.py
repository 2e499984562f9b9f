"""What the journal says on one line of an entry, an update or an event, for terminals and files."""

from collections.abc import Iterator, Mapping
from typing import Any

from parley.events import SessionEvent
from parley.protocol import journal as j
from parley.protocol.words import JOURNAL
from shared.domain.kernel.actors import USER_PREFIX
from shared.journal.entries import entries
from shared.journal.phrases import state_label

ENTRIES_WITHOUT_AUTHOR = (j.QuestionEntry, j.TurnEntry, j.ActionEntry, j.FailureEntry, j.TokensEntry)
IMPLIED_STATES = (state_label("planned"), state_label("finished"))
CHECK_MARKS = {True: "✓", False: "✗"}


def event_lines(event: SessionEvent) -> Iterator[str]:
    """All that the journal says about the event, without its actor; nothing for events that it does not show."""
    own: j.EntriesByKey = {}
    changes = entries(event)
    j.apply_entries(own, changes)
    lines = [entry_line(j.read_entry(entry)) for entry in own.values()]
    lines += [update_line(change) for change in changes if isinstance(change, j.EntryUpdate) and change.key not in own]
    return filter(None, lines)


def author(entry: j.AnyEntry) -> str:
    """The actor whose name belongs before the entry's line; "" if the line says all."""
    return "" if isinstance(entry, ENTRIES_WITHOUT_AUTHOR) else entry.by


def entry_line(entry: j.AnyEntry) -> str:
    """The entry, to be read after its author's name, with line breaks of its texts. "" if another entry says it."""
    match entry:
        case j.SaidEntry():
            line = f"{entry.text} ({entry.label})" if entry.label else entry.text
        case j.PlanEntry() | j.CodeEntry():
            written = JOURNAL["edited" if entry.by.startswith(USER_PREFIX) else "wrote"]
            line = written.format(what=f"{entry.title} ({entry.summary})")
        case j.QuestionEntry():
            # After a user's “go on” it is Parley that asks what comes next.
            by = "Parley" if entry.by.startswith(USER_PREFIX) else display_name(entry.by)
            line = f"{JOURNAL['asked'].format(by=by)}: {entry.text}" + (f" → {entry.answer}" if entry.answer else "")
        case j.TurnEntry():
            line = turn_line(entry)
        case j.ActionEntry():
            call, text = f"{entry.action_id} {entry.tool}", state_text(entry.word, entry.gist)
            line = " · ".join((call, *_seconds(entry.seconds), text))
        case j.FailureEntry():
            line = f"{entry.title}: {entry.reason}"
        case j.TokensEntry():
            line = ""
        case _:
            line = entry.text
    return line


def turn_line(entry: j.TurnEntry) -> str:
    verdict = f" · {entry.verdict.word}, {entry.verdict.next}" if entry.verdict else ""
    return f"Turn {entry.number}" + (f": {entry.sub_goal}" if entry.sub_goal else "") + verdict


def state_text(word: str, line: str) -> str:
    """The line about a call (`gist`), after the word for its state unless the line says it already."""
    if line == JOURNAL["started"]:  # it speaks of a place where the outcome will be
        return word
    return line if word in IMPLIED_STATES or word in line.casefold() else f"{word}: {line}"


def update_line(update: j.EntryUpdate) -> str:
    """What has changed in an entry, in words; "" for changes that only concern its place."""
    text = _changed_text(update.set)
    kind, _, name = update.key.partition(":")
    return " · ".join((name, *_seconds(update.set.get("seconds")), text)) if text and kind == "action" else text


def _changed_text(fields: Mapping[str, Any]) -> str:
    line = ""
    match fields:
        case {"gist": str(about), **rest}:
            line = state_text(rest["word"], about) if "word" in rest else about
        case {"state": state}:
            line = state_label(state)
        case {"verdict": verdict}:
            line = f"{verdict['word']}, {verdict['next']}" + (f": {verdict['text']}" if verdict["text"] else "")
        case {"answer": answer}:
            line = JOURNAL["answered"].format(text=answer)
        case {"checks": checks}:
            line = ", ".join(f"{CHECK_MARKS[check['ok']]} {check['name']}" for check in checks)
        case {"artefact": {"name": name, "size": size}}:
            line = JOURNAL["stored"].format(name=name, size=f"{size:,}")
        case {"error": error}:
            line = str(error)
    return line


def _seconds(duration: Any) -> Iterator[str]:
    if duration:
        yield f"{duration:.1f} s"


def display_name(actor: str, me: str = "") -> str:
    """The actor's name; “You” for the user `me`."""
    return JOURNAL["you"] if actor == f"{USER_PREFIX}{me}" else actor.removeprefix(USER_PREFIX).replace("_", " ")
