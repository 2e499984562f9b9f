"""What services tell each other about tools: the executor has them, the planner chooses, the gateway shows them."""

from typing import Annotated

from pydantic import Field, JsonValue

from shared.events.values import Effect, Line, ToolPolicy, Value

TOOLS_LIST = "tools.list"  # ListTools -> ToolPage
TOOLS_PREVIEW = "tools.preview"  # PreviewCall -> Preview


class ToolSpec(Value):
    """One tool. `parameters` is a JSON schema of type object; `policy` None: the session's own policy holds for it.

    `origin` is "parley", the name of a world ("retail"), or that of an MCP server. `keyed`: it remembers the
    idempotency key of a call with its effect, so a call whose outcome is unknown may simply be made again. `quiet`: a
    read without any effect, also on time or money, which is worth no event of its own when it begins.
    """

    name: Line
    description: str
    parameters: dict[str, JsonValue]
    effect: Effect
    policy: ToolPolicy | None = None
    origin: Line = "parley"
    keyed: bool = False
    quiet: bool = False


class ListTools(Value):
    """The tools whose words fit `query` best, best first ("": all, by name); `names` are in it whatever the words."""

    query: Annotated[str, Field(max_length=5_000)] = ""
    limit: Annotated[int, Field(ge=1, le=500)] = 500
    names: tuple[Line, ...] = ()


class ToolPage(Value):
    """`total` counts all tools there are. `world` is the fingerprint of the retail store's initial data.

    `rules` are the rules of the worlds whose tools are in the list, in words for the planner. `troubles` tells of
    sources of tools that are away now.
    """

    tools: tuple[ToolSpec, ...]
    total: int
    world: str = ""
    rules: tuple[Line, ...] = ()
    troubles: tuple[str, ...] = ()


class PreviewCall(Value):
    """What would this call change, in this session's world, if it were made now?"""

    session_id: Line
    tool: Line
    arguments: dict[str, JsonValue]


class Change(Value):
    """One value that would be another: `path` as "orders/#W1/status"; None stands for "not there"."""

    path: str
    before: JsonValue = None
    after: JsonValue = None


class Preview(Value):
    """`known` False: the tool cannot tell beforehand. `error`: the call would be refused, and why."""

    known: bool
    changes: tuple[Change, ...] = ()
    error: str = ""
