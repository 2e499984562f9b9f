"""The tools there are: what each is, how it is run, and where it comes from."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from parley.events.values import FileRef, OutcomeCause, ToolPolicy, ToolRule
from parley.protocol.tools import PastCall, Preview, ToolSpec
from parley.tool import LARGEST as LARGEST
from parley.tool import SECONDS
from shared.domain.session import Session
from shared.domain.state import Action
from shared.worker import WorkContext

Arguments = Mapping[str, JsonValue]
NO_FILES: Mapping[str, FileRef | None] = MappingProxyType({})


class Call(NamedTuple):
    """One call; `key` is the same whenever it is made again. A node that asks a model does it at the `desk`."""

    session: Session
    key: str
    arguments: Arguments
    desk: WorkContext | None = None
    action: Action | None = None


class Result(NamedTuple):
    """`unknown`: nobody can tell whether the call took effect. `cause`: why it was ended from outside, if it was.

    What its pack says of it: whether it shows the change that was wanted (None: no telling), which rules the call
    broke, and whether it handed the request over to a person. `files`, by name: those of the session that it changed.
    """

    ok: bool
    value: JsonValue = None
    error: str = ""
    unknown: bool = False
    cause: OutcomeCause | None = None
    confirmed: bool | None = None
    violation: str = ""
    handed_over: bool = False
    files: Mapping[str, FileRef | None] = NO_FILES


class RegisteredTool(NamedTuple):
    """A tool of any source. `seconds` is the deadline of a call; a result over `largest` bytes is kept as an artefact.

    `check` tells why a call is forbidden after the calls before it. Of a node, `calls` is the registered tool that it
    calls: what a person remembered for that tool holds for the node. `fails` tells whether it could do nothing now,
    because its path has not made what it needs.
    """

    spec: ToolSpec
    run: Callable[[Call], Awaitable[Result]]
    preview: Callable[[Session, Arguments], Awaitable[Preview]] | None = None
    check: Callable[[Arguments, Sequence[PastCall]], tuple[str, ...]] | None = None
    seconds: float = SECONDS
    largest: int = LARGEST
    calls: str = ""
    fails: Callable[[Session], bool] | None = None

    @property
    def again(self) -> bool:
        """Whether it may simply be run again when nobody knows what became of it."""
        return self.spec.effect == "read" or self.spec.keyed

    def policy(self, session: Session) -> ToolPolicy | None:
        """What the person remembered for it in this session, or its own; always, if a person looks at each call."""
        if self.spec.policy == "deny":
            return "deny"
        own = session.policies.get(self.calls or self.spec.name) or self.spec.policy
        return own or ("always" if self.spec.is_confirmed(session.settings.confirm) else None)

    def rule(self, session: Session) -> ToolRule | None:
        """What its calls are ruled by, whatever a plan says of it; None where nobody need be asked about a failure."""
        if self.fails and self.fails(session):
            return None
        return self.spec.rule.model_copy(update={"policy": self.policy(session)})


class Source(Protocol):
    """Where tools come from. `version` is another whenever what it offers may be another."""

    @property
    def version(self) -> int: ...

    def tools(self) -> Iterable[RegisteredTool]: ...

    def troubles(self) -> Iterable[str]: ...


class Registry:
    """All tools of all sources by name; of two with one name, the one of the earlier source.

    The index is built again only when a source says that it has changed.
    """

    def __init__(self, *sources: Source) -> None:
        self._sources = sources
        self._versions: tuple[int, ...] | None = None
        self._tools: dict[str, RegisteredTool] = {}

    @property
    def version(self) -> int:
        return sum(source.version for source in self._sources)

    def all(self) -> Mapping[str, RegisteredTool]:
        """By name, in order of name. It stays as it is when sources change: the next call has another."""
        versions = tuple(source.version for source in self._sources)
        if versions != self._versions:
            tools: dict[str, RegisteredTool] = {}
            for source in self._sources:
                for tool in source.tools():
                    tools.setdefault(tool.spec.name, tool)
            self._versions, self._tools = versions, dict(sorted(tools.items()))
        return self._tools

    def find(self, name: str) -> RegisteredTool | None:
        return self.all().get(name)

    def troubles(self) -> tuple[str, ...]:
        return tuple(trouble for source in self._sources for trouble in source.troubles())


class Fixed:
    """A source whose tools are always the same."""

    version = 0

    def __init__(self, *tools: RegisteredTool, trouble: str = "") -> None:
        self._tools = tools
        self._trouble = trouble

    def tools(self) -> Iterable[RegisteredTool]:
        return self._tools

    def troubles(self) -> Iterable[str]:
        return (self._trouble,) if self._trouble else ()
