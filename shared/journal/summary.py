"""One-line summaries of results and answers. Pure."""

import json
import re

from pydantic import JsonValue

from parley.protocol.words import JOURNAL, TABLES

MAX_SUMMARY_CHARS = 240  # characters
MAX_JSON_CHARS = 20_000  # longer texts are not parsed as JSON


def summarize(value: JsonValue) -> str:
    """One line about a value: a document's plain fields, a list's length, a program's output."""
    read = _parse_json(value)
    match read:
        case None:
            return ""
        case list():
            return _line(f"{len(read)} in all: {_json(read)}")
        case {"stdout": str() as out, "stderr": str() as err}:
            return _line(out.strip() or err.strip() or JOURNAL["no_output"])
        case dict():
            plain = {name: field for name, field in read.items() if not isinstance(field, (dict, list))}
            return _line(
                " · ".join(f"{name}: {_plain(field)}" for name, field in plain.items()) if plain else _json(read)
            )
        case str():
            return _line(read)
        case _:
            return _line(_json(read))


def describe_answer(answer: str) -> str:
    """An answer in words: the tables chosen in a form, or the fields of another form."""
    match _parse_json(answer):
        case {"tables": [*names]}:
            return TABLES["use_one"].format(table=", ".join(map(str, names)) or "no table")
        case dict() as fields if fields:
            return summarize(fields)
    return answer


def _parse_json(value: JsonValue) -> JsonValue:
    """The JSON document that a text contains, or the value itself."""
    if not isinstance(value, str) or len(value) > MAX_JSON_CHARS or not re.match(r"\s*[\[{]", value):
        return value
    try:
        read: JsonValue = json.loads(value)
    except ValueError:
        return value
    return read


def _plain(value: JsonValue) -> str:
    return "–" if value is None else value or "“”" if isinstance(value, str) else _json(value)


def _json(value: JsonValue) -> str:
    """JSON, only as much as is shown."""
    parts, size = [], 0
    for part in json.JSONEncoder(ensure_ascii=False).iterencode(value):
        parts.append(part)
        size += len(part)
        if size > MAX_SUMMARY_CHARS:
            break
    return "".join(parts)


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text[: 4 * MAX_SUMMARY_CHARS])[:MAX_SUMMARY_CHARS]
