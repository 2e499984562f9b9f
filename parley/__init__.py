"""What others build on: write a tool, put tools into a pack, and Parley's executor runs them.

A pack is a Python module with an instance of `Pack`:

    from pydantic import BaseModel
    from parley import Context, Pack, tool

    class Note(BaseModel):
        text: str

    @tool(effect="write")
    async def add_note(note: Note, context: Context) -> dict[str, str]:
        '''Add a note to the list.'''
        return {"added": note.text}

    pack = Pack("notes", tools=[add_note])

Parley finds it in the folder that PARLEY_PACKS_DIR names, or by the entry point group `parley.tools` of an installed
package. `parley.flow` has the same for flows.
"""

from parley.pack import Pack
from parley.protocol.tools import Change, Preview
from parley.tool import Context, Failed, Files, PastCall, Program, Refused, Tool, ToolUnavailable, tool

__all__ = [
    "Change",
    "Context",
    "Failed",
    "Files",
    "Pack",
    "PastCall",
    "Preview",
    "Program",
    "Refused",
    "Tool",
    "ToolUnavailable",
    "tool",
]
