"""Text of others in a terminal: what would move its cursor, change its colours or reorder words is shown instead."""

import sys
import unicodedata

_PLAIN = "\n\t\u200c\u200d"  # with the joiners, which Persian and emoji need, and which move nothing


def visible(text: str) -> str:
    """The text with each character that nobody sees as its number, such as <U+001B>; line breaks and tabs stay.

    These are control characters, with which escape sequences begin, line separators, and characters that only format,
    among them those that show text in another order than it has. The page has the same rule.
    """
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_SHOWN)


class _Shown(dict[int, str]):
    """How each character is shown, by its number; looked up once."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        plain = character in _PLAIN or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        self[code] = character if plain else f"<U+{code:04X}>"
        return self[code]


_SHOWN = _Shown()


def print_visible(text: str, *, end: str = "\n") -> None:
    """To stdout: as it is for a file or a program, made visible for a person at a terminal."""
    print(visible(text) if sys.stdout.isatty() else text, end=end, flush=True)
