"""Reads a model server's answer as it comes: server-sent events, JSON lines, or a body in one piece."""

import asyncio
import codecs
import io
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2

from shared.llm.completion import ErrorAnswer, PartialReply
from shared.llm.errors import ModelFailed
from shared.llm.faults import InvalidReply, TransientFault, shorten
from shared.llm.text_objects import partial_object
from shared.llm.types import OnPartial

PARTIAL_EVERY = 1 / 30  # seconds
DONE = "[DONE]"
_BODY_STARTS = '{[<"'
_SPACE = re.compile(r"(?:\s|\ufeff|data:)*+")  # between values, also the field's name again
_FIELDS = ("data", "event", "id", "retry", "error", "")  # of server-sent events; a comment has an empty name
_DECODER = json.JSONDecoder(strict=False)


async def collect(
    response: httpx2.Response,
    draft: PartialReply,
    on_partial: OnPartial | None,
    partial_fields: Iterable[str] = (),
    on_data: Callable[[], None] = lambda: None,
) -> None:
    """Read the whole answer into `draft`. `on_data` is called for every piece until the reply is finished.

    `on_partial` gets the newest partial object, even while the server pauses.
    Raises ErrorAnswer, TransientFault, InvalidReply or ModelFailed if the reply is incomplete or refused.
    """
    async with _reporting_partials(draft, on_partial, frozenset(partial_fields)) as text_grew:
        await _collect(response, draft, on_data, text_grew)
    _check_end(draft)


async def _collect(
    response: httpx2.Response, draft: PartialReply, on_data: Callable[[], None], text_grew: asyncio.Event
) -> None:
    def arrived() -> None:
        if draft.finish is None:
            on_data()

    async for event, text in events(response, arrived):
        before = draft.size
        for value in _values(text):
            if value == DONE:
                draft.stream_done = True
                break
            draft.take(value, error=event == "error")
        if draft.stream_done and draft.choice is not None:  # a server may leave the connection open
            break
        if draft.finish is not None and draft.size > before:  # the reason came with the thoughts, or in each chunk
            on_data()
        if draft.content.tell():
            text_grew.set()


async def events(response: httpx2.Response, on_data: Callable[[], None]) -> AsyncIterator[tuple[str, str]]:
    """Yield the name and data of each event; "" and the text for what is no event.

    Unlike browsers, take what comes under any content type, an event that no empty line ends, and a byte order mark.
    """
    lines, reader = _Lines(), _EventReader()
    async for chunk in response.aiter_bytes():
        on_data()
        for line in lines.decode(chunk):
            for item in reader.read(line):
                yield item
    for line in [*lines.decode(b"", final=True), ""]:
        for item in reader.read(line):
            yield item
    if body := reader.body.getvalue().strip():
        yield "", body


class _Lines:
    """Splits bytes of UTF-8 into lines that end with CR, LF or both, wherever the pieces are cut."""

    def __init__(self) -> None:
        self._decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)
        self._open: list[str] = []

    def decode(self, chunk: bytes, *, final: bool = False) -> list[str]:
        first, *others = self._decoder.decode(chunk, final=final).split("\n")
        self._open.append(first)
        if not (others or final):
            return []
        lines = ["".join(self._open), *others]
        self._open = [] if final else [lines.pop()]
        return lines


@dataclass
class _EventReader:
    """Puts lines together to events. A line that is a JSON object is one, too; `body` has all other lines."""

    event: str = ""
    data: list[str] = field(default_factory=list)
    body: io.StringIO = field(default_factory=io.StringIO)
    in_body: bool = False  # the answer is a text of many lines: JSON or a page

    def read(self, line: str) -> Iterator[tuple[str, str]]:
        line = line.strip("\ufeff")
        name, colon, text = line.partition(":")
        if not line.strip():
            if self.data:
                yield self.event, "\n".join(self.data)
            self.event, self.data = "", []
        elif not self.in_body and colon and name in _FIELDS:
            text = text.removeprefix(" ")
            if name == "data":
                self.data.append(text)
            elif name == "error":  # of llama.cpp before September 2025
                yield "error", text
            elif name == "event":
                self.event = text.strip()
        elif line.strip() == DONE or (not self.in_body and line[0] == "{" and line.rstrip()[-1] == "}"):
            yield "", line
        else:
            self.in_body = self.in_body or line.lstrip()[0] in _BODY_STARTS
            self.body.write(f"{line}\n")


def _values(text: str) -> Iterator[object]:
    """The JSON values in an event's data, and DONE; a text that is not JSON is a value itself.

    Raises TransientFault if a value is broken: a part of the reply would be missing.
    """
    position = _SPACE.match(text).end()  # type: ignore[union-attr]
    while position < len(text):
        if text.startswith(DONE, position):
            value, end = DONE, position + len(DONE)
        else:
            try:
                value, end = _DECODER.raw_decode(text, position)
            except (ValueError, RecursionError):
                if text[position] in "{[":
                    raise TransientFault("the endpoint sent a stream that is not JSON", raw=text[:1_000]) from None
                value, end = text[position:], len(text)
        yield value
        position = _SPACE.match(text, end).end()  # type: ignore[union-attr]


@asynccontextmanager
async def _reporting_partials(
    draft: PartialReply, on_partial: OnPartial | None, fields: frozenset[str]
) -> AsyncIterator[asyncio.Event]:
    """Report the partial object whenever the event is set, until the block ends.

    An error of `on_partial` ends the reports, and is raised after the block.
    """
    text_grew = asyncio.Event()
    if on_partial is None:
        yield text_grew
        return
    reports = asyncio.create_task(_report_partials(draft, text_grew, on_partial, fields))
    try:
        yield text_grew
    finally:
        reports.cancel()
        await asyncio.wait({reports})
    if not reports.cancelled():
        reports.result()


async def _report_partials(
    draft: PartialReply, text_grew: asyncio.Event, on_partial: OnPartial, fields: frozenset[str]
) -> None:
    """Report at most every PARTIAL_EVERY seconds; parsing takes at most a tenth of the time."""
    while True:
        await text_grew.wait()
        text_grew.clear()
        began = time.monotonic()
        partial = await asyncio.to_thread(partial_object, draft.text, fields)
        pause = max(PARTIAL_EVERY, 9 * (time.monotonic() - began))
        if partial is not None:
            await on_partial(partial)
        await asyncio.sleep(pause)


def _check_end(draft: PartialReply) -> None:
    text = draft.text
    if draft.refusal and not text:
        raise ModelFailed(f"the model refused: {shorten(draft.refusal)}", raw=draft.refusal)
    if draft.choice is None and draft.non_completion is not None:
        raise ErrorAnswer(draft.non_completion)
    match draft.finish:
        case "length":
            raise InvalidReply("it was cut at the model's length limit: answer more briefly", raw=text, cut=True)
        case "filter":
            raise ModelFailed("the endpoint's content filter stopped the reply", raw=text)
        case "error":
            raise TransientFault("the endpoint reported that the reply failed", raw=text)
        case _:
            return
