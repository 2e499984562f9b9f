"""A statement as the database's own scanner cuts it up: what is a word, and what only stands in a string or a comment.

sqlglot reads nearly as the databases do, and a hostile statement looks for the difference. What has to hold whatever
sqlglot makes of a text (one statement, how it begins, which functions it calls) is therefore decided on these tokens.
"""

import re
from dataclasses import dataclass
from typing import Literal

from sql.schema import Dialect

type TokenKind = Literal["word", "name", "string", "number", "mark"]


@dataclass(frozen=True, slots=True)
class Token:
    """`word` is bare, in lower case; `name` was quoted and is given without its quotes; positions are in the text."""

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def identifier(self) -> str | None:
        """The name this may stand for, in lower case: the looks compare as SQLite does."""
        return self.text.lower() if self.kind in ("word", "name") else None


_SQLITE = re.compile(
    r"""(?P<space>[\ \t\n\f\r\ufeff]+|--[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<string>'(?:[^']|'')*(?:'|\Z))
      | (?P<name>"(?:[^"]|"")*(?:"|\Z) | `(?:[^`]|``)*(?:`|\Z) | \[[^\]]*(?:\]|\Z))
      | (?P<word>[A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*)
      | (?P<number>\d\w*(?:\.\w*)?|\.\d\w*)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_POSTGRES = re.compile(
    r"""(?P<space>[\ \t\n\f\r\v]+|--[^\n\r]*)
      | (?P<comment>/\*)
      | (?P<string>[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z) | '(?:[^']|'')*(?:'|\Z)
          | \$(?P<tag>(?:[A-Za-z_\x80-\U0010ffff][\w\x80-\U0010ffff]*)?)\$.*?(?:\$(?P=tag)\$|\Z))
      | (?P<name>"(?:[^"]|"")*(?:"|\Z))
      | (?P<word>[A-Za-z_\x80-\U0010ffff][\w$\x80-\U0010ffff]*)
      | (?P<number>\d\w*(?:\.\w*)?|\.\d\w*)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_COMMENT = re.compile(r"/\*|\*/")


def tokens(sql: str, dialect: Dialect) -> list[Token]:
    """Without spaces and comments. What is not closed reaches to the end."""
    pattern = _SQLITE if dialect == "sqlite" else _POSTGRES
    found: list[Token] = []
    position = 0
    while match := pattern.match(sql, position):
        position, kind, text = match.end(), match.lastgroup, match.group()
        match kind:
            case "comment":
                position = _after_comment(sql, position)
            case "word":
                found.append(Token("word", text.lower(), match.start(), position))
            case "name":
                closing = "]" if text[0] == "[" else text[0]
                found.append(Token("name", text[1:-1].replace(closing * 2, closing), match.start(), position))
            case "number" | "mark" | "string":
                found.append(Token(kind, text, match.start(), position))
            case "tag":  # the innermost group that took part
                found.append(Token("string", text, match.start(), position))
    return found


def _after_comment(sql: str, position: int) -> int:
    """PostgreSQL's comments hold comments."""
    depth = 1
    while depth and (match := _COMMENT.search(sql, position)):
        depth += 1 if match.group() == "/*" else -1
        position = match.end()
    return len(sql) if depth else position
