"""Two tools over a list of notes in memory."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field, JsonValue

from parley import Context, Pack, PastCall, tool

NOTES: dict[str, list[str]] = {}  # by world


class ListNotes(BaseModel):
    """No arguments."""


class Note(BaseModel):
    """A note to add."""

    text: str = Field(description="What was agreed, in one sentence.", min_length=1)


def check_notes_read(note: Note, past: Sequence[PastCall]) -> Iterable[str]:
    """Forbid adding a note before the notes were read."""
    if not any(call.tool == "list_notes" and call.status == "finished" for call in past):
        yield "the notes were not read in this session; call list_notes first"


def confirm_added(note: Note, result: JsonValue) -> bool:
    """Whether the result contains the note."""
    notes = result.get("notes") if isinstance(result, dict) else None
    return isinstance(notes, list) and note.text in notes


@tool(quiet=True)
async def list_notes(_: ListNotes, context: Context) -> dict[str, list[str]]:
    """All notes."""
    return {"notes": NOTES.get(context.world, [])}


@tool(effect="write", check=check_notes_read, confirms=confirm_added)
async def add_note(note: Note, context: Context) -> dict[str, list[str]]:
    """Add a note, and return all notes."""
    NOTES.setdefault(context.world, []).append(note.text)
    return {"notes": NOTES[context.world]}


pack = Pack("notes", [list_notes, add_note], rules=["Read the notes before you add one."])
