"""How texts and a transcript are kept within a limit: the oldest are left out, and a long entry is cut. Pure."""

import json
import re
from collections.abc import Callable

from shared.domain.kernel.fast_replace import replace
from shared.domain.transcript.dialogue import TranscriptEntry

BOUNDARY = 200  # characters within which a cut looks for the end of a word
MIN_TEXT = 20  # characters that a cut leaves of each text of a reply, at least
NOTE = 60  # bytes of the note on what is left out
CUT = "…"
BETWEEN_WORDS = re.compile(r"\s|[;。、，；]|,(?!\d)|(?<!\d),")  # and not within a number


def newest_within[T](items: tuple[T, ...], limit: int, text: Callable[[T], str] = str) -> tuple[T, ...]:
    """The last items whose texts have at most `limit` bytes together; always at least the last one.

    Every worker receives the whole session and every prompt its messages, so neither may grow without bound.
    """
    newest: list[T] = []
    for item in reversed(items):
        limit -= len(text(item).encode())
        if newest and limit < 0:
            break
        newest.append(item)
    return tuple(reversed(newest))


def within(entries: tuple[TranscriptEntry, ...], limit: int) -> tuple[TranscriptEntry, ...]:
    """The newest entries, as an append-only reader with room for `limit` bytes would have kept them.

    Whenever there are more, the oldest are left out down to half of the limit. One entry takes no more than half of it.
    """
    entries = tuple(fitting(entry, limit // 2) for entry in entries)
    first = total = 0
    for last, entry in enumerate(entries):
        total += entry.size
        if total > limit:
            while total > limit // 2 and first < last:
                total -= entries[first].size
                first += 1
    return entries[first:]


def fitting(entry: TranscriptEntry, limit: int) -> TranscriptEntry:
    """The entry, cut to this many bytes. Of a service's reply, which is JSON, each text is cut."""
    if entry.size <= limit:
        return entry
    reply = json.loads(entry.text) if entry.is_reply else None
    text, characters = entry.text, (limit - NOTE) * 4 // 3
    while len(text.encode()) > limit and characters > MIN_TEXT:
        characters = characters * 3 // 4
        whole = cut(entry.text, characters, f"event {entry.version} has all of it")
        text = whole if reply is None else json.dumps(_shortened(reply, characters), ensure_ascii=False)
    return replace(entry, text=text)


def cut(text: str, limit: int, rest: str = "") -> str:
    """The text, or its beginning and its end with a note on the `rest` between them, never cut within a word."""
    if len(text) <= limit:
        return text
    head, tail = _word_end(text, limit * 2 // 3), len(text) - _word_end(text[::-1], limit // 3)
    return f"{text[:head].rstrip()}\n{CUT} ({rest or f'{tail - head} characters'}) {CUT}\n{text[tail:].lstrip()}"


def _word_end(text: str, at: int) -> int:
    """The nearest place before `at` where no word or number is split; `at` itself in a text without such a place."""
    found = [match.start() for match in BETWEEN_WORDS.finditer(text, max(at - BOUNDARY, 0), at + 1)]
    return max((place for place in found if place < at), default=at)


def _shortened(value: object, limit: int) -> object:
    """The value with each text cut to about this many characters; those in a list share them."""
    match value:
        case str():
            return cut(value, limit)
        case list():
            return [_shortened(item, max(limit // len(value), MIN_TEXT)) for item in value]
        case dict():
            return {name: _shortened(item, limit) for name, item in value.items()}
    return value
