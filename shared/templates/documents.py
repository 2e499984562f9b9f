"""Reads and writes templates as JSON and YAML documents. Pure.

YAML is read like JSON with another syntax: a plain word is a string, unless JSON would read it as a number, true, false
or null. (YAML 1.1 reads 12:30:45 as 45045 and `no` as false.) Duplicate keys, aliases and tags are refused.
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
MAX_DOCUMENT_LENGTH, MAX_DEPTH = 200_000, 40  # characters of a document; levels of lists and objects
_SCALARS = {
    "tag:yaml.org,2002:null": r"null",
    "tag:yaml.org,2002:bool": r"true|false",
    "tag:yaml.org,2002:int": r"-?(?:0|[1-9][0-9]*)",
    "tag:yaml.org,2002:float": r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)",
}


def read_template(text: str, form: Format) -> Template:
    """The template in the document. Raises Invalid with the problem and its place."""
    if len(text) > MAX_DOCUMENT_LENGTH:
        raise Invalid(f"The document has {len(text)} characters; {MAX_DOCUMENT_LENGTH} are allowed.")
    value = _json(text) if form == "json" else _yaml(text)
    _check_storable(value)
    if not isinstance(value, dict):
        raise Invalid("The document is not a template: it has no name, goal and steps.")
    try:
        return Template.model_validate_json(json.dumps(value), extra="forbid")
    except (ValidationError, ValueError) as error:
        raise Invalid(f"The document is not a template: {_validation_message(error)}") from error


def write_template(template: Template, form: Format) -> str:
    """The document. All strings are quoted, so that no reader takes one for a number or a time."""
    value = json.loads(template.model_dump_json(exclude_defaults=True))
    if form == "json":
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return yaml.dump(value, Dumper=_YamlDumper, sort_keys=False, allow_unicode=True, width=2**31)


def _validation_message(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False)[:3])


def _check_storable(value: JsonValue, deep: int = 0) -> None:
    """Raises Invalid for values that JSON or YAML can hold, but the log or database cannot."""
    match value:
        case str() if "\0" in value:
            raise Invalid("The document contains a NUL character, which databases do not store.")
        case float() if not math.isfinite(value):
            raise Invalid("The document contains a number that is too large.")
        case dict() | list() if deep >= MAX_DEPTH:
            raise Invalid(f"The document has more than {MAX_DEPTH} levels of lists and objects.")
        case dict():
            for name, item in value.items():
                _check_storable(name, deep)
                _check_storable(item, deep + 1)
        case list():
            for item in value:
                _check_storable(item, deep + 1)


def _json(text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            twice = next(name for name in value if [pair[0] for pair in pairs].count(name) > 1)
            raise Invalid(f"“{twice[:100]}” occurs twice in one object.")
        return value

    def refused(name: str) -> None:
        raise Invalid(f"{name} is not a JSON number.")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refused)
    except json.JSONDecodeError as error:
        raise Invalid(f"This is not valid JSON: {error}") from error
    except (RecursionError, ValueError) as error:
        raise Invalid("This JSON cannot be read: it is nested too deep, or has too long a number.") from error


def _yaml(text: str) -> JsonValue:
    try:
        value: JsonValue = yaml.load(text, Loader=_YamlLoader)  # noqa: S506  a SafeLoader
    except yaml.YAMLError as error:
        raise Invalid(f"This YAML cannot be read: {_yaml_problem(error)[:500]}") from error
    except (RecursionError, ValueError) as error:
        raise Invalid("This YAML cannot be read: it is nested too deep, or has too long a number.") from error
    return value


def _yaml_problem(error: yaml.YAMLError) -> str:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        return " ".join(str(error).split())
    what = ", ".join(filter(None, (error.context, error.problem)))
    return f"{what}, in line {mark.line + 1}, column {mark.column + 1}."


class _YamlLoader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  a class's own, as PyYAML has it
    deep = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.events.AliasEvent):
            raise _refusal(f"*{event.anchor} is an alias: write the value out", event)
        if event.anchor:
            raise _refusal(f"&{event.anchor} is an anchor: write each value out", event)
        if event.tag not in (None, "!"):
            raise _refusal(f"the tag {event.tag} is not supported", event)
        self.deep += 1
        if self.deep > MAX_DEPTH:
            raise _refusal(f"it has more than {MAX_DEPTH} levels", event)
        node = super().compose_node(parent, index)
        self.deep -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        names: set[Any] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is None:
                raise _refusal("a name must be a text", key)
            if name in names:
                raise _refusal(f"“{name[:100]}” occurs twice", key)
            names.add(name)
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}


def _refusal(why: str, where: Any) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, why, where.start_mark)


for _tag, _pattern in _SCALARS.items():
    _YamlLoader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), None)
_YamlLoader.add_constructor("tag:yaml.org,2002:int", lambda _, node: int(node.value))
_YamlLoader.add_constructor("tag:yaml.org,2002:float", lambda _, node: float(node.value))


class _YamlDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_str(self, text: str) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style='"')

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:
        """Writes keys without quotes if no reader takes them for something else."""
        node = super().represent_mapping(tag, mapping, flow_style)
        for key, _ in node.value:
            tag_of: Any = self.resolve
            is_text = tag_of(yaml.ScalarNode, key.value, (True, False)) == "tag:yaml.org,2002:str"
            if is_text and key.value.isascii() and key.value.isidentifier() and key.value not in ("y", "n", "Y", "N"):
                key.style = None
        return node


_YamlDumper.add_representer(str, _YamlDumper.represent_str)
