"""Reads and writes templates as JSON and YAML documents. Pure."""

import json
from typing import Any, Literal

import yaml
from pydantic import JsonValue, ValidationError

from parley.events.problems import problem_sentences
from parley.protocol.templates import Template
from shared.documents import MAX_DEPTH, BadDocument, read_json, read_yaml
from shared.domain.kernel.errors import Invalid

Format = Literal["json", "yaml"]
MAX_DOCUMENT_LENGTH = 200_000  # characters


def read_template(text: str, form: Format) -> Template:
    """The template in the document. Raises Invalid with the problem and its place."""
    if len(text) > MAX_DOCUMENT_LENGTH:
        raise Invalid(f"The document has {len(text)} characters; {MAX_DOCUMENT_LENGTH} are allowed.")
    try:
        value = read_json(text) if form == "json" else read_yaml(text)
    except BadDocument as error:
        raise Invalid(f"This {'JSON' if form == 'json' else 'YAML'} cannot be read: {error}.") from error
    _check_storable(value)
    if not isinstance(value, dict):
        raise Invalid("The document is not a template: it has no name, goal and steps.")
    try:
        return Template.model_validate_json(json.dumps(value), extra="forbid")
    except (ValidationError, ValueError) as error:
        problems = problem_sentences(error.errors(), whole="template") if isinstance(error, ValidationError) else error
        raise Invalid(f"The document is not a template. {problems}") from error


def write_template(template: Template, form: Format) -> str:
    """The document. All strings are quoted, so that no reader takes one for a number or a time."""
    value = json.loads(template.model_dump_json(exclude_defaults=True))
    if form == "json":
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return yaml.dump(value, Dumper=_YamlDumper, sort_keys=False, allow_unicode=True, width=2**31)


def _check_storable(value: JsonValue, deep: int = 0) -> None:
    """Raises Invalid for values that JSON or YAML can hold, but the log or database cannot."""
    match value:
        case str() if "\0" in value:
            raise Invalid("The document contains a NUL character, which databases do not store.")
        case dict() | list() if deep >= MAX_DEPTH:
            raise Invalid(f"The document has more than {MAX_DEPTH} levels of lists and objects.")
        case dict():
            for name, item in value.items():
                _check_storable(name, deep)
                _check_storable(item, deep + 1)
        case list():
            for item in value:
                _check_storable(item, deep + 1)


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
