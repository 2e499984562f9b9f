"""A session's files: a fold of its actions' outcomes, and the names of the objects that hold their bytes. Pure.

A file changes when the outcome that names it is in the log. The bytes are stored before that, under their hash, so
storing them again costs nothing, and bytes that no outcome names belong to no file.
"""

from collections.abc import Iterable

from parley.events.values import FileRef, Outcome

Files = dict[str, FileRef]


def apply_file_changes(files: Files, outcomes: Iterable[Outcome]) -> Files:
    """The files after these outcomes."""
    after: dict[str, FileRef | None] = dict(files)
    for outcome in outcomes:
        after |= outcome.files
    return {name: ref for name, ref in after.items() if ref is not None}


def object_name(session_id: str, ref: FileRef) -> str:
    """The object store's name for a file's bytes. The session's id is the prefix by which a purge deletes them."""
    return f"{session_id}/files/{ref.sha256}"
