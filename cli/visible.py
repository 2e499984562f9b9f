"""Text of others in a terminal: what would move its cursor, change its colours or reorder words is shown instead."""

import sys
import unicodedata

_JOINERS = "\u200c\u200d"  # Persian and emoji need them, and they move nothing


def visible(text: str) -> str:
    """The text with each character that nobody sees as its number, such as <U+001B>; line breaks and tabs stay.

    These are control characters, with which escape sequences begin, line separators, and characters that only format,
    among them those that show text in another order than it has. The page has the same rule.
    """
    if text.isprintable():
        return text
    return "".join(f"<U+{ord(c):04X}>" if _is_unseen(c) else c for c in text.replace("\r\n", "\n"))


def _is_unseen(character: str) -> bool:
    if character in "\n\t" or character in _JOINERS:
        return False
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs")


def print_visible(text: str, *, end: str = "\n") -> None:
    """To stdout: as it is for a file or a program, made visible for a person at a terminal."""
    print(visible(text) if sys.stdout.isatty() else text, end=end, flush=True)
