"""What a run leaves behind, as plain values: all that the invariants look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import JsonValue

from chaos.accounts import Served
from chaos.process import Exit
from chaos.recorder import Shown
from shared.log import StoredMessage

Row = tuple[Any, ...]
Rows = Mapping[str, Sequence[Row]]  # by table, in an order of their own


@dataclass(frozen=True)
class Effect:
    """What a tool left in the world under a key, and what it said then, as an event has it."""

    world: str
    key: str
    tool: str
    arguments: Mapping[str, Any]
    result: JsonValue


@dataclass(frozen=True)
class Acknowledged:
    """The gateway said that this command of the session is stored, by this version."""

    session_id: str
    command_id: str
    version: int


@dataclass(frozen=True)
class Left:
    """A person who left a session, and how it stood; "" where they gave up, or were still waiting when time was up."""

    session_id: str
    workflow: str
    ending: str
    why: str = ""  # it failed, or what they met with


@dataclass(frozen=True)
class Evidence:
    """`poison`: positions in the log of messages that the suite itself put there. `clustered`: the log is kept by
    several servers."""

    log: Mapping[str, Sequence[StoredMessage]] = field(default_factory=dict)
    poison: frozenset[int] = frozenset()
    clustered: bool = False
    shown: Sequence[Shown] = ()
    acknowledged: Sequence[Acknowledged] = ()
    left: Sequence[Left] = ()
    rows: Rows = field(default_factory=dict)
    folded: Rows = field(default_factory=dict)
    effects: Sequence[Effect] = ()
    worlds: Mapping[str, Any] = field(default_factory=dict)  # the store's documents, by world
    replayed: Mapping[str, Any] = field(default_factory=dict)  # the same, made by the effects in their order
    answers: Mapping[str, JsonValue] = field(default_factory=dict)  # by key, what an effect says when it is made so
    notes: Mapping[str, int] = field(default_factory=dict)  # how often each note stands in the file of the unkeyed tool
    served: Sequence[Served] = ()  # by the model's own count
    exits: Sequence[Exit] = ()
    waiting: Mapping[str, int] = field(default_factory=dict)  # messages that a consumer still has, at the end
    stalls: float = 0.0  # seconds that the suite itself stood still at the most, and saw nothing

    def ended(self, exits: Sequence[Exit], stalls: float) -> "Evidence":
        """The same, with how the programs ended, which is known last."""
        return replace(self, exits=tuple(exits), stalls=stalls)
