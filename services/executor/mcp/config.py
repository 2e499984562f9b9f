"""The file that names MCP servers: `mcpServers` as other programs write it, with a few keys of our own.

`${NAME}` in a value stands for a variable of the environment, `${NAME:-text}` for `text` where it is not set.
"""

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
from pydantic_core import ErrorDetails

from parley.events.values import Effect, ToolPolicy
from shared.environment import variable
from shared.logging import SECRET_NAME, keep_secret

NAME = re.compile(r"^[A-Za-z0-9_-]{1,40}$")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
BYTES = 1_000_000
_EXPANDED = ("command", "args", "env", "cwd", "url", "headers")


class BadConfig(ValueError):
    """The file cannot be used: which file, which key, and what to do. Never a value: it may be a secret."""


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ToolRule(Part):
    """What a person knows better about one tool than its server says."""

    effect: Effect | None = None
    policy: ToolPolicy | None = None


class ServerConfig(Part):
    """One server: a `command` that speaks over stdio, or the `url` of a streamable HTTP endpoint.

    `effect` is that of tools which do not tell theirs, `policy` that of all its tools (None: the session's own).
    `timeout` in seconds is the most that one call may take.
    """

    name: str
    type: Literal["stdio", "http", "streamable-http", "streamableHttp"] | None = None
    command: str = ""
    args: tuple[str, ...] = Field((), repr=False)
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    cwd: Path | None = None
    url: Annotated[str, Field(pattern=r"^$|^https?://", repr=False)] = ""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    effect: Effect = "write"
    policy: ToolPolicy | None = None
    tools: dict[str, ToolRule] = Field(default_factory=dict)
    timeout: float = Field(60, gt=0, le=3600, allow_inf_nan=False)

    @model_validator(mode="after")
    def _one_way_in(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError('give either "command" (a program to start) or "url" (a server that runs already)')
        if (self.env or self.args) and self.url:
            raise ValueError('"args" and "env" belong to a "command", not to a "url"')
        if self.headers and self.command:
            raise ValueError('"headers" belong to a "url", not to a "command"')
        return self


def read_config(path: Path, taken: Collection[str] = ()) -> tuple[ServerConfig, ...]:
    """The servers that the file names, by name; none may be called like these packs. Raises BadConfig."""
    try:
        with path.open("rb") as file:
            text = file.read(BYTES + 1)
        found = json.loads(text.decode()) if len(text) <= BYTES else None
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}. Make the file, or set PARLEY_MCP_CONFIG to another one.") from error
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise BadConfig(f"{path}: this is not JSON{where}: {_plain(error)}.") from None
    if len(text) > BYTES:
        raise BadConfig(
            f"{path}: it has more than {BYTES:,} bytes. Set PARLEY_MCP_CONFIG to the file that names the servers."
        )
    servers = found.get("mcpServers") if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        raise BadConfig(f'{path}: mcpServers is missing: write {{"mcpServers": {{"name": {{"command": "…"}}}}}}.')
    if wrong := next((name for name in sorted(servers) if name.lower() in ("parley", *taken)), None):
        raise BadConfig(f"{path}: mcpServers.{wrong}: a pack of tools is called so: give the server another name.")
    return tuple(_server(path, name, servers[name]) for name in sorted(servers))


def _server(path: Path, name: str, given: JsonValue) -> ServerConfig:
    where = f"{path}: mcpServers.{name[:60]}"
    if not NAME.match(name):
        raise BadConfig(f"{where}: a server's name is made of at most 40 letters, digits, - and _: give it another.")
    if not isinstance(given, dict):
        raise BadConfig(f'{where}: a server is an object with "command" or "url".')
    known = ServerConfig.model_fields.keys() - {"name"}
    if strangers := given.keys() - known:
        raise BadConfig(f"{where}.{min(strangers)}: there is no such key; there are {', '.join(sorted(known))}.")
    read = {key: _expand(f"{where}.{key}", value) if key in _EXPANDED else value for key, value in given.items()}
    try:
        found = ServerConfig.model_validate_json(json.dumps(read | {"name": name}))
    except ValidationError as error:
        raise BadConfig("\n".join(_problem(where, found) for found in error.errors())) from None
    for key, value in {**found.env, **found.headers}.items():
        if SECRET_NAME.search(key):
            keep_secret((value, *value.split()))  # the words too: "Bearer …"
    return found


def _expand(where: str, value: JsonValue) -> JsonValue:
    match value:
        case str():
            return _VARIABLE.sub(lambda found: _value_of(where, found), value)
        case list():
            return [_expand(f"{where}[{number}]", item) for number, item in enumerate(value)]
        case dict():
            return {key: _expand(f"{where}.{key}", item) for key, item in value.items()}
        case _:
            return value


def _value_of(where: str, found: re.Match[str]) -> str:
    value = variable(found[1])
    if value is not None and SECRET_NAME.search(found[1]):
        keep_secret([value])
    if value is None and found[2] is None:
        raise BadConfig(f"{where}: the environment has no {found[1]}: set it, or write ${{{found[1]}:-a default}}.")
    return value if value is not None else str(found[2])


def _problem(where: str, error: ErrorDetails) -> str:
    """One of pydantic's errors in one line, without the value."""
    place = ".".join([where, *map(str, error["loc"])])
    return f"{place}: {error['msg'].removeprefix('Value error, ')}."


def _plain(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return error.msg if isinstance(error, json.JSONDecodeError) else "it is not UTF-8 text"
