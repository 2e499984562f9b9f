"""Rows as CSV in which a spreadsheet sees no cell as a formula. The page writes the same."""

import json
import re
import unicodedata
from collections.abc import Mapping

from pydantic import JsonValue

_UTF8_MARK = "\ufeff"  # without it Excel reads the file in the Windows code page of its country
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
_QUOTED = re.compile(r"[\",;|'\s]")


def as_csv(result: Mapping[str, JsonValue]) -> str:
    """A file (RFC 4180) that begins with a mark of UTF-8. Null is empty; lists and objects are JSON."""
    rows = [_list(result.get("columns")), *map(_list, _list(result.get("rows")))]
    return _UTF8_MARK + "".join(",".join(map(_cell, row)) + "\r\n" for row in rows)


def _cell(value: JsonValue) -> str:
    """A cell, also quoted if it contains another country's separator."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, str) and is_formula(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def is_formula(text: str) -> bool:
    """Whether a spreadsheet may run this text: =, +, - or @ in any width, possibly after invisible characters.

    A leading tab or line break is enough, as OWASP lists it. A number as text is not a formula.
    """
    if text[:1] in ("\t", "\r", "\n"):
        return True
    bare = next((c for c in text if not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf")), "")
    return unicodedata.normalize("NFKC", bare) in ("=", "+", "-", "@") and not _NUMBER.fullmatch(text)


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
