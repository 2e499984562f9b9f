"""Four tools over the session's files: list, read, write, delete."""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from parley import Change, Context, Failed, Files, Pack, PastCall, Preview, Refused, tool
from parley.file_names import file_name

MAX_READ = 40_000  # characters per read
MAX_PREVIEW = 2_000  # characters in the preview of a change
TIMEOUT = 120  # longer than two waits for the object store (read and append), whose error is clearer
PROMPT = (
    "The session has files of its own, which stay from one request to the next: list_files, read_file, write_file and "
    "delete_file. They are texts by name, with folders divided by /, and no part of any disk."
)


def _text(value: object) -> object:
    """The value of a reference as text: other types become JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


Name = Annotated[
    str, Field(description="Its name, as notes/today.md.", min_length=1, max_length=1_000), AfterValidator(file_name)
]


class ListFiles(BaseModel):
    model_config = ConfigDict(extra="forbid")

    folder: Annotated[str, Field(description="Only what lies in this folder.", max_length=1_000)] = ""


class ReadFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    offset: Annotated[int, Field(description="Characters to leave out at the beginning.", ge=0)] = 0
    length: Annotated[int, Field(description="Characters to read at most.", ge=1, le=MAX_READ)] = MAX_READ // 2


class WriteFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    text: Annotated[
        str,
        BeforeValidator(_text, json_schema_input_type=JsonValue),
        Field(description="All that the file is to hold: text, or another value, which becomes JSON."),
    ]
    append: Annotated[bool, Field(description="Keep what the file holds, and put the text behind it.")] = False


class DeleteFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name


class FileEntry(BaseModel):
    name: str
    size: int


class FileList(BaseModel):
    """Sizes in bytes; `bytes` is that of all of these files."""

    files: list[FileEntry]
    bytes: int


class FilePart(BaseModel):
    """`characters` is the length of the whole; `next_offset` where the next part begins, if there is one."""

    name: str
    text: str
    characters: int
    next_offset: int | None


class WrittenFile(BaseModel):
    """What the file holds now: its size in bytes and SHA-256 in hex."""

    name: str
    size: int
    sha256: str


class DeletedFile(BaseModel):
    deleted: str


def _valid_arguments(_: ReadFile | WriteFile | DeleteFile, __: Sequence[PastCall]) -> Iterable[str]:
    """No violations. A tool with a check gets its arguments validated before the user is asked."""
    return ()


@tool(quiet=True)
async def list_files(call: ListFiles, context: Context) -> FileList:
    """The session's files: name and size in bytes."""
    inside = unicodedata.normalize("NFC", f"{call.folder.strip('/')}/").lstrip("/")
    files = [
        FileEntry(name=name, size=ref.size) for name, ref in _files(context).all().items() if name.startswith(inside)
    ]
    return FileList(files=files, bytes=sum(file.size for file in files))


@tool(check=_valid_arguments, seconds=TIMEOUT)
async def read_file(call: ReadFile, context: Context) -> FilePart:
    """Read a text file of the session, or a part of it."""
    text = _decoded(call.name, await _files(context).read(call.name))
    end = call.offset + call.length
    next_offset = end if end < len(text) else None
    return FilePart(name=call.name, text=text[call.offset : end], characters=len(text), next_offset=next_offset)


async def _preview_write(call: WriteFile, context: Context) -> Preview:
    before = await _preview_text(context, call.name)
    after = f"{before or ''}{call.text}" if call.append else call.text
    return _change(call.name, before, after)


def _shows_text(call: WriteFile, result: JsonValue) -> bool:
    """Whether the file holds the text; for an append, whether it is at least as long."""
    written = WrittenFile.model_validate(result)
    data = call.text.encode()
    return written.size >= len(data) if call.append else written.sha256 == sha256(data).hexdigest()


@tool(
    effect="write", keyed=True, check=_valid_arguments, preview=_preview_write, confirms=_shows_text, seconds=TIMEOUT
)  # a file's change takes effect with the call's outcome
async def write_file(call: WriteFile, context: Context) -> WrittenFile:
    """Write a text into a file of the session, in place of what it holds, or behind that."""
    files, data = _files(context), _encoded(call.text)
    if call.append and call.name in files.all():
        data = await files.read(call.name) + data
    ref = await files.write(call.name, data)
    return WrittenFile(name=call.name, size=ref.size, sha256=ref.sha256)


async def _preview_delete(call: DeleteFile, context: Context) -> Preview:
    before = await _preview_text(context, call.name)
    return Preview(known=True, error=f"There is no file {call.name}.") if before is None else _change(call.name, before)


@tool(effect="write", keyed=True, check=_valid_arguments, preview=_preview_delete, confirms=lambda *_: True)
async def delete_file(call: DeleteFile, context: Context) -> DeletedFile:
    """Delete a file of the session."""
    _files(context).delete(call.name)
    return DeletedFile(deleted=call.name)


def _files(context: Context) -> Files:
    if context.files is None:
        raise Failed("There are no files here: they belong to a session.")
    return context.files


def _decoded(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Refused(f"{name} holds no text in UTF-8: it can be downloaded, but not read here") from None


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Refused("the text holds what UTF-8 cannot tell: half of a pair of surrogates") from None


async def _preview_text(context: Context, name: str) -> str | None:
    """The file's text for a preview; None if there is no file."""
    files = _files(context)
    if name not in files.all():
        return None
    data = await files.read(name)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"{len(data)} bytes that are no text"


def _change(name: str, before: str | None, after: str | None = None) -> Preview:
    beginnings = (
        text if text is None or len(text) <= MAX_PREVIEW else f"{text[:MAX_PREVIEW]}…" for text in (before, after)
    )
    old, new = beginnings
    return Preview(known=True, changes=(Change(path=f"files/{name}", label=name, before=old, after=new),))


pack = Pack("files", [list_files, read_file, write_file, delete_file], prompt=PROMPT)
