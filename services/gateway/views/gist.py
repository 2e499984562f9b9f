"""What a tool returned, in one line. Pure."""

import json
import re

from pydantic import JsonValue

from parley.protocol.words import JOURNAL, TABLES

LONGEST = 240  # characters
READ = 20_000  # characters of a text that is looked at as JSON


def gist(value: JsonValue) -> str:
    """Of a document its plain fields, which say more than its beginning; of a list how many; of a run what it wrote."""
    read = _parsed(value)
    match read:
        case None:
            return ""
        case list():
            return _line(f"{len(read)} in all: {_json(read)}")
        case {"stdout": str() as out, "stderr": str() as err}:
            return _line(out.strip() or err.strip() or JOURNAL["no_output"])
        case dict():
            plain = {name: one for name, one in read.items() if not isinstance(one, (dict, list))}
            return _line(" · ".join(f"{name}: {_plain(one)}" for name, one in plain.items()) if plain else _json(read))
        case str():
            return _line(read)
        case _:
            return _line(_json(read))


def chosen(answer: str) -> str:
    """An answer as a person would say it: of a form for tables their names, of another form its fields."""
    match _parsed(answer):
        case {"tables": [*names]}:
            return TABLES["use_one"].format(table=", ".join(map(str, names)) or "no table")
        case dict() as fields if fields:
            return gist(fields)
    return answer


def _parsed(value: JsonValue) -> JsonValue:
    """The document that a text is, or the value itself."""
    if not isinstance(value, str) or len(value) > READ or not re.match(r"\s*[\[{]", value):
        return value
    try:
        read: JsonValue = json.loads(value)
    except ValueError:
        return value
    return read


def _plain(value: JsonValue) -> str:
    return "–" if value is None else value or "“”" if isinstance(value, str) else _json(value)


def _json(value: JsonValue) -> str:
    """Only as much of it as is shown."""
    parts, size = [], 0
    for part in json.JSONEncoder(ensure_ascii=False).iterencode(value):
        parts.append(part)
        size += len(part)
        if size > LONGEST:
            break
    return "".join(parts)


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text[: 4 * LONGEST])[:LONGEST]
