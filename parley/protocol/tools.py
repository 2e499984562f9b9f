"""Messages between services about tools: the executor has them, the planner chooses, the gateway shows them."""

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
TOOLS_POLL = "tools.poll"  # PollNow -> PollResult


class ToolSpec(Value):
    """One tool. `parameters`: a JSON Schema of type object. `policy` None: the session's own policy applies.

    `origin`: the name of its pack or MCP server. `keyed`: it stores the idempotency key of a call with its effect, so a
    call with an unknown outcome can be repeated. `quiet`: a read without side effects, cost or delay, whose start needs
    no event. `confirm`: why a person must confirm each call, unless the session confirms nothing. `checked`: its pack
    can check which calls are forbidden. `offered`: planners may plan calls of it. `waits_for`: it can only be a step of
    a plan, and waits for a person, a time or a condition. `returns`: a JSON Schema of its result, if it declares one.
    `tells_subjects`: its pack tells whom calls are about.
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
    offered: bool = Field(True, exclude_if=bool)
    waits_for: WaitsFor | None = Field(None, exclude_if=is_none)
    returns: dict[str, JsonValue] | None = Field(None, exclude_if=is_none)
    tells_subjects: bool = Field(False, exclude_if=is_empty)

    @property
    def fingerprint(self) -> str:
        """A hash of the argument schema and the effect: it changes when calls may mean something else."""
        return canonical_hash({"parameters": self.parameters, "effect": self.effect})

    @property
    def rule(self) -> ToolRule:
        """The rules of its calls, unless a session overrides them."""
        return ToolRule(effect=self.effect, policy=self.policy, quiet=self.quiet, fingerprint=self.fingerprint)

    def is_confirmed(self, confirm: Confirm) -> bool:
        """Whether a person must confirm each call, in a session with this setting."""
        return bool(self.confirm) and confirm != "nothing"


MAX_OTHERS = 50  # names


class ListTools(Value):
    """A request for tools: `names` in any case, then those that match `query`, best first, then the others by name.

    `matching`: without the others. `calls_only`: without tools that can only be steps of a plan. `offered`: without
    tools that planners are not told of. `only`: restricts the result, if not empty.
    """

    query: Annotated[str, Field(max_length=5_000)] = ""
    limit: Annotated[int, Field(ge=1, le=500)] = 500
    names: tuple[Line, ...] = ()
    matching: bool = False
    calls_only: bool = False
    offered: bool = False
    only: tuple[Line, ...] = ()


class ToolPage(Value):
    """A list of tools. `total` counts all tools. `world`: the fingerprint of the packs' initial data.

    `others`: names of the tools left out, best match first, at most MAX_OTHERS. `rules`: the terms and rules of the
    packs that these tools are from, for the planner. `troubles`: tool sources that are unavailable now.
    `tells_subjects`: a pack tells whom calls of its tools are about, be they listed here or not.
    """

    tools: tuple[ToolSpec, ...]
    total: int
    others: tuple[Line, ...] = ()
    world: str = ""
    rules: tuple[Line, ...] = ()
    troubles: tuple[str, ...] = ()
    tells_subjects: bool = Field(False, exclude_if=is_empty)


class PreviewCall(Value):
    """A request for a preview: what would this call change in this session's world if it ran now?"""

    session_id: Line
    tool: Line
    arguments: dict[str, JsonValue]


class Change(Value):
    """One value that would change: `path` as "orders/#W1/status"; None means that it does not exist.

    `label`: a label for people; "" if the path is clear enough.
    """

    path: str
    label: str = Field("", exclude_if=is_empty)
    before: JsonValue = None
    after: JsonValue = None


class Preview(Value):
    """A preview. `known` False: the tool cannot predict its changes. `error`: why the call would be refused."""

    known: bool
    changes: tuple[Change, ...] = ()
    error: str = ""


class StepCall(Value):
    """The call of one step of a plan."""

    step: StepId
    tool: Line
    arguments: dict[str, JsonValue]


class PreviewCalls(Value):
    """A request for previews: what would each call change in this session's world if it alone ran now?"""

    session_id: Line
    calls: Annotated[tuple[StepCall, ...], Field(max_length=50)]


class Previews(Value):
    """Previews by step, of the tools that answered in time."""

    steps: dict[str, Preview] = Field(default_factory=dict)


class PollNow(Value):
    """A request to a polling step's tool: its current value, and whether its condition holds."""

    session_id: Line
    action_id: Line


class PollResult(Value):
    """The result of one poll. `error`: why there is no value; the step polls again. `met`: the condition holds.

    `subject`: whom the poll was about, as in an outcome.
    """

    value: JsonValue = None
    error: str = ""
    met: bool = False
    subject: str | None = Field(None, exclude_if=is_none)


class PastCall(Value):
    """A call of the session that has ended, or that is planned before another one.

    `result`: the text of the result or error, as far as the session remembers it; "" for a planned call.
    """

    tool: Line
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    status: Literal["planned", "finished", "failed"]
    result: str = ""


class CheckCalls(Value):
    """A request to check whether these calls, in this order, are allowed after the session's earlier calls."""

    past: tuple[PastCall, ...] = ()
    calls: tuple[PastCall, ...]


class Violations(Value):
    """Why calls are not allowed, each as "tool: why and what to do"; empty: they are."""

    violations: tuple[str, ...] = ()


ENDED_STATUSES: dict[str, Literal["finished", "failed"]] = {"finished": "finished", "failed": "failed"}


class RememberedCall(Protocol):
    """A call in a session's memory (`shared.domain.transcript.memory`)."""

    @property
    def tool(self) -> str: ...

    @property
    def arguments(self) -> dict[str, JsonValue]: ...

    @property
    def status(self) -> str: ...

    @property
    def text(self) -> str: ...


def past_calls(calls: Iterable[RememberedCall]) -> tuple[PastCall, ...]:
    """The calls in a session's memory whose outcome is known."""
    return tuple(
        PastCall(tool=call.tool, arguments=call.arguments, status=status, result=call.text)
        for call in calls
        if (status := ENDED_STATUSES.get(call.status))
    )
