"""Repairs malformed JSON of a model, but refuses a repair that drops text: without one quote a program is another.

The repair runs in a process of its own that can be ended: its time grows with the square of some texts.
"""

import json
import re
import subprocess
import sys
from typing import Any

from shared.domain.storable import storable
from shared.llm.text_objects import COMMENT, STRING

_PROGRAM = """
import json, resource, sys, json_repair
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))  # seconds; it ends even if the caller is gone
sys.stdout.write(json_repair.repair_json(json.load(sys.stdin)))
"""
_COMMENT = re.compile(rf"({STRING})|{COMMENT}|#[^\n]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\\/\"'])|[bfnrt])")
_FRACTION = re.compile(r"(?<![0-9])[0-9]++(?:\.[0-9]+(?:e[+-]?[0-9]+)?|e[+-]?[0-9]+)")  # 1.50 is read as 1.5
_OPTIONAL_COMMA = re.compile(r",(?=\s*(?:[}\]]|([\"']?)[\w-]+\1\s*:))")
_ANY_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LAST_BREAK = re.compile(r"""\\n["']\s*[,}\]"']|\n["']\s*[,}\]]""")  # at the end of a text: the repair drops it
_STRING = re.compile(r'"((?:[^"\\]++|\\.)*+)"')


def repaired(source: str, seconds: float) -> dict[str, Any] | None:
    """The repaired object; None if a repair would lose text or take longer. Blocks: call it outside the event loop.

    All strings and brackets of the source must be closed: the repair would close them itself.
    """
    escapes = {escape for escape in _ANY_ESCAPE.findall(source) if len(escape) == 1}
    is_ambiguous = escapes - set("\"'\\/bfnrt") and escapes & set("bfnrt")  # C:\Users\bob has no backspace
    if seconds <= 0 or is_ambiguous or _LAST_BREAK.search(source):
        return None
    value = _repair_json(source, seconds)
    if not isinstance(value, dict) or not any(
        _keeps_all_text(value, text) for text in (source, _COMMENT.sub(r"\1", source))
    ):
        return None
    return dict(storable(value))


def _repair_json(source: str, seconds: float) -> Any:
    """What json_repair makes of the source; None if it fails or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603  our own program; the source is its input
            [sys.executable, "-I", "-c", _PROGRAM],
            input=json.dumps(source).encode(),
            capture_output=True,
            timeout=seconds,
            check=True,
        )
        return json.loads(done.stdout)
    except (subprocess.SubprocessError, OSError, ValueError, RecursionError):
        return None


def _keeps_all_text(value: dict[str, Any], source: str) -> bool:
    """Whether the value keeps all text of the source. Layout and optional commas may differ, and quotes come in pairs.

    A text with an odd number of quotes is refused: the repair may have split one text in two.
    """
    written = json.dumps(value, ensure_ascii=False)
    if any(text.count(r"\"") % 2 for text in _STRING.findall(written)):
        return False
    before, after = _unescaped(source), _unescaped(written)
    added = sum(after.count(quote) - before.count(quote) for quote in "\"'")
    return added >= 0 and added % 2 == 0 and _normalized(before) == _normalized(after)


def _unescaped(text: str) -> str:
    return str(storable(_ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2] or " ", text)))


def _normalized(text: str) -> str:
    """The text to compare: in lower case, without quotes, blanks and optional commas, with `none` as `null`."""
    text = _FRACTION.sub(lambda number: str(float(number[0])), text.lower())
    return re.sub(r"[\s\"']+", "", _OPTIONAL_COMMA.sub("", text)).replace("none", "null")
