"""A tool: what a model is told of it, the function that runs it, and what else is known about its calls."""

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

SECONDS = 30.0
_KEPT = ("properties", "required", "$defs")  # of a model's schema: the tool has a description of its own
LARGEST = 48_000  # bytes of a result in its event: fifty such results still fit into a session that is loaded


class Failed(Exception):
    """The call failed; the message tells the model why.

    `result` is what there is to see nevertheless. `unknown`: nobody can tell whether the call took effect.
    """

    def __init__(self, message: str, *, result: object = None, unknown: bool = False) -> None:
        super().__init__(message)
        self.result = result
        self.unknown = unknown


class Refused(Failed):
    """The tool refuses this call and has changed nothing: with the same arguments it would refuse again.

    The model reads it as "Error: <message>".
    """

    def __init__(self, message: str) -> None:
        super().__init__(f"Error: {message}")


class Unavailable(Exception):
    """What the pack needs is away. A call that may be made again is tried again until its deadline."""


@dataclass(frozen=True)
class Program:
    """The program that a person approved in the session."""

    code: str
    hash: str
    version: int


class Files(Protocol):
    """The session's files, as a call finds and changes them.

    What it changes takes effect when the call's outcome is stored, and not at all where the call fails: a tool that
    changes nothing else may be called again after a crash, and is `keyed`. Names are taken in any normal form. All but
    `all` raise Refused for what is no name or against the limits, and Failed where the bytes cannot be had or stored.
    """

    def all(self) -> Mapping[str, FileRef]:
        """The files by name, in order of name."""
        ...

    async def read(self, name: str) -> bytes: ...

    async def write(self, name: str, data: bytes) -> FileRef:
        """Have the file hold these bytes and no others."""
        ...

    def delete(self, name: str) -> None: ...


@dataclass(frozen=True)
class Context:
    """What a call may know of its session.

    `world` names the session's world: "shared" is the one that all sessions share, any other is this session's own.
    `key` is the call's idempotency key: the same whenever this call is made again, and "" in a preview.
    `files` are the session's; a preview reads them only. None where a tool is called outside of a session.
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
    A tool whose arguments are known by JSON schema only has that schema here, and gets the arguments as they come.
    `run` gives a result that JSON can hold (also models, dates, decimals, sets), or raises `Refused`, `Failed` or
    `Unavailable`. Any other exception fails the call too; after a tool that changes something nobody knows then
    whether it took effect.

    `effect`: "read" changes nothing and may be made again at any time; "write" changes something; "irreversible"
    cannot be undone. `policy` says when a person is asked before a call: "always", for "writes", "never"; "deny"
    forbids the tool; None leaves it to the session. `confirm` tells why a person looks at each call although it only
    reads, unless the session is set to confirm nothing.

    `keyed`: the tool remembers `Context.key` with its effect, so that a call may be made again after a crash.
    `quiet`: a read without any cost, which is worth no event of its own when it begins.
    `returns` is the pydantic model or the JSON schema of a result. A plan that refers to parts of a result is checked
    against it before it is approved; where nothing is declared, what is wrong shows when the plan runs.
    A field of `arguments` says with `json_schema_extra={"x-kind": …}` that it is more than data: "sql" and "code" run
    as they are written, a "url" leads to the host that it shows, and a plan puts no result of a step there. "text" is
    data whatever the field is called.
    `preview` tells what a call would change if it were made now.
    `check` tells why a call is forbidden, given the session's earlier calls of this pack: each reason a sentence that
    says what to do instead. The planner sends such a call back; if one is made all the same, its outcome tells.
    `confirms` tells whether a result shows the change that the arguments want; then no model needs to judge it.
    `hands_over`: a call hands the request over to a person, which ends the work on it.
    `waits_for`: the tool can only be a step of a plan, and its call says what is waited for. A step that waits for a
    "person" ends with the answer to what `run` returns (an `Asked`); one that waits for a "time", at the aware datetime
    that it returns; one that waits for a "condition", when that of the `parley.polling.Polling` holds that it returns.
    Other steps go on meanwhile.
    `seconds` is the deadline of a call. A result over `largest` bytes is kept beside the log, its beginning in it.
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
    waits_for: WaitsFor | None = None
    seconds: float = SECONDS
    largest: int = LARGEST

    def parsed(self, arguments: Mapping[str, JsonValue]) -> A:
        """The arguments of a call as `run` takes them. Raises pydantic's ValidationError."""
        if isinstance(self.arguments, type):
            return self.arguments.model_validate(arguments)
        return typing.cast("A", arguments)

    def spec(self, origin: str) -> ToolSpec:
        """The tool as services tell each other about it; `origin` is the name of its pack."""
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
            waits_for=self.waits_for,
            returns=self.result_schema,
        )

    @cached_property
    def result_schema(self) -> dict[str, JsonValue] | None:
        """The JSON schema of a result, None where none is declared. Models give no fields but their own."""
        if self.returns is None or not isinstance(self.returns, type):
            return None if self.returns is None else dict(self.returns)
        return _closed(_untitled(self.returns.model_json_schema(mode="serialization")))

    @cached_property
    def parameters(self) -> dict[str, JsonValue]:
        """The JSON schema of the arguments, without the titles that pydantic makes of names."""
        if not isinstance(self.arguments, type):
            return dict(self.arguments)
        schema = {name: part for name, part in _untitled(self.arguments.model_json_schema()).items() if name in _KEPT}
        return {"type": "object", "properties": {}, "required": [], **schema, "additionalProperties": False}


def tool(
    *, effect: Effect = "read", name: str = "", description: str = "", **more: Any
) -> Callable[[Callable[[Any, Context], Awaitable[object]]], Tool[Any]]:
    """Make a tool of an async function: its name, its docstring and the type of its first parameter.

    `more` are further fields of `Tool`. A check, a preview or a confirmation takes the same arguments as the function.
    """

    def make(run: Callable[[Any, Context], Awaitable[object]]) -> Tool[Any]:
        first = next(iter(inspect.signature(run).parameters))
        returns = (hints := typing.get_type_hints(run)).get("return")
        model = {"returns": returns} if isinstance(returns, type) and issubclass(returns, BaseModel) else {}
        return Tool(
            name=name or run.__name__,
            arguments=hints[first],
            run=run,
            description=description or inspect.cleandoc(run.__doc__ or ""),
            effect=effect,
            **(model | more),
        )

    return make


def _untitled(schema: JsonValue) -> dict[str, JsonValue]:
    """Without `title`, which only repeats a name; a property that is called so stays."""
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
    """Where an object names its properties and does not say more: it has no others."""
    closed = {name: _closed_part(value) for name, value in schema.items()}
    named = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    return {"additionalProperties": False, **closed} if named else closed


def _closed_part(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return _closed(value)
    if isinstance(value, list):
        return [_closed_part(part) for part in value]
    return value
