"""A tool: its description for the model, the function that runs it, and the properties of its calls."""

import inspect
import typing
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from pydantic import BaseModel, JsonValue

from parley.events.values import Effect, FileRef, ToolPolicy, WaitsFor
from parley.protocol.tools import PastCall as PastCall
from parley.protocol.tools import Preview, ToolSpec

DEFAULT_TIMEOUT = 30.0
_SCHEMA_KEYS = ("properties", "required", "$defs")  # of a model's schema; the tool has its own description
MAX_RESULT = 48_000  # bytes of a result in its event: a loaded session can hold fifty of these


class Failed(Exception):
    """The call failed; the message tells the model why.

    `result` is a partial result. `unknown`: it is not known whether the call took effect.
    """

    def __init__(self, message: str, *, result: object = None, unknown: bool = False) -> None:
        super().__init__(message)
        self.result = result
        self.unknown = unknown


class Refused(Failed):
    """The tool refuses this call and has changed nothing. It would refuse the same arguments again.

    The model reads it as "Error: <message>".
    """

    def __init__(self, message: str) -> None:
        super().__init__(f"Error: {message}")


class ToolUnavailable(Exception):
    """A resource of the pack is unavailable. A repeatable call is retried until its deadline."""


@dataclass(frozen=True)
class Program:
    """The program that the user approved in the session."""

    code: str
    hash: str
    version: int


class Files(Protocol):
    """The session's files, as one call reads and changes them.

    Changes take effect when the call's outcome is stored, and are dropped if the call fails. So a tool that changes
    nothing else may be called again after a crash, and is `keyed`. Names may be in any Unicode normal form. All methods
    but `all` raise Refused for an invalid name or an exceeded limit, and Failed if bytes cannot be read or stored.
    """

    def all(self) -> Mapping[str, FileRef]:
        """The files by name, sorted."""
        ...

    async def read(self, name: str) -> bytes: ...

    async def write(self, name: str, data: bytes) -> FileRef:
        """Replace the content of the file."""
        ...

    def delete(self, name: str) -> None: ...


@dataclass(frozen=True)
class Context:
    """What a call knows of its session.

    `world` names the session's world: all sessions share "shared"; any other belongs to this session.
    `key` is the call's idempotency key: the same whenever this call is repeated, and "" in a preview.
    `files` are the session's files, which a preview only reads; None outside of a session.
    """

    session_id: str
    user: str = ""
    world: str = "shared"
    key: str = ""
    program: Program | None = None
    files: Files | None = None


@dataclass(frozen=True, kw_only=True)
class Tool[A: BaseModel]:
    """One tool of a pack. `tool` makes one of a function.

    `arguments` is the pydantic model of a call's arguments: a call that does not fit it fails before `run` is called.
    It may also be a JSON schema: then `run` gets the arguments unvalidated.
    `run` returns a JSON-serializable result (also models, dates, decimals, sets), or raises `Refused`, `Failed` or
    `ToolUnavailable`. Any other exception also fails the call; if the tool changes something, the outcome is unknown.

    `effect`: "read" changes nothing and may be repeated at any time; "write" changes something; "irreversible"
    cannot be undone. `policy` says when the user has to approve a call: "always", "writes", "never"; "deny" forbids
    the tool; None leaves it to the session. `confirm` says why the user approves each call of a tool that only reads,
    unless the session confirms nothing.

    `keyed`: the tool stores `Context.key` with its effect, so that a call may be repeated after a crash.
    `quiet`: a cheap read whose start needs no event of its own.
    `returns` is the pydantic model or the JSON schema of a result. References to parts of a result are checked against
    it before a plan is approved; without it, a wrong reference fails when the plan runs.
    A field of `arguments` declares with `json_schema_extra={"x-kind": …}` that it is more than data: "sql" and "code"
    run as written, a "url" determines the host, and a plan may not insert a step's output there. "text" is always data,
    whatever the field's name and those of the fields within it.
    `preview` returns what a call would change if it were made now.
    `check` returns why a call is forbidden after the session's earlier calls of this pack. Each reason is a sentence
    that says what to do instead. The planner returns such a call to the model; if it runs nevertheless, its outcome
    records the violation.
    `confirms` tells whether a result shows the change that the arguments ask for; then no model has to judge it.
    `hands_over`: a call hands the request over to a person, which ends the work on it.
    `offered` False: planners are not told of it, as its calls find nothing out or need what no model knows. People and
    stored plans may call it.
    `waits_for`: the tool can only be a step of a plan, and its call says what the step waits for. "person": the step
    ends with the answer to the question that `run` returns (text, options, form). "time": it ends at the aware
    datetime that `run` returns, or a timedelta later. "condition": it ends when the condition of the returned
    `parley.polling.Polling` holds. Other steps continue meanwhile.
    `seconds` is the deadline of a call. A result over `largest` bytes is stored beside the log, which has an excerpt.
    """

    name: str
    arguments: type[A] | Mapping[str, JsonValue]
    run: Callable[[A, Context], Awaitable[object]]
    description: str = ""
    effect: Effect = "read"
    policy: ToolPolicy | None = None
    confirm: str = ""
    keyed: bool = False
    quiet: bool = False
    returns: type[BaseModel] | Mapping[str, JsonValue] | None = None
    preview: Callable[[A, Context], Awaitable[Preview]] | None = None
    check: Callable[[A, Sequence[PastCall]], Iterable[str]] | None = None
    confirms: Callable[[A, JsonValue], bool] | None = None
    hands_over: bool = False
    offered: bool = True
    waits_for: WaitsFor | None = None
    seconds: float = DEFAULT_TIMEOUT
    largest: int = MAX_RESULT

    def parsed(self, arguments: Mapping[str, JsonValue]) -> A:
        """The arguments as `run` takes them. Raises pydantic's ValidationError."""
        if isinstance(self.arguments, type):
            return self.arguments.model_validate(arguments)
        return typing.cast("A", arguments)

    def spec(self, origin: str) -> ToolSpec:
        """The tool's specification for other services; `origin` is the name of its pack."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            effect=self.effect,
            policy=self.policy,
            origin=origin,
            keyed=self.keyed,
            quiet=self.quiet,
            confirm=self.confirm,
            checked=self.check is not None,
            offered=self.offered,
            waits_for=self.waits_for,
            returns=self.result_schema,
        )

    @cached_property
    def result_schema(self) -> dict[str, JsonValue] | None:
        """The JSON schema of a result; None if none is declared. A model's schema allows no additional properties."""
        if self.returns is None or not isinstance(self.returns, type):
            return None if self.returns is None else dict(self.returns)
        return _closed(_untitled(self.returns.model_json_schema(mode="serialization")))

    @cached_property
    def parameters(self) -> dict[str, JsonValue]:
        """The JSON schema of the arguments, without pydantic's generated titles."""
        if not isinstance(self.arguments, type):
            return dict(self.arguments)
        schema = {
            name: part for name, part in _untitled(self.arguments.model_json_schema()).items() if name in _SCHEMA_KEYS
        }
        return {"type": "object", "properties": {}, "required": [], **schema, "additionalProperties": False}


def tool(
    *, effect: Effect = "read", name: str = "", description: str = "", **more: Any
) -> Callable[[Callable[[Any, Context], Awaitable[object]]], Tool[Any]]:
    """A decorator that makes a tool from an async function: its name, docstring and the type of its first parameter.

    `more` are further fields of `Tool`. `check`, `preview` and `confirms` take the same arguments as the function.
    Raises TypeError for a function that does not take a model of its arguments and a context.
    """

    def make(run: Callable[[Any, Context], Awaitable[object]]) -> Tool[Any]:
        parameters, hints = list(inspect.signature(run).parameters), typing.get_type_hints(run)
        if len(parameters) != 2 or parameters[0] not in hints:
            raise TypeError(f"{run.__name__} must take an annotated pydantic model of its arguments, and the context.")
        returns = hints.get("return")
        model = {"returns": returns} if isinstance(returns, type) and issubclass(returns, BaseModel) else {}
        return Tool(
            name=name or run.__name__,
            arguments=hints[parameters[0]],
            run=run,
            description=description or inspect.cleandoc(run.__doc__ or ""),
            effect=effect,
            **(model | more),
        )

    return make


def _untitled(schema: JsonValue) -> dict[str, JsonValue]:
    """The schema without `title` keywords, which only repeat names. A property named `title` stays."""
    parts = schema.items() if isinstance(schema, dict) else ()
    return {name: _part(name, value) for name, value in parts if name != "title"}


def _part(name: str, value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        named = name in ("properties", "$defs")
        return {key: _untitled(schema) for key, schema in value.items()} if named else _untitled(value)
    if isinstance(value, list):
        return [_untitled(part) if isinstance(part, dict) else part for part in value]
    return value


def _closed(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The schema with `additionalProperties: false` where an object lists its properties and does not set it."""
    closed = {name: _closed_part(value) for name, value in schema.items()}
    named = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    return {"additionalProperties": False, **closed} if named else closed


def _closed_part(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return _closed(value)
    if isinstance(value, list):
        return [_closed_part(part) for part in value]
    return value
