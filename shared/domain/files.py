"""A session's files: which there are, as a fold of what its actions came to, and where their bytes lie. Pure.

A change of a file is done when the outcome that tells of it is in the log. The bytes are stored before that, under
their hash, so storing them again is no work, and what no outcome names is no file.
"""

from collections.abc import Iterable

from parley.events.values import FileRef, Outcome

Files = dict[str, FileRef]


def changed(files: Files, outcomes: Iterable[Outcome]) -> Files:
    """The files after these outcomes."""
    after: dict[str, FileRef | None] = dict(files)
    for outcome in outcomes:
        after |= outcome.files
    return {name: ref for name, ref in after.items() if ref is not None}


def object_name(session_id: str, ref: FileRef) -> str:
    """Where the object store has the bytes of a session's file: with its session they are purged."""
    return f"{session_id}/files/{ref.sha256}"
