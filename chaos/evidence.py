"""The evidence of a run as plain values: everything that the invariants examine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from chaos.model_usage import ServedRequest
from chaos.process import ProcessExit
from chaos.reconnecting_client import SocketRecord
from shared.log import StoredMessage

Row = tuple[Any, ...]
Rows = Mapping[str, Sequence[Row]]  # by table, unordered


@dataclass(frozen=True)
class Effect:
    """The effect of a tool recorded in a retail world under an idempotency key, with the tool's result."""

    world: str
    key: str
    tool: str
    arguments: Mapping[str, Any]
    result: JsonValue


@dataclass(frozen=True)
class AcknowledgedCommand:
    """The gateway acknowledged that this command was stored at this version or before."""

    session_id: str
    command_id: str
    version: int


@dataclass(frozen=True)
class UserOutcome:
    """How a session ended for its user. `ending` is "" if the user gave up, or still waited at the end of the run."""

    session_id: str
    workflow: str
    ending: str
    reason: str = ""  # of a failed session, or the error that ended the user


@dataclass(frozen=True)
class Evidence:
    """`poison_positions`: positions in the log of messages that the suite appended. `is_clustered`: several servers."""

    log: Mapping[str, Sequence[StoredMessage]] = field(default_factory=dict)
    poison_positions: frozenset[int] = frozenset()
    is_clustered: bool = False
    socket_records: Sequence[SocketRecord] = ()
    acknowledged: Sequence[AcknowledgedCommand] = ()
    user_outcomes: Sequence[UserOutcome] = ()
    rows: Rows = field(default_factory=dict)
    rebuilt_rows: Rows = field(default_factory=dict)
    effects: Sequence[Effect] = ()
    worlds: Mapping[str, Any] = field(default_factory=dict)  # the store's documents, by retail world
    replayed_worlds: Mapping[str, Any] = field(default_factory=dict)  # the same, rebuilt by replaying the effects
    replayed_results: Mapping[str, JsonValue] = field(default_factory=dict)  # of each effect in that replay, by key
    notes: Mapping[str, int] = field(default_factory=dict)  # number of occurrences in the file of the tool without keys
    served_requests: Sequence[ServedRequest] = ()  # as the model recorded them
    exits: Sequence[ProcessExit] = ()
    outstanding: Mapping[str, int] = field(default_factory=dict)  # messages by consumer at the end
