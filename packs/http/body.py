"""What a server sends as its content: read within limits, and told as JSON or text."""

import codecs
import re
import zlib
from typing import NamedTuple

import httpx2
from pydantic import JsonValue
from pydantic_core import from_json

from shared.repair.bounds import is_bounded

# Python has slow and private encodings, too: a server may name those that pages are written in.
_CHARSETS = re.compile(
    r"ascii|utf-(8|8-sig|16|32)(-[bl]e)?|iso8859-\d+|cp\d+|mac-\w+|koi8-\w+|gb\w+|big5\w*|hz|"
    r"(shift|euc)_\w+|iso2022_\w+"
)

_CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]{1,40})", re.IGNORECASE)


class Unreadable(Exception):
    """The content cannot be told; the message says why, as a sentence that begins with it."""


class Content(NamedTuple):
    """`data` of JSON, `text` of everything else."""

    text: str = ""
    data: JsonValue = None


async def read(response: httpx2.Response, limit: int) -> bytes:
    """The decoded content of at most `limit` bytes. Raises Unreadable, and httpx2's errors."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise Unreadable("The content has an encoding that was not asked for.")
    unpacked = _Gzip() if "gzip" in encoding else None
    raw, body = 0, bytearray()
    async for chunk in response.aiter_raw():
        raw += len(chunk)
        body += unpacked.decoded(chunk, limit - len(body)) if unpacked else chunk
        if max(raw, len(body)) > limit:
            raise Unreadable(f"The content has more than {limit:,} bytes.")
    if unpacked and raw and not unpacked.complete:
        raise Unreadable("The content ends in the middle of its gzip encoding.")
    return bytes(body)


def content_of(body: bytes, content_type: str) -> Content:
    """What the bytes say. Raises Unreadable where they are neither JSON nor text.

    JSON that is malformed, or larger or deeper than a result may be, is told as text.
    """
    media_type, charset = _parts(content_type)
    if media_type == "application/json" or media_type.endswith("+json"):
        try:
            data = from_json(body, allow_inf_nan=False)
        except ValueError:
            data = None
        if data is not None and is_bounded(data):
            return Content(data=data)
    try:
        return Content(text=_text(body, charset, strict=not media_type.startswith("text/")))
    except ValueError:
        kind = media_type[:100] or "no type"
        raise Unreadable(f"The content is no text: {len(body):,} bytes of {kind}.") from None


class _Gzip:
    """Decodes gzip in pieces of bounded size."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def complete(self) -> bool:
        return self._stream.eof

    def decoded(self, data: bytes, room: int) -> bytes:
        """What the data stand for; a result of more than `room` bytes is cut after the first one too many."""
        found = bytearray()
        while data and len(found) <= room:
            if self._stream.eof:  # another member follows
                self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                found += self._stream.decompress(data, room + 1 - len(found))
            except zlib.error:
                raise Unreadable("The content is not the gzip that it says it is.") from None
            data = self._stream.unconsumed_tail or self._stream.unused_data
        return bytes(found)


def _parts(content_type: str) -> tuple[str, str]:
    """The media type in lower case, and the charset, "" where none is named."""
    media_type, _, parameters = content_type.partition(";")
    charset = _CHARSET.search(parameters)
    return media_type.strip().lower(), charset[1] if charset else ""


def _text(body: bytes, charset: str, *, strict: bool) -> str:
    """Raises ValueError for bytes that are no text."""
    try:
        named = codecs.lookup(charset).name if charset else ""
    except (LookupError, ValueError):
        named = ""
    if _CHARSETS.fullmatch(named):
        return body.decode(named, errors="replace")
    if strict and b"\0" in body:
        raise ValueError
    return body.decode("utf-8", errors="strict" if strict else "replace")
