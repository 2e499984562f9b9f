"""Matches requests with programs and features. A word of the registry matches every word that begins with it."""

import re
from collections.abc import Iterable
from functools import reduce

from rehearsal.registry import PROGRAMS, Feature, ProgramSpec

_DROP = re.compile(r"\b(without|no longer|no|remove|drop|delete|leave out|avoid)\b", re.IGNORECASE)


def has_words(text: str, phrase: str) -> bool:
    """Whether every word of the phrase begins a word of the text; with short words, as in `to do`, all in a row."""
    parts = phrase.lower().split()
    if min(map(len, parts)) < 4:
        pattern = r"\W+".join(rf"{re.escape(part)}\w*" if len(part) > 3 else rf"{re.escape(part)}\b" for part in parts)
        return re.search(rf"\b{pattern}", text, re.IGNORECASE) is not None
    words = re.findall(r"[^\W_]+", text.lower())
    return all(any(word.startswith(part) for word in words) for part in parts)


def mentioned(text: str, phrases: str) -> list[str]:
    """Those of the phrases, which have commas between them, that the text has."""
    return [phrase for phrase in phrases.split(", ") if has_words(text, phrase)]


def find_program(*texts: str) -> ProgramSpec | None:
    """The program named in the first text that names one; of several, the one with the longest matching phrase."""
    for text in texts:
        scored = [
            (max((len(phrase) for phrase in mentioned(text, program.words)), default=0), program)
            for program in PROGRAMS
        ]
        score, best = max(scored, key=lambda entry: entry[0])
        if score:
            return best
    return None


def find_features(program: ProgramSpec, text: str) -> list[Feature]:
    """The features of this program that the text mentions."""
    return [feature for feature in program.features if mentioned(text, feature.words)]


def apply_features(program: ProgramSpec, features: frozenset[str], lines: Iterable[str]) -> frozenset[str]:
    """The features after each line has added those it mentions, or removed them if it says so."""

    def step(now: frozenset[str], line: str) -> frozenset[str]:
        drops = _DROP.search(line) and not re.search(r"\badd\b", line, re.IGNORECASE)
        named = find_features(program, line)
        gone = {feature.name for feature in named if drops and not feature.avoids}
        return now - gone | {feature.name for feature in named} - gone

    return reduce(step, lines, features)


def directives(text: str) -> list[str]:
    """Feedback as a list of things to do: one a line, or between semicolons."""
    return [part.strip() for part in re.split(r"[\n;]", text) if part.strip()]


_NUMBER = re.compile(
    r"\b(?:up to|below|under|first|top|use|length|limit|shift|maximum|count|size|range|between \d+ and|\d+ to"
    r"|(?:length|limit|shift|maximum|count|attempts|guesses|instead|change it|set it) (?:of|to|by|is))\s+(\d+)\b"
    r"|\b(\d+) (?:instead|characters?|chars?|letters|numbers|attempts|guesses|words|tries)\b",
    re.IGNORECASE,
)


def find_number(program: ProgramSpec, line: str) -> tuple[str, int] | None:
    """The constant that a line sets, as (name, value): `use 20 characters instead`, `up to 50`."""
    match = _NUMBER.search(line)
    feature = next((feature.number for feature in find_features(program, line) if feature.number), "")
    name = feature or program.number
    if not match or not name:
        return None
    value = int(match[1] or match[2])
    return (name, value) if program.least <= value <= 1000 else None
