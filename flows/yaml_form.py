"""The schema of flows written in YAML, and the error messages for invalid files."""

import re
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator

from flows.graph_checks import BadFlow
from parley.events.values import Effect
from shared.documents import BadDocument, decode, read_yaml

KINDS = ("prompt", "tool", "ask", "set")
TYPES = ("text", "number", "boolean", "list", "any")
REFERENCE = re.compile(r"\$([A-Za-z_]\w*)((?:\.\w+)*)")
ONE_OF = re.compile(r"one of \[(.+)\]", re.DOTALL)
MAX_BYTES, MAX_VALUES = 200_000, 5_000  # of one file
Text = Annotated[str, Field(min_length=1, max_length=20_000)]


class _FormPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ToolForm(_FormPart):
    """A call of a registered tool. In its arguments "$name" is a value of the state, "$name.part" a part of it."""

    tool: Text
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class NodeForm(_FormPart):
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
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ValueError(f"give exactly one of {', '.join(KINDS)}; it has {' and '.join(kinds) or 'none'}")
        belong = {"arguments": "tool", "takes": "tool", "trouble": "tool", "options": "ask", "otherwise": "ask"}
        for name, kind in belong.items():
            if name in self.model_fields_set and kinds != [kind]:
                raise ValueError(f"“{name}” belongs to a node with “{kind}”")
        if self.effect != "read" and kinds != ["tool"]:
            raise ValueError(f"only a node with “tool” can have the effect {self.effect}")
        getattr(self, f"_{kinds[0]}_outputs")()
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
        if undeclared := [name for name in (*self.takes, *filter(None, [self.trouble])) if name not in self.outputs]:
            raise ValueError(f"{', '.join(undeclared)} must be among the outputs")
        used = {name for call in self.calls for name in _references(call.arguments)}
        if undeclared_inputs := sorted(used - {*self.inputs, *self.optional}):
            raise ValueError(
                f"its arguments use {', '.join(undeclared_inputs)}: name them under “inputs” or “optional”"
            )
        if len(self.results) != 1:
            raise ValueError("the tool's result goes to exactly one output besides “takes” and “trouble”")

    @property
    def results(self) -> list[str]:
        """The outputs that hold the tool's result, or the answer; a valid node has exactly one."""
        return [name for name in self.outputs if name not in self.takes and name != self.trouble]

    @property
    def calls(self) -> tuple[ToolForm, ...]:
        if isinstance(self.tool, list):
            return tuple(self.tool)
        return (ToolForm(tool=self.tool, arguments=self.arguments),) if self.tool else ()


class FlowForm(_FormPart):
    """A whole file."""

    name: Text
    description: Text
    starts: list[Text] = Field(default_factory=lambda: ["request"])
    nodes: Annotated[dict[str, NodeForm], Field(min_length=1)]


def choices(kind: str) -> tuple[str, ...]:
    """The choices of "one of [a, b]"; empty for another type."""
    match = ONE_OF.fullmatch(kind.strip())
    return tuple(part for choice in match[1].split(",") if (part := choice.strip().strip("\"'"))) if match else ()


def _references(value: JsonValue) -> set[str]:
    """The names of the state that these arguments refer to."""
    if isinstance(value, str):
        match = REFERENCE.fullmatch(value)
        return {match[1]} if match else set()
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {name for part in parts for name in _references(part)}


def read_form(path: Path) -> FlowForm:
    """The parsed file. Raises BadFlow with file, node, problem and remedy."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        document = read_yaml(decode(data), max_values=MAX_VALUES) if len(data) <= MAX_BYTES else None
    except OSError as error:
        raise BadFlow(path.name, (f"{error.strerror}.",)) from error
    except BadDocument as error:
        raise BadFlow(path.name, (f"This cannot be read as YAML: {error}.",)) from error
    if len(data) > MAX_BYTES:
        raise BadFlow(path.name, (f"It has more than {MAX_BYTES:,} bytes: make several flows of it.",))
    if not isinstance(document, dict):
        raise BadFlow(path.name, ("Write name, description and nodes at the left margin.",))
    try:
        return FlowForm.model_validate(document)
    except ValidationError as error:
        raise BadFlow(
            path.name,
            tuple(_problem_line(problem["loc"], problem["msg"], problem["type"]) for problem in error.errors()),
        ) from None


def _problem_line(place: tuple[int | str, ...], message: str, kind: str) -> str:
    """One problem by its place in the file: the node first, then the key."""
    path = [str(part) for part in place if part not in ("list[ToolForm]", "constrained-str", "str")]
    if path[:1] == ["nodes"] and len(path) > 1:
        path = [f"node {path[1]}", *path[2:]]
    if kind == "extra_forbidden":
        keys = NodeForm.model_fields if "node" in path[0] else FlowForm.model_fields
        return f"{', '.join(path)}: there is no such key; the keys are {', '.join(keys)}."
    if kind == "missing":
        return f"{', '.join(path)}: this is missing."
    quote = ": put it in quotes" if kind == "string_type" else ""
    return f"{', '.join(path) or 'the file'}: {message.removeprefix('Value error, ').rstrip('.')}{quote}."
