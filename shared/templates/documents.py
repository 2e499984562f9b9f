"""Templates as documents, JSON and YAML, read and written. Pure.

YAML is read as JSON with another spelling: a plain word is a text, unless it is spelled as JSON spells a number, true,
false or null. (YAML 1.1 reads 12:30:45 as 45045 and `no` as false.) A name that stands twice, an alias and a tag are
refused.
"""

import json
import math
import re
from collections.abc import Hashable
from typing import Any, Literal

import yaml
from pydantic import JsonValue, ValidationError

from parley.protocol.templates import Template
from shared.domain.errors import Invalid

Format = Literal["json", "yaml"]
LARGEST, DEPTH = 200_000, 40  # characters of a document; levels of lists and objects
_SCALARS = {
    "tag:yaml.org,2002:null": r"null",
    "tag:yaml.org,2002:bool": r"true|false",
    "tag:yaml.org,2002:int": r"-?(?:0|[1-9][0-9]*)",
    "tag:yaml.org,2002:float": r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)",
}


def read_template(text: str, form: Format) -> Template:
    """Raises Invalid with what is wrong, and where."""
    if len(text) > LARGEST:
        raise Invalid(f"The document has {len(text)} characters; {LARGEST} are allowed.")
    value = _json(text) if form == "json" else _yaml(text)
    _check_storable(value)
    if not isinstance(value, dict):
        raise Invalid("The document is no template: it has no name, goal and steps.")
    try:
        return Template.model_validate_json(json.dumps(value), extra="forbid")
    except (ValidationError, ValueError) as error:
        raise Invalid(f"The document is no template: {_told(error)}") from error


def written(template: Template, form: Format) -> str:
    """The document; every text is quoted in it, so that other readers take none for a number or a time."""
    value = json.loads(template.model_dump_json(exclude_defaults=True))
    if form == "json":
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31)


def _told(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False)[:3])


def _check_storable(value: JsonValue, deep: int = 0) -> None:
    """Raises Invalid for what JSON or YAML can say, and no log or database can keep."""
    match value:
        case str() if "\0" in value:
            raise Invalid("The document has a NUL character in it, which databases do not keep.")
        case float() if not math.isfinite(value):
            raise Invalid("The document has a number in it that is too large.")
        case dict() | list() if deep >= DEPTH:
            raise Invalid(f"The document has more than {DEPTH} levels of lists and objects.")
        case dict():
            for name, item in value.items():
                _check_storable(name, deep)
                _check_storable(item, deep + 1)
        case list():
            for item in value:
                _check_storable(item, deep + 1)


def _json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = next(name for name in found if [pair[0] for pair in pairs].count(name) > 1)
            raise Invalid(f"“{twice[:100]}” stands twice in one object.")
        return found

    def refused(name: str) -> None:
        raise Invalid(f"{name} is no number of JSON.")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refused)
    except json.JSONDecodeError as error:
        raise Invalid(f"This is no JSON: {error}") from error
    except (RecursionError, ValueError) as error:
        raise Invalid(
            "This is no JSON that can be read: it is nested too deep, or has a number without end."
        ) from error


def _yaml(text: str) -> JsonValue:
    try:
        found: JsonValue = yaml.load(text, Loader=_Loader)  # noqa: S506  a SafeLoader
    except yaml.YAMLError as error:
        raise Invalid(f"This YAML cannot be read: {_yaml_problem(error)[:500]}") from error
    except (RecursionError, ValueError) as error:
        raise Invalid("This YAML cannot be read: it is nested too deep, or has a number without end.") from error
    return found


def _yaml_problem(error: yaml.YAMLError) -> str:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        return " ".join(str(error).split())
    what = ", ".join(filter(None, (error.context, error.problem)))
    return f"{what}, in line {mark.line + 1}, column {mark.column + 1}."


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  a class's own, as PyYAML has it
    deep = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.events.AliasEvent):
            raise _refusal(f"*{event.anchor} is an alias: write the value out", event)
        if event.anchor:
            raise _refusal(f"&{event.anchor} is an anchor: write each value out", event)
        if event.tag not in (None, "!"):
            raise _refusal(f"the tag {event.tag} is not read", event)
        self.deep += 1
        if self.deep > DEPTH:
            raise _refusal(f"it has more than {DEPTH} levels", event)
        node = super().compose_node(parent, index)
        self.deep -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is None:
                raise _refusal("a name is a text", key)
            if name in seen:
                raise _refusal(f"“{name[:100]}” stands twice", key)
            seen.add(name)
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}


def _refusal(why: str, where: Any) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, why, where.start_mark)


for _tag, _pattern in _SCALARS.items():
    _Loader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), None)
_Loader.add_constructor("tag:yaml.org,2002:int", lambda _, node: int(node.value))
_Loader.add_constructor("tag:yaml.org,2002:float", lambda _, node: float(node.value))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, text: str) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style='"')

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:
        """Names that no reader takes for something else are written without quotes."""
        node = super().represent_mapping(tag, mapping, flow_style)
        for key, _ in node.value:
            tag_of: Any = self.resolve
            is_text = tag_of(yaml.ScalarNode, key.value, (True, False)) == "tag:yaml.org,2002:str"
            if is_text and key.value.isascii() and key.value.isidentifier() and key.value not in ("y", "n", "Y", "N"):
                key.style = None
        return node


_Dumper.add_representer(str, _Dumper.represent_str)
