"""How long a model server asks its clients to wait: in headers, in fields of its error, or in words."""

import email.utils
import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain, islice
from math import ceil

import httpx2
import openai

from shared.llm.completion import ErrorAnswer

LONGEST = 366 * 86_400.0  # seconds; a longer wait is a mistake of the server's
EPOCH = 1e9  # a number from here on is a time in seconds since 1970, from 1,000 times as much on in milliseconds
MAX_LEAVES, MAX_DEPTH, MAX_TEXT = 200, 8, 4_000  # of an error's body
UNITS = {"ms": 0.001, "mil": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}  # by the beginnings of their names
UNIT = "(?:ms(?:ecs?)?|milli(?:second)?s?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?)(?![a-z])"
NUMBER = r"\d{1,15}(?:\.\d{1,15})?"
PART = re.compile(rf"({NUMBER}) ?({UNIT})")
DURATION = rf"{NUMBER} ?{UNIT}(?:,? ?(?:and )?{NUMBER} ?{UNIT})*"  # 1m30s, 250 ms, 2 minutes and 5 seconds
FIELD = re.compile(
    r"(?:x(?:ms)?)?(?:retry(?:after|delay|in)|resets?(?:in|after|at))(?:s|secs?|seconds?|(ms|millis|milliseconds))?"
)
PAIR = re.compile(r"(?<![\w-])([a-z][\w-]*+)[\"']?\s?[:=]\s?[\"']?([\w.:+-]*\w)", re.IGNORECASE)  # retry_after: 30
EXHAUSTED = re.compile(rf"\br(?:emaining)?=0 ?[;,] ?(?:t|reset)=({NUMBER})")  # RateLimit: "default";r=0;t=50
BEFORE = "in|after|for|at least|about|approximately|another|delay|(?:the|this|your) request"
WORDS = re.compile(
    r"\b(?:again|retry(?:ing)?|wait(?:ing)?|will reset|resets)[\s:=\"'_-]*"
    rf"(?:(?:{BEFORE})[\s:=\"'_-]*){{0,3}}({DURATION})"
)


def asked_wait(error: Exception) -> float | None:
    """Seconds that the server asks to wait before the next request; None if it does not say."""
    headers = error.response.headers if isinstance(error, openai.APIStatusError) else httpx2.Headers()
    body = list(islice(chain.from_iterable(map(_leaves, _bodies(error))), MAX_LEAVES))
    return next((wait for wait in _answers(headers, body) if wait and 0 < wait <= LONGEST), None)


def _bodies(error: Exception) -> Iterator[object]:
    """The error's body; the openai package keeps only what is under its key `error`, so also the whole of it."""
    if isinstance(error, openai.APIError | ErrorAnswer):
        yield error.body
    if isinstance(error, openai.APIStatusError):
        try:
            yield error.response.json()
        except (ValueError, RecursionError, httpx2.StreamError):
            return


def _answers(headers: httpx2.Headers, body: list[tuple[str, object]]) -> Iterator[float | None]:
    """What each part of the answer says, the plainest first."""
    now = _moment(headers.get("date", "")) or time.time()  # the server's clock, as its dates are by that
    texts = [value[:MAX_TEXT] for _, value in body if isinstance(value, str)]
    pairs = [pair for text in texts for pair in PAIR.findall(text)]
    fields = [(re.sub("[^a-z0-9]", "", name.lower()), value) for name, value in (*headers.multi_items(), *body, *pairs)]
    for name, value in fields:
        if field := FIELD.fullmatch(name):
            yield _seconds(value, now, 0.001 if field[1] else 1.0)
    for text in texts:
        if words := WORDS.search(" ".join(text.lower().split())):
            yield _duration(words[1])
    yield max(map(float, EXHAUSTED.findall(headers.get("ratelimit", ""))), default=None)
    yield _reset(dict(fields), now)


def _reset(values: Mapping[str, object], now: float) -> float | None:
    """When an exhausted limit is reset. With several limits the server must say which of them are exhausted."""
    resets = {name: value for name, value in values.items() if "ratelimit" in name and "reset" in name}
    left = {name: values.get(name.replace("reset", "remaining")) for name in resets}
    exhausted = [name for name in resets if _seconds(left[name], 0) == 0] or [
        name for name in resets if left[name] is None and len(resets) == 1
    ]
    return max((_seconds(resets[name], now) or 0 for name in exhausted), default=None)


def _leaves(body: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """The texts and numbers of a body of any shape, each with the name of its field."""
    if isinstance(body, Mapping) and depth < MAX_DEPTH:
        for key, value in body.items():
            yield from _leaves(
                value, name if key == "seconds" else str(key), depth + 1
            )  # {"retry_delay": {"seconds": 34}}
    elif isinstance(body, list) and depth < MAX_DEPTH:
        for value in body:
            yield from _leaves(value, name, depth + 1)
    else:
        yield name, body


def _seconds(value: object, now: float, unit: float = 1.0) -> float | None:
    """The seconds of a number, of a duration with units, or until a moment; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip()
    if first := re.fullmatch(rf"({NUMBER})(?:[,;].*)?", text):  # a header that was sent twice has a comma
        number = float(first[1]) * unit
        moment = number if EPOCH <= number < EPOCH * 1000 else number / 1000 if number >= EPOCH * 1000 else None
    elif re.fullmatch(DURATION, text.lower()):
        return _duration(text.lower())
    else:
        number, moment = None, _moment(text)
    return number if moment is None else moment - now


def _duration(text: str) -> float:
    return sum(
        float(number) * next(seconds for name, seconds in UNITS.items() if unit.startswith(name))
        for number, unit in PART.findall(text)
    )


def _moment(text: str) -> float | None:
    """Seconds since 1970 of a date as in HTTP or in ISO 8601; None if it is none."""
    for read in (email.utils.parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = read(text)
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, OverflowError):
            continue
    return None


def duration_text(seconds: float) -> str:
    """The duration in words, in the largest unit of which it has two: 90 s, 5 min, 3 h, 2 days."""
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{ceil(seconds / size)} {unit}"
    return f"{ceil(seconds)} s"
