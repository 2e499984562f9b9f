"""Four tools over the session's own files: list, read, write, delete."""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from parley import Change, Context, Failed, Files, Pack, PastCall, Preview, Refused, tool
from parley.file_names import file_name

MOST = 40_000  # characters of one reading
SHOWN = 2_000  # characters that a person is shown before a change
SECONDS = 120  # longer than the object store is waited for, twice where text is appended: that has words of its own
PROMPT = (
    "The session has files of its own, which stay from one request to the next: list_files, read_file, write_file and "
    "delete_file. They are texts by name, with folders divided by /, and no part of any disk."
)


def _text(value: object) -> object:
    """A value that a reference stands for, as the JSON that is written of it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


Name = Annotated[
    str, Field(description="Its name, as notes/today.md.", min_length=1, max_length=1_000), AfterValidator(file_name)
]


class Listing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    folder: Annotated[str, Field(description="Only what lies in this folder.", max_length=1_000)] = ""


class Reading(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    offset: Annotated[int, Field(description="Characters to leave out at the beginning.", ge=0)] = 0
    length: Annotated[int, Field(description="Characters to read at most.", ge=1, le=MOST)] = MOST // 2


class Writing(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    text: Annotated[str, BeforeValidator(_text), Field(description="All that the file is to hold.")]
    append: Annotated[bool, Field(description="Keep what the file holds, and put the text behind it.")] = False


class Deleting(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name


class Listed(BaseModel):
    name: str
    size: int


class FileList(BaseModel):
    """Sizes in bytes; `bytes` is that of all of these files."""

    files: list[Listed]
    bytes: int


class Part(BaseModel):
    """`characters` is the length of the whole; `next_offset` where the next part begins, if there is one."""

    name: str
    text: str
    characters: int
    next_offset: int | None


class Written(BaseModel):
    """What the file holds now: its size in bytes and SHA-256 in hex."""

    name: str
    size: int
    sha256: str


class Deleted(BaseModel):
    deleted: str


def _fits(_: Reading | Writing | Deleting, __: Sequence[PastCall]) -> Iterable[str]:
    """Nothing: that a tool has a check is what holds its names against the model before anybody is asked."""
    return ()


@tool(quiet=True)
async def list_files(call: Listing, context: Context) -> FileList:
    """The session's files: name and size in bytes."""
    inside = unicodedata.normalize("NFC", f"{call.folder.strip('/')}/").lstrip("/")
    files = [Listed(name=name, size=ref.size) for name, ref in _files(context).all().items() if name.startswith(inside)]
    return FileList(files=files, bytes=sum(file.size for file in files))


@tool(check=_fits, seconds=SECONDS)
async def read_file(call: Reading, context: Context) -> Part:
    """Read a text file of the session, or a part of it."""
    text = _decoded(call.name, await _files(context).read(call.name))
    end = call.offset + call.length
    next_offset = end if end < len(text) else None
    return Part(name=call.name, text=text[call.offset : end], characters=len(text), next_offset=next_offset)


async def _preview_write(call: Writing, context: Context) -> Preview:
    before = await _shown(context, call.name)
    after = f"{before or ''}{call.text}" if call.append else call.text
    return _change(call.name, before, after)


def _shows_text(call: Writing, result: JsonValue) -> bool:
    """Whether the file holds the text; of what was appended, whether it holds more than that."""
    written = Written.model_validate(result)
    data = call.text.encode()
    return written.size >= len(data) if call.append else written.sha256 == sha256(data).hexdigest()


@tool(
    effect="write", keyed=True, check=_fits, preview=_preview_write, confirms=_shows_text, seconds=SECONDS
)  # a change of a file takes effect with its outcome
async def write_file(call: Writing, context: Context) -> Written:
    """Write a text into a file of the session, in place of what it holds, or behind that."""
    files, data = _files(context), _encoded(call.text)
    if call.append and call.name in files.all():
        data = await files.read(call.name) + data
    ref = await files.write(call.name, data)
    return Written(name=call.name, size=ref.size, sha256=ref.sha256)


async def _preview_delete(call: Deleting, context: Context) -> Preview:
    before = await _shown(context, call.name)
    return Preview(known=True, error=f"There is no file {call.name}.") if before is None else _change(call.name, before)


@tool(effect="write", keyed=True, check=_fits, preview=_preview_delete, confirms=lambda *_: True)
async def delete_file(call: Deleting, context: Context) -> Deleted:
    """Delete a file of the session."""
    _files(context).delete(call.name)
    return Deleted(deleted=call.name)


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


async def _shown(context: Context, name: str) -> str | None:
    """What a person is shown of the file; None where there is none."""
    files = _files(context)
    if name not in files.all():
        return None
    data = await files.read(name)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"{len(data)} bytes that are no text"


def _change(name: str, before: str | None, after: str | None = None) -> Preview:
    beginnings = (text if text is None or len(text) <= SHOWN else f"{text[:SHOWN]}…" for text in (before, after))
    old, new = beginnings
    return Preview(known=True, changes=(Change(path=f"files/{name}", label=name, before=old, after=new),))


pack = Pack("files", [list_files, read_file, write_file, delete_file], prompt=PROMPT)
