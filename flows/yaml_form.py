"""The form of a flow that is written in YAML: what may stand in the file, and what is said when something else does."""

import re
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator

from flows.checks import BadFlow
from parley.events.values import Effect

KINDS = ("prompt", "tool", "ask", "set")
TYPES = ("text", "number", "boolean", "list", "any")
REFERENCE = re.compile(r"\$([A-Za-z_]\w*)((?:\.\w+)*)")
ONE_OF = re.compile(r"one of \[(.+)\]", re.DOTALL)
BYTES, NODES, DEPTH = 200_000, 5_000, 40  # of one file
Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ToolForm(Part):
    """A call of a registered tool. In its arguments "$name" is a value of the state, "$name.part" a part of it."""

    tool: Text
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class NodeForm(Part):
    """One node: its description, and exactly one of `prompt`, `tool`, `ask` and `set`."""

    description: Text
    title: str = ""
    inputs: list[Text] = Field(default_factory=list)
    optional: list[Text] = Field(default_factory=list)
    outputs: dict[str, str] = Field(default_factory=dict)
    next: list[Text] = Field(default_factory=list)
    conditions: dict[str, str] = Field(default_factory=dict)
    confirm: str = ""
    effect: Effect = "read"
    prompt: Text | None = None
    tool: Text | list[ToolForm] | None = None
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    takes: dict[str, str] = Field(default_factory=dict)
    trouble: str = ""
    ask: Text | None = None
    options: list[Text] = Field(default_factory=list)
    otherwise: str | None = None
    set: dict[str, JsonValue] | None = None

    @field_validator("outputs")
    @classmethod
    def _types(cls, outputs: dict[str, str]) -> dict[str, str]:
        for name, kind in outputs.items():
            if kind not in TYPES and not choices(kind):
                raise ValueError(f"{name} is “{kind}”; say {', '.join(TYPES)}, or one of [first, second]")
        return outputs

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(KINDS)}; it has {' and '.join(given) or 'none'}")
        belong = {"arguments": "tool", "takes": "tool", "trouble": "tool", "options": "ask", "otherwise": "ask"}
        for name, kind in belong.items():
            if name in self.model_fields_set and given != [kind]:
                raise ValueError(f"“{name}” belongs to a node with “{kind}”")
        if self.effect != "read" and given != ["tool"]:
            raise ValueError(f"only a node with “tool” can have the effect {self.effect}")
        getattr(self, f"_{given[0]}_outputs")()
        return self

    def _prompt_outputs(self) -> None:
        if not self.outputs:
            raise ValueError("say under “outputs” what the model is to reply")

    def _ask_outputs(self) -> None:
        if list(self.outputs.values()) != ["text"]:
            raise ValueError("the answer goes to exactly one output, a text")

    def _set_outputs(self) -> None:
        if self.outputs:
            raise ValueError("what is set are its outputs: leave “outputs” out")

    def _tool_outputs(self) -> None:
        if isinstance(self.tool, list) and (self.arguments or not self.tool):
            raise ValueError("in a list of tools each has its own arguments, and there is at least one")
        if self.effect != "read" and (isinstance(self.tool, list) or self.trouble):
            raise ValueError("what changes something is one tool, and its trouble is the node's: no list, no “trouble”")
        if strange := [name for name in (*self.takes, *filter(None, [self.trouble])) if name not in self.outputs]:
            raise ValueError(f"{', '.join(strange)} must be among the outputs")
        used = {name for call in self.calls for name in _references(call.arguments)}
        if unsaid := sorted(used - {*self.inputs, *self.optional}):
            raise ValueError(f"its arguments use {', '.join(unsaid)}: name them under “inputs” or “optional”")
        if len(self.results) != 1:
            raise ValueError("the tool's result goes to exactly one output besides “takes” and “trouble”")

    @property
    def results(self) -> list[str]:
        """The output that holds the tool's result, or the answer."""
        return [name for name in self.outputs if name not in self.takes and name != self.trouble]

    @property
    def calls(self) -> tuple[ToolForm, ...]:
        if isinstance(self.tool, list):
            return tuple(self.tool)
        return (ToolForm(tool=self.tool, arguments=self.arguments),) if self.tool else ()


class FlowForm(Part):
    """A whole file."""

    name: Text
    description: Text
    starts: list[Text] = Field(default_factory=lambda: ["request"])
    nodes: Annotated[dict[str, NodeForm], Field(min_length=1)]


def choices(kind: str) -> tuple[str, ...]:
    """The texts of "one of [a, b]"; none if it is another type."""
    found = ONE_OF.fullmatch(kind.strip())
    return tuple(part for one in found[1].split(",") if (part := one.strip().strip("\"'"))) if found else ()


def _references(value: JsonValue) -> set[str]:
    """The names of the state that these arguments use."""
    if isinstance(value, str):
        found = REFERENCE.fullmatch(value)
        return {found[1]} if found else set()
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {name for part in parts for name in _references(part)}


class _Loader(yaml.SafeLoader):
    """As YAML is read, except that a key that stands twice is an error and not the last one, and that it is bounded.

    A few lines of aliases can stand for more values than there is memory, and PyYAML's nodes share what an alias
    repeats. So they are counted as often as they stand for something, before any of them is made a value.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = self._nodes = 0
        self._sizes: dict[yaml.Node, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        before = self._nodes
        self._depth += 1
        if self._depth > DEPTH:
            raise _too_much(f"this is nested more than {DEPTH} deep", event)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is None:
            return None
        if isinstance(event, yaml.AliasEvent) and node not in self._sizes:
            raise _too_much(f"“{event.anchor}” is inside of itself", event)
        self._nodes += self._sizes[node] if isinstance(event, yaml.AliasEvent) else 1
        if self._nodes > NODES:
            raise _too_much(f"there are more than {NODES:,} values, each alias counted as what it stands for", event)
        self._sizes.setdefault(node, self._nodes - before)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except ValueError as error:  # a date or a number that there is not
            raise yaml.constructor.ConstructorError(None, None, str(error)[:100], node.start_mark) from error


def _too_much(words: str, event: yaml.Event) -> yaml.MarkedYAMLError:
    mark: Any = event.start_mark  # one of two classes of Mark, and the stubs of the error know the other
    return yaml.MarkedYAMLError(problem=words, problem_mark=mark)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [key.value for key, _ in node.value]
    if twice := [key for key in dict.fromkeys(map(str, keys)) if keys.count(key) > 1]:
        raise yaml.constructor.ConstructorError(None, None, f"“{twice[0]}” stands twice", node.start_mark)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def read_form(path: Path) -> FlowForm:
    """Raises BadFlow: which file, which node, what is wrong, what to do."""
    try:
        with path.open("rb") as file:
            text = file.read(BYTES + 1)
        found = yaml.load(text.decode(), _Loader) if len(text) <= BYTES else None  # noqa: S506  a safe loader
    except OSError as error:
        raise BadFlow(path.name, (f"{error.strerror}.",)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadFlow(path.name, (f"This cannot be read as YAML: {' '.join(str(error).split())[:300]}.",)) from error
    if len(text) > BYTES:
        raise BadFlow(path.name, (f"It has more than {BYTES:,} bytes: make several flows of it.",))
    if not isinstance(found, dict):
        raise BadFlow(path.name, ("Write name, description and nodes at the left margin.",))
    try:
        return FlowForm.model_validate(found)
    except ValidationError as error:
        raise BadFlow(path.name, tuple(_told(one["loc"], one["msg"], one["type"]) for one in error.errors())) from None


def _told(place: tuple[int | str, ...], message: str, kind: str) -> str:
    """One problem as a person writes YAML: the node first, then the key."""
    where = [str(part) for part in place if part not in ("list[ToolForm]", "constrained-str", "str")]
    if where[:1] == ["nodes"] and len(where) > 1:
        where = [f"node {where[1]}", *where[2:]]
    if kind == "extra_forbidden":
        keys = NodeForm.model_fields if "node" in where[0] else FlowForm.model_fields
        return f"{', '.join(where)}: there is no such key; the keys are {', '.join(keys)}."
    if kind == "missing":
        return f"{', '.join(where)}: this is missing."
    return f"{', '.join(where) or 'the file'}: {message.removeprefix('Value error, ').rstrip('.')}."
