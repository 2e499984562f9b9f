"""Text for terminals: invisible characters made visible, one-line summaries, and counts."""

import sys
import unicodedata

_PLAIN = "\n\t\u200c\u200d"  # with the joiners that Persian and emoji need, which are harmless


def visible(text: str) -> str:
    """The text with each invisible character as its code point, such as <U+001B>; line breaks and tabs stay.

    These are control characters, which begin escape sequences, line separators, and format characters, some of which
    reorder text. The page has the same rule.
    """
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_SHOWN)


class _Shown(dict[int, str]):
    """Maps each code point to its replacement; computed once per character."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = character in _PLAIN or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        self[code] = character if plain else f"<U+{code:04X}>"
        return self[code]


_SHOWN = _Shown()


def print_visible(text: str, *, end: str = "\n") -> None:
    """Print to stdout: unchanged to a file or pipe, with invisible characters shown on a terminal."""
    print(visible(text) if sys.stdout.isatty() else text, end=end, flush=True)


def one_line(text: str) -> str:
    return " ".join(text.split())


def short(text: str, length: int = 80) -> str:
    """The text on one line, with invisible characters shown, cut at `length` characters."""
    line = one_line(visible(text))
    return line if len(line) <= length else f"{line[: length - 1]}…"


def counted(number: int, noun: str) -> str:
    """A number with its noun, like "1 step" or "2 steps"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
