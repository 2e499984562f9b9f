"""Journal entries on one line of a terminal, in colour. Their words are those of `shared.journal.lines`."""

from collections.abc import Iterable, Iterator, Mapping

from rich.text import Text

from cli.text import short, visible
from parley.events import SessionEvent
from parley.protocol import journal as j
from shared.domain.kernel.actors import USER_PREFIX
from shared.journal.entries import entries
from shared.journal.lines import author, display_name, entry_line

MAX_LINE = 160  # characters of a line
TONES: Mapping[j.Tone, tuple[str, str]] = {  # mark and style
    "good": ("✓", "green"),
    "bad": ("✗", "red"),
    "work": ("·", "cyan"),
    "wait": ("?", "yellow"),
    "plain": ("–", "dim"),
}


def journal_line(entry: j.AnyEntry, me: str = "", *, length: int = MAX_LINE) -> Text:
    """`me`: the user who is called “You”. `length`: characters of a call's line."""
    text = entry_line(entry)
    match entry:
        case j.ActionEntry():
            mark, style = TONES[entry.tone]
            line = Text.assemble((f"{mark} ", style), (short(text, length), "dim"))
        case j.NoteEntry() | j.DecisionEntry():
            _, style = TONES[entry.tone]
            line = actor_line(author(entry), text, me, style)
        case j.FailureEntry():
            line = actor_line("", text, me, "red")
        case _:
            line = actor_line(author(entry), text, me)
    return line


def actor_line(actor: str, text: str, me: str = "", style: str = "dim") -> Text:
    name_style = "bold" if actor.startswith(USER_PREFIX) else "cyan"
    name = (f"{visible(display_name(actor, me))} ", name_style) if actor else ""
    return Text.assemble(("· ", "dim"), name, (short(text, MAX_LINE), style))


def visible_entries(journal: Iterable[j.AnyEntry]) -> Iterator[j.AnyEntry]:
    """The entries that have a line of their own."""
    return (entry for entry in journal if entry_line(entry) and getattr(entry, "state", "") != "dropped")


def read_entries(events: Iterable[SessionEvent]) -> list[j.AnyEntry]:
    """The journal of these events: each entry in its final state."""
    journal: j.EntriesByKey = {}
    for event in events:
        j.apply_entries(journal, entries(event))
    return [j.read_entry(entry) for entry in journal.values()]
