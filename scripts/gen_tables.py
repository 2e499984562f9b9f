"""Documents from templates, and pydantic models as Markdown: tables of their fields, with types in words."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from parley.protocol.server import AnyServerMessage

TEXT = Path(__file__).resolve().parent / "gen_text"
NOTICE = "<!-- Written by scripts/generate.py (`make docs`) from the code: change that, not this. -->\n"
FREE = "any JSON"
TYPES = {"string": "text", "null": "none"}
RANGES = (("minimum", "maximum", ""), ("minLength", "maxLength", " characters"), ("minItems", "maxItems", ""))
ANCHORS = {
    model.__name__: f"server-{model.model_fields['type'].default}"
    for model in get_args(get_args(AnyServerMessage)[0])  # headings of docs/protocol.md, by the name of the model
} | {f"Screen{kind.title()}": f"screen-{kind}" for kind in ("snapshot", "event", "delta")}


def fill(name: str, **parts: str) -> str:
    """The document `name`: its template in gen_text/ with every `<<part>>` filled in.

    Raises LookupError if template and `parts` do not have the same names.
    """
    text = (TEXT / f"{name}.md").read_text(encoding="utf-8")
    if differ := set(re.findall("<<([a-z_]+)>>", text)) ^ parts.keys():
        raise LookupError(f"gen_text/{name}.md and its generator differ in {', '.join(sorted(differ))}")
    return NOTICE + "\n" + re.sub("<<([a-z_]+)>>", lambda match: parts[match[1]].rstrip("\n"), text)


def flat(text: str | None) -> str:
    """A docstring on one line."""
    return " ".join((text or "").split())


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table. Bars in cells are escaped."""
    columns = list(head)
    lines = [columns, ["---"] * len(columns), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def example(data: Any) -> str:
    """A JSON block."""
    return f"```json\n{json.dumps(data, indent=2, ensure_ascii=False)}\n```\n"


def section(
    model: type[BaseModel], heading: str = "", *, about: str = "", without: Iterable[str] = (), data: Any = None
) -> str:
    """A model's heading, what it is, its fields, and an example."""
    words = [f"### {heading or model.__name__}", flat(model.__doc__), about, fields(model, without=without)]
    return "\n\n".join(part.rstrip("\n") for part in (*words, example(data) if data else "") if part) + "\n"


def fields(model: type[BaseModel], *, without: Iterable[str] = ()) -> str:
    """The model's fields as a table; "" if it has none. Raises LookupError for a field without a description."""
    schema = model.model_json_schema(by_alias=True)
    rows = []
    for name, spec in schema.get("properties", {}).items():
        if name in ("type", *without):
            continue
        meaning = spec.get("description") or ("always this" if "const" in spec else "")
        if not meaning:
            raise LookupError(f"{model.__name__}.{name} has no description")
        default = f"`{json.dumps(spec['default'])}`" if "default" in spec else "`{}`"
        is_required = name in schema.get("required", ())
        rows.append((f"`{name}`", type_words(spec), "required" if is_required else default, meaning))
    return table(("Field", "Type", "Default", "Meaning"), rows) if rows else ""


def type_words(spec: Mapping[str, Any]) -> str:  # noqa: PLR0911  one line a kind of type
    """A JSON schema in words."""
    match spec:
        case {"$ref": str(target)}:
            name = target.rpartition("/")[2]
            return FREE if name == "JsonValue" else f"[{name}](#{ANCHORS.get(name, name.lower())})"
        case {"const": value}:
            return f"`{json.dumps(value)}`"
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"oneOf": _}:
            return "an event"
        case {"anyOf": parts}:
            return " or ".join(type_words(part) for part in parts)
        case {"type": "array", "items": items}:
            return f"list of {type_words(items)}{_limits(spec)}"
        case {"type": str(kind)}:
            words = "time" if spec.get("format") == "date-time" else TYPES.get(kind, kind)
            return f"{words}{_limits(spec)}"
        case _:
            return FREE


def _limits(spec: Mapping[str, Any]) -> str:
    if "pattern" in spec:
        return f" `{spec['pattern']}`"
    limits = [f"more than {spec['exclusiveMinimum']:,}"] if "exclusiveMinimum" in spec else []
    for least, most, unit in RANGES:
        low, high = (f"{spec[name]:,}".removesuffix(".0") if name in spec else "" for name in (least, most))
        if low and high:
            limits.append(f"{low} to {high}{unit}")
        elif low or high:
            limits.append(f"at least {low}{unit}" if low else f"at most {high}{unit}")
    return f" ({', '.join(limits)})" if limits else ""
