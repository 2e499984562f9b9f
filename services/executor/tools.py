"""The tools there are: what each is, how it is run, and where it comes from."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from shared.domain.session import Session
from shared.domain.state import Action
from shared.events.values import OutcomeCause, ToolPolicy, ToolRule
from shared.tools import Preview, ToolSpec
from shared.worker import Desk

Arguments = Mapping[str, JsonValue]
SECONDS = 30.0
LARGEST = 48_000  # bytes of a result in its event: fifty such results still fit into a session that is loaded


class Call(NamedTuple):
    """One call; `key` is the same whenever it is made again. A node that asks a model does it at the `desk`."""

    session: Session
    key: str
    arguments: Arguments
    desk: Desk | None = None
    action: Action | None = None


class Result(NamedTuple):
    """`unknown`: nobody can tell whether the call took effect. `cause`: why it was ended from outside, if it was."""

    ok: bool
    value: JsonValue = None
    error: str = ""
    unknown: bool = False
    cause: OutcomeCause | None = None


class Tool(NamedTuple):
    """`seconds` is the deadline of a call; a result over `largest` bytes is kept as an artefact.

    Of a node, `calls` is the registered tool that it calls: what a person remembered for that tool holds for the node.
    `fails` tells whether it could do nothing now, because its path has not made what it needs.
    """

    spec: ToolSpec
    run: Callable[[Call], Awaitable[Result]]
    preview: Callable[[Session, Arguments], Awaitable[Preview]] | None = None
    seconds: float = SECONDS
    largest: int = LARGEST
    calls: str = ""
    fails: Callable[[Session], bool] | None = None

    @property
    def again(self) -> bool:
        """Whether it may simply be run again when nobody knows what became of it."""
        return self.spec.effect == "read" or self.spec.keyed

    def policy(self, session: Session) -> ToolPolicy | None:
        """Its own policy, or what the person remembered for it in this session."""
        if self.spec.policy == "deny":
            return "deny"
        return session.policies.get(self.calls or self.spec.name) or self.spec.policy

    def rule(self, session: Session) -> ToolRule | None:
        """What its calls are ruled by, whatever a plan says of it; None where nobody need be asked about a failure."""
        if self.fails and self.fails(session):
            return None
        return ToolRule(effect=self.spec.effect, policy=self.policy(session), quiet=self.spec.quiet)


class Source(Protocol):
    """Where tools come from; what it offers may change while the executor runs."""

    def tools(self) -> Iterable[Tool]: ...

    def troubles(self) -> Iterable[str]: ...


class Registry:
    """All tools of all sources; of two with one name, the one of the earlier source."""

    def __init__(self, *sources: Source) -> None:
        self._sources = sources

    def all(self) -> dict[str, Tool]:
        """By name, in order of name."""
        found: dict[str, Tool] = {}
        for source in self._sources:
            for tool in source.tools():
                found.setdefault(tool.spec.name, tool)
        return dict(sorted(found.items()))

    def find(self, name: str) -> Tool | None:
        return next((tool for source in self._sources for tool in source.tools() if tool.spec.name == name), None)

    def troubles(self) -> tuple[str, ...]:
        return tuple(trouble for source in self._sources for trouble in source.troubles())


class Fixed:
    """A source whose tools are always the same."""

    def __init__(self, *tools: Tool, trouble: str = "") -> None:
        self._tools = tools
        self._trouble = trouble

    def tools(self) -> Iterable[Tool]:
        return self._tools

    def troubles(self) -> Iterable[str]:
        return (self._trouble,) if self._trouble else ()
