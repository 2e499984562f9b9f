"""Renders pydantic models as Markdown tables of their fields, with types in words."""

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
MESSAGES = {
    model.__name__: f"server-{model.model_fields['type'].default}"
    for model in get_args(get_args(AnyServerMessage)[0])  # headings of docs/protocol.md, by the name of the model
} | {f"Screen{kind.title()}": f"screen-{kind}" for kind in ("snapshot", "event", "delta")}


def fill(name: str, **parts: str) -> str:
    """The document `name`: its template in gen_text/ with every `<<part>>` filled in.

    Raises LookupError if template and `parts` do not have the same names.
    """
    text = (TEXT / f"{name}.md").read_text(encoding="utf-8")
    if differ := set(re.findall("<<([a-z]+)>>", text)) ^ parts.keys():
        raise LookupError(f"gen_text/{name}.md and its generator differ in {', '.join(sorted(differ))}")
    return NOTICE + "\n" + re.sub("<<([a-z]+)>>", lambda match: parts[match[1]].rstrip("\n"), text)


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


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema(by_alias=True)


def meanings(model: type[BaseModel], *, without: Iterable[str] = ()) -> dict[str, str]:
    """The description of each field, by its name in JSON. Raises LookupError for a field without one."""
    left_out = {*without, "type"}
    return {
        field.alias or name: _description(model, name, field.description)
        for name, field in model.model_fields.items()
        if (field.alias or name) not in left_out
    }


def _description(model: type[BaseModel], field: str, text: str | None) -> str:
    if not text:
        raise LookupError(f"{model.__name__}.{field} has no description")
    return text


def fields(model: type[BaseModel], *, without: Iterable[str] = ()) -> str:
    """The model's fields as a table; "" if it has none."""
    schema = schema_of(model)
    required = set(schema.get("required", ()))
    left_out = {*without, "type"}
    meaning = meanings(model, without=without)
    rows = [
        (f"`{name}`", type_words(spec), _default(spec, name in required), meaning[name])
        for name, spec in schema.get("properties", {}).items()
        if name not in left_out
    ]
    return table(("Field", "Type", "Default", "Meaning"), rows) if rows else ""


def _default(spec: Mapping[str, Any], is_required: bool) -> str:
    if is_required:
        return "required"
    return f"`{json.dumps(spec['default'])}`" if "default" in spec else "`{}`"


def type_words(spec: Mapping[str, Any]) -> str:  # noqa: C901, PLR0911  one line a kind of type
    """A JSON schema in words."""
    if "$ref" in spec:
        name = str(spec["$ref"]).rsplit("/", 1)[1]
        return FREE if name == "JsonValue" else f"[{name}](#{MESSAGES.get(name, name.lower())})"
    if "const" in spec:
        return f"`{json.dumps(spec['const'])}`"
    if "enum" in spec:
        return " \\ ".join(f"`{value}`" for value in spec["enum"]).replace(" \\ ", ", ")
    if "oneOf" in spec or "anyOf" in spec:
        parts = [type_words(part) for part in spec.get("oneOf", spec.get("anyOf", ()))]
        return "an event" if "oneOf" in spec else " or ".join("none" if part == "null" else part for part in parts)
    match spec.get("type"):
        case "array":
            return f"list of {type_words(spec['items'])}{_between(spec, 'minItems', 'maxItems', '')}"
        case "string" if spec.get("format") == "date-time":
            return "time"
        case "string":
            return "text" + (_pattern(spec) or _between(spec, "minLength", "maxLength", " characters"))
        case "integer" | "number" as kind:
            return f"{kind}{_range(spec)}"
        case "object":
            return "object"
        case None:
            return FREE
        case other:
            return f"{other}"


def _between(spec: Mapping[str, Any], least: str, most: str, unit: str) -> str:
    match spec.get(least), spec.get(most):
        case None, None:
            return ""
        case None, high:
            return f" (at most {high:,}{unit})"
        case low, None:
            return f" (at least {low:,}{unit})"
        case low, high:
            return f" ({low:,} to {high:,}{unit})"


def _pattern(spec: Mapping[str, Any]) -> str:
    return f" `{spec['pattern']}`" if "pattern" in spec else ""


def _range(spec: Mapping[str, Any]) -> str:
    limits = [
        f"{sign} {spec[key]:g}"
        for key, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"))
        if key in spec
    ]
    return f" {', '.join(limits)}" if limits else ""
