"""Tokenizes a statement as the database's own scanner does: words, names, strings and numbers.

sqlglot parses almost as the databases do, and a hostile statement exploits the difference. So the security checks (a
single statement, how it begins, which functions it calls) use these tokens.

The scanners of PostgreSQL 13 to 18 and of SQLite's versions differ as well. Text that two of them could tokenize
differently gets a kind in `FAULTS`, and `parse_query` refuses it.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

from sql.schema import Dialect

type TokenKind = Literal[
    "word", "name", "string", "number", "mark", "unclosed", "escaped", "glued", "parameter", "foreign"
]
FAULTS: dict[TokenKind, str] = {
    "unclosed": "has no end. Close the quotation mark, or the comment.",
    "escaped": "hides what it names. Write names and texts as they are, without U&.",
    "glued": "is not a plain number. Write decimal digits, and a space before what follows.",
    "parameter": "is a parameter, and there are no values for parameters. Write the value.",
    "foreign": "may only stand within quotation marks. Take it out.",
}


@dataclass(frozen=True, slots=True)
class Token:
    """One token. A `word` is unquoted, in lower case; a `name` was quoted and has no quotes here."""

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def identifier(self) -> str | None:
        """The name that this may stand for, in lower case, as SQLite compares names."""
        return self.text.lower() if self.kind in ("word", "name") else None


# Groups are possessive: an unclosed string must not match up to an earlier quotation mark.
_NUMBER = r"(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+"
_SQLITE = re.compile(
    rf"""(?P<space>[\ \t\n\f\r]++|\A\ufeff|--[^\n]*+|/\*.*?\*/)
      | (?P<string>[xX]'[0-9A-Fa-f]*+' | '(?:[^']|'')*+')
      | (?P<name>"(?:[^"]|"")*+" | `(?:[^`]|``)*+` | \[[^\]]*+\])
      | (?P<unclosed>(?:[xX]?'|"|`|\[|/\*).*+)
      | (?P<word>[A-Za-z_\x80-\ufefe\uff00-\U0010ffff][\w$\x80-\ufefe\uff00-\U0010ffff]*+)
      | (?P<number>(?:0[xX][0-9A-Fa-f]++|{_NUMBER})(?![\w$.'"`\x80-\U0010ffff]))
      | (?P<glued>\.?\d[\w$.\x80-\U0010ffff]*+)
      | (?P<parameter>[?$@:\#]\w*+)
      | (?P<mark>[,();.+\-*/%<>=!|&~])
      | (?P<foreign>.)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_POSTGRES = re.compile(
    rf"""(?P<space>[\ \t\n\f\r]++|--[^\n\r]*+)
      | (?P<comment>/\*)
      | (?P<string>[eE]'(?:[^'\\]|\\.|'')*+' | [bBxX]'[^']*+' | '(?:[^']|'')*+'
          | \$(?P<tag>(?:[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*+)?+)\$.*?\$(?P=tag)\$)
      | (?P<name>"(?:[^"]|"")++")
      | (?P<unclosed>(?:[eEbBxX]?'|"|\$(?:[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*+)?+\$).*+)
      | (?P<escaped>[uU]&['"])
      | (?P<word>[A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*+)
      | (?P<number>{_NUMBER}(?![\w$.'"\x80-\U0010ffff]))
      | (?P<glued>\.\. | \.?\d[\w$.\x80-\U0010ffff]*+)
      | (?P<parameter>\$\d++)
      | (?P<mark>[,()\[\].;:+\-*/%^<>=~!@\#&|`?])
      | (?P<foreign>.)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_COMMENT = re.compile(r"/\*|\*/")


def tokenize(sql: str, dialect: Dialect) -> list[Token]:
    """The tokens without spaces and comments. An unclosed token extends to the end."""
    pattern = _SQLITE if dialect == "sqlite" else _POSTGRES
    result: list[Token] = []
    position = 0
    while match := pattern.match(sql, position):
        start, position, text = position, match.end(), match.group()
        kind: Any = match.lastgroup  # a TokenKind, except for the cases below
        match kind:
            case "space":
                pass
            case "comment":
                position, closed = _after_comment(sql, position)
                if not closed:
                    result.append(Token("unclosed", sql[start:], start, position))
            case "word":
                result.append(Token("word", text.lower(), start, position))
            case "name":
                closing = "]" if text[0] == "[" else text[0]
                result.append(Token("name", text[1:-1].replace(closing * 2, closing), start, position))
            case "tag":  # the innermost matched group
                result.append(Token("string", text, start, position))
            case _:
                result.append(Token(kind, text, start, position))
    return result


def _after_comment(sql: str, position: int) -> tuple[int, bool]:
    """The end of a PostgreSQL comment, which may be nested, and whether it is closed."""
    depth = 1
    while depth and (match := _COMMENT.search(sql, position)):
        depth += 1 if match.group() == "/*" else -1
        position = match.end()
    return (len(sql), False) if depth else (position, True)
