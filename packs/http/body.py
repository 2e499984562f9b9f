"""The content of a response: read within limits, and decoded to JSON or text."""

import asyncio
import codecs
import re
import zlib
from typing import NamedTuple

import httpx2
from pydantic import JsonValue
from pydantic_core import from_json

from shared.repair.schema import is_bounded, is_finite

# Python also has slow and private encodings: a server may only name those that web pages use.
_CHARSETS = re.compile(
    r"ascii|utf-(8|8-sig|16|32)(-[bl]e)?|iso8859-\d+|cp\d+|mac-\w+|koi8-\w+|gb\w+|big5\w*|hz|"
    r"(shift|euc)_\w+|iso2022_\w+"
)

_CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]{1,40})", re.IGNORECASE)


MAX_PIECES, PIECES_AT_ONCE = 50_000, 200  # of a response; and those that are read before other tasks run


class UnreadableContent(Exception):
    """The content cannot be decoded; the message says why, as a complete sentence."""


class Content(NamedTuple):
    """Decoded content: `data` for JSON, `text` for everything else."""

    text: str = ""
    data: JsonValue = None


async def read_content(response: httpx2.Response, limit: int) -> bytes:
    """The decoded content of at most `limit` bytes. Raises UnreadableContent, and httpx2's errors."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise UnreadableContent("The content has an encoding that was not asked for.")
    unpacked = _Gzip() if "gzip" in encoding else None
    raw, body = 0, bytearray()
    pieces = 0
    async for chunk in response.aiter_raw():
        pieces += 1
        if pieces > MAX_PIECES:
            raise UnreadableContent(f"The content is sent in more than {MAX_PIECES:,} pieces.")
        if pieces % PIECES_AT_ONCE == 0:
            await asyncio.sleep(0)  # one packet may hold thousands
        raw += len(chunk)
        body += unpacked.decode(chunk, limit - len(body)) if unpacked else chunk
        if max(raw, len(body)) > limit:
            raise UnreadableContent(f"The content has more than {limit:,} bytes.")
    if unpacked and raw and not unpacked.complete:
        raise UnreadableContent("The content ends in the middle of its gzip encoding.")
    return bytes(body)


def decode_content(body: bytes, content_type: str) -> Content:
    """The decoded content. Raises UnreadableContent if it is neither JSON nor text.

    JSON that is malformed, too large or too deep for a result is returned as text, and so is one with a number that is
    not finite, such as 1e999.
    """
    media_type, charset = _parts(content_type)
    if media_type == "application/json" or media_type.endswith("+json"):
        try:
            data = from_json(body, allow_inf_nan=False)
        except ValueError:
            data = None
        if data is not None and is_bounded(data) and is_finite(data):
            return Content(data=data)
    try:
        return Content(text=_text(body, charset, strict=not media_type.startswith("text/")))
    except ValueError:
        kind = media_type[:100] or "no type"
        raise UnreadableContent(f"The content is no text: {len(body):,} bytes of {kind}.") from None


class _Gzip:
    """Decodes gzip in chunks of bounded size."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def complete(self) -> bool:
        return self._stream.eof

    def decode(self, data: bytes, room: int) -> bytes:
        """The decoded data; stops one byte after `room` bytes."""
        output = bytearray()
        while data and len(output) <= room:
            if self._stream.eof:  # another member follows
                self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                output += self._stream.decompress(data, room + 1 - len(output))
            except zlib.error:
                raise UnreadableContent("The content is not the gzip that it says it is.") from None
            data = self._stream.unconsumed_tail or self._stream.unused_data
        return bytes(output)


def _parts(content_type: str) -> tuple[str, str]:
    """The media type in lower case, and the charset, "" if none is named."""
    media_type, _, parameters = content_type.partition(";")
    charset = _CHARSET.search(parameters)
    return media_type.strip().lower(), charset[1] if charset else ""


def _text(body: bytes, charset: str, *, strict: bool) -> str:
    """The decoded text. Raises ValueError for bytes that are not text."""
    try:
        named = codecs.lookup(charset).name if charset else ""
    except (LookupError, ValueError):
        named = ""
    if _CHARSETS.fullmatch(named):
        return body.decode(named, errors="replace")
    if strict and b"\0" in body:
        raise ValueError
    return body.decode("utf-8", errors="strict" if strict else "replace")
