"""The configuration file of MCP servers: `mcpServers` as other programs write it, with a few keys of Parley's own.

`${NAME}` in a value stands for an environment variable, `${NAME:-text}` for `text` if it is not set.
"""

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
from pydantic_core import ErrorDetails

from parley.events.values import Effect, ToolPolicy
from shared.documents import BadDocument, decode, read_json
from shared.environment import environment_variable
from shared.logging import SECRET_NAME, keep_secret

NAME = re.compile(r"^[A-Za-z0-9_-]{1,40}$")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")  # `env:` is of editors' files
_INPUT = re.compile(r"\$\{input:[^}]*\}")
MAX_BYTES = 1_000_000
_EXPANDED = ("command", "args", "env", "cwd", "url", "headers")


class BadConfig(ValueError):
    """The file cannot be used. The message names file and key and says what to do; it never quotes a value, which may
    be a secret.
    """


class _ConfigModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ToolOverride(_ConfigModel):
    """The operator's corrections of what the server says about one tool."""

    effect: Effect | None = None
    policy: ToolPolicy | None = None


class McpServerConfig(_ConfigModel):
    """One server: a `command` that speaks over stdio, or the `url` of a streamable HTTP endpoint.

    `effect` applies to tools that do not declare theirs. `policy` applies to all its tools; None leaves it to the
    session. `timeout` limits each call, in seconds.
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
    tools: dict[str, ToolOverride] = Field(default_factory=dict)
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


def read_config(path: Path, taken: Collection[str] = ()) -> tuple[McpServerConfig, ...]:
    """The configured servers, sorted by name; `taken` are names that packs use. Raises BadConfig."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        document = read_json(decode(data)) if len(data) <= MAX_BYTES else None
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}. Make the file, or set PARLEY_MCP_CONFIG to another one.") from error
    except BadDocument as error:
        where = f" (line {error.line})" if error.line else ""
        raise BadConfig(f"{path}: this is not JSON{where}: {error.problem}.") from None
    if len(data) > MAX_BYTES:
        raise BadConfig(
            f"{path}: it has more than {MAX_BYTES:,} bytes. Set PARLEY_MCP_CONFIG to the file that names the servers."
        )
    servers = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise BadConfig(f'{path}: mcpServers is missing: write {{"mcpServers": {{"name": {{"command": "…"}}}}}}.')
    if wrong := next((name for name in sorted(servers) if name.lower() in ("parley", *taken)), None):
        raise BadConfig(f"{path}: mcpServers.{wrong}: a pack of tools is called so: give the server another name.")
    return tuple(_server(path, name, servers[name]) for name in sorted(servers))


def _server(path: Path, name: str, raw: JsonValue) -> McpServerConfig:
    where = f"{path}: mcpServers.{name[:60]}"
    if not NAME.match(name):
        raise BadConfig(f"{where}: a server's name is made of at most 40 letters, digits, - and _: give it another.")
    if not isinstance(raw, dict):
        raise BadConfig(f'{where}: a server is an object with "command" or "url".')
    known = McpServerConfig.model_fields.keys() - {"name"}
    if unknown := raw.keys() - known:
        raise BadConfig(f"{where}.{min(unknown)}: there is no such key; there are {', '.join(sorted(known))}.")
    expanded = {key: _expand(f"{where}.{key}", value) if key in _EXPANDED else value for key, value in raw.items()}
    try:
        server = McpServerConfig.model_validate_json(json.dumps(expanded | {"name": name}))
    except ValidationError as error:
        raise BadConfig("\n".join(_problem(where, server) for server in error.errors())) from None
    for key, value in (*server.env.items(), *server.headers.items(), *parse_qsl(urlsplit(server.url).query)):
        if SECRET_NAME.search(key):
            keep_secret((value, quote(value), *value.split()))  # also each word, for "Bearer …"
    return server


def _expand(where: str, value: JsonValue) -> JsonValue:
    match value:
        case str():
            if asked := _INPUT.search(value):
                raise BadConfig(f"{where}: nobody is asked for {asked[0]} here: name a variable of the environment.")
            return _VARIABLE.sub(lambda match: _value_of(where, match), value)
        case list():
            return [_expand(f"{where}[{number}]", item) for number, item in enumerate(value)]
        case dict():
            return {key: _expand(f"{where}.{key}", item) for key, item in value.items()}
        case _:
            return value


def _value_of(where: str, match: re.Match[str]) -> str:
    value = environment_variable(match[1])
    if value is not None and SECRET_NAME.search(match[1]):
        keep_secret([value])
    if value is None and match[2] is None:
        raise BadConfig(f"{where}: the environment has no {match[1]}: set it, or write ${{{match[1]}:-a default}}.")
    return value if value is not None else str(match[2])


def _problem(where: str, error: ErrorDetails) -> str:
    """A pydantic error in one line, without the value."""
    place = ".".join([where, *map(str, error["loc"])])
    return f"{place}: {error['msg'].removeprefix('Value error, ')}."
