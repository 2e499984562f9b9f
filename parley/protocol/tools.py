"""What services tell each other about tools: the executor has them, the planner chooses, the gateway shows them."""

from collections.abc import Iterable
from typing import Annotated, Literal, Protocol

from pydantic import Field, JsonValue

from parley.events.hashing import canonical_hash
from parley.events.values import (
    Confirm,
    Effect,
    Line,
    StepId,
    ToolPolicy,
    ToolRule,
    Value,
    WaitsFor,
    is_empty,
    is_none,
)

TOOLS_LIST = "tools.list"  # ListTools -> ToolPage
TOOLS_PREVIEW = "tools.preview"  # PreviewCall -> Preview
TOOLS_PREVIEWS = "tools.previews"  # PreviewCalls -> Previews
TOOLS_CHECK = "tools.check"  # CheckCalls -> Violations
TOOLS_LOOK = "tools.look"  # LookNow -> Looked


class ToolSpec(Value):
    """One tool. `parameters` is a JSON schema of type object; `policy` None: the session's own policy holds for it.

    `origin` is the name of its pack or MCP server. `keyed`: it remembers the idempotency key of a call with its
    effect, so a call whose outcome is unknown may simply be made again. `quiet`: a read without any effect, also on
    time or money, which is worth no event of its own when it begins. `confirm`: why a person looks at each call before
    it runs, unless the session confirms nothing. `checked`: its pack can tell which calls are forbidden.
    `waits_for`: it can only be a step of a plan, which waits for a person, a time or a condition. `returns` is a JSON
    schema of its result; None where it declares none.
    """

    name: Line
    description: str
    parameters: dict[str, JsonValue]
    effect: Effect
    policy: ToolPolicy | None = None
    origin: Line = "parley"
    keyed: bool = False
    quiet: bool = False
    confirm: str = ""
    checked: bool = False
    waits_for: WaitsFor | None = Field(None, exclude_if=is_none)
    returns: dict[str, JsonValue] | None = Field(None, exclude_if=is_none)

    @property
    def fingerprint(self) -> str:
        """A hash of what a call means: the schema of its arguments, and its effect."""
        return canonical_hash({"parameters": self.parameters, "effect": self.effect})

    @property
    def rule(self) -> ToolRule:
        """What its calls are ruled by where no session says otherwise."""
        return ToolRule(effect=self.effect, policy=self.policy, quiet=self.quiet, fingerprint=self.fingerprint)

    def is_confirmed(self, confirm: Confirm) -> bool:
        """Whether a person looks at each call, in a session with this setting."""
        return bool(self.confirm) and confirm != "nothing"


class ListTools(Value):
    """The tools whose words fit `query` best, best first ("": all, by name); `names` are in it whatever the words.

    `calls_only`: without those that can only be steps of a plan. `only`: none but these, if it names any.
    """

    query: Annotated[str, Field(max_length=5_000)] = ""
    limit: Annotated[int, Field(ge=1, le=500)] = 500
    names: tuple[Line, ...] = ()
    calls_only: bool = False
    only: tuple[Line, ...] = ()


class ToolPage(Value):
    """`total` counts all tools there are. `world` is the fingerprint of the packs' initial data.

    `rules` are the words and rules of the packs whose tools are in the list, for the planner. `troubles` tells of
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
    """One value that would be another: `path` as "orders/#W1/status"; None stands for "not there".

    `label`: what people call it; "" where the path's own words do.
    """

    path: str
    label: str = Field("", exclude_if=is_empty)
    before: JsonValue = None
    after: JsonValue = None


class Preview(Value):
    """`known` False: the tool cannot tell beforehand. `error`: the call would be refused, and why."""

    known: bool
    changes: tuple[Change, ...] = ()
    error: str = ""


class StepCall(Value):
    """The call of one step of a plan."""

    step: StepId
    tool: Line
    arguments: dict[str, JsonValue]


class PreviewCalls(Value):
    """What would each of these calls change, in this session's world, if it were made now and alone?"""

    session_id: Line
    calls: Annotated[tuple[StepCall, ...], Field(max_length=50)]


class Previews(Value):
    """By step, where its tool could tell in time."""

    steps: dict[str, Preview] = Field(default_factory=dict)


class LookNow(Value):
    """What does this step see, which polls in this session, and does its condition hold?"""

    session_id: Line
    action_id: Line


class Looked(Value):
    """`error`: why there is no value now; the step looks again. `met`: the condition holds."""

    value: JsonValue = None
    error: str = ""
    met: bool = False


class PastCall(Value):
    """A call of the session that came to an end, or that is planned to run before another one.

    `result` is the text of the result, or of the error, as far as the session remembers it; "" while it is planned.
    """

    tool: Line
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    status: Literal["planned", "finished", "failed"]
    result: str = ""


class CheckCalls(Value):
    """May these calls be made, in this order, after what the session did before?"""

    past: tuple[PastCall, ...] = ()
    calls: tuple[PastCall, ...]


class Violations(Value):
    """Why they may not, each as "tool: why and what to do"; none: they may."""

    violations: tuple[str, ...] = ()


ENDED: dict[str, Literal["finished", "failed"]] = {"finished": "finished", "failed": "failed"}


class Remembered(Protocol):
    """A call as a session remembers it (`shared.domain.memory`)."""

    @property
    def tool(self) -> str: ...

    @property
    def arguments(self) -> dict[str, JsonValue]: ...

    @property
    def status(self) -> str: ...

    @property
    def text(self) -> str: ...


def past_calls(calls: Iterable[Remembered]) -> tuple[PastCall, ...]:
    """What a session remembers of its calls: those whose outcome is known."""
    return tuple(
        PastCall(tool=call.tool, arguments=call.arguments, status=status, result=call.text)
        for call in calls
        if (status := ENDED.get(call.status))
    )
