"""The schedule of faults, drawn from the seed alone. Pure.

The seed decides the faults, their order and their targets, but not which line of code a fault hits. A schedule that
found a bug may have to run more than once to find it again.
"""

import random
from typing import NamedTuple

from chaos.deployment import ACK_WAIT
from shared.services import CONSUMERS, SERVICES

PROGRAMS = (*SERVICES, *SERVICES, "rehearsal")
AMBUSHES = (  # the service to kill, right after an event that gives it work
    *("executor actions.started", *["executor approval.given"] * 4),  # a write follows
    "executor turn.planned",  # starts reads that need no approval
    *("planner message.received", "planner turn.verified", "generator plan.approved", "verifier code.drafted"),
    *("verifier actions.finished", "generator turn.verified", "plan_store plan.drafted", "gateway plan.drafted"),
    *("executor remark.answered", "executor offer.kept"),  # a step that was held follows
)
CRASH_POINTS = (  # the service to crash, and at which append
    *["executor before actions.finished noted", "executor before actions.finished cancelled"] * 3,
    *("executor after actions.started", "executor before actions.finished"),
    *("executor after actions.finished", "planner before turn.planned", "planner after plan.drafted"),
    *("generator before answer.given", "generator after code.drafted", "verifier before turn.verified"),
    *("verifier after turn.verified", "gateway before approval.given", "gateway after approval.given"),
    *("planner before remark.answered", "planner after remark.answered", "planner before offer.made"),
    *("planner after offer.made", "gateway after offer.kept"),
    *["plan_store-writes before session.completed"] * 3,
    *["plan_store-writes after session.completed"] * 2,
)
POISON_KINDS = (
    "no_json",
    "no_event",
    "huge",
    "unguarded_stop",
    "copy",
    "guarded_garbage",
    "guarded_wrong_version",
    "guarded_wrong_subject",
    "unguarded_newer",
    "new_session",
)
MODEL_FAULTS = (
    "429",
    "500",
    "timeout",
    "cut",
    "garbled",
    "truncated",
    "invented",
    "html",
    "error200",
    "midstream",
    "slow",
)
STREAMS = ("SESSIONS", "TIMERS", "DEAD_LETTERS", "OBJ_ARTEFACTS")
FILES = ("parley.db", "parley.db", "retail.db")
TABLES = ("sessions", "journal", "retail_documents", "retail_effects")


class FaultKind(NamedTuple):
    """`weight`: how often it is drawn, relative to others. One without `max_seconds` is instantaneous."""

    weight: float
    targets: tuple[str, ...] = ()
    max_seconds: float = 0.0


KINDS: dict[str, FaultKind] = {
    "kill": FaultKind(3, PROGRAMS),
    "ambush": FaultKind(3, AMBUSHES),
    "cut": FaultKind(8, CRASH_POINTS),
    "terminate": FaultKind(3, PROGRAMS),
    "pause": FaultKind(4, PROGRAMS, 2.5 * ACK_WAIT),  # shorter and longer than it
    "nats_kill": FaultKind(1, max_seconds=3),
    "nats_stop": FaultKind(0.5, max_seconds=3),
    "nats_pause": FaultKind(1, max_seconds=5),
    "redeliver": FaultKind(3, tuple(consumer.name for consumer in CONSUMERS if consumer.stream == "SESSIONS")),
    "poison": FaultKind(4, POISON_KINDS),
    "consumer_deleted": FaultKind(1.2, tuple(consumer.name for consumer in CONSUMERS), 3),
    "stream_changed": FaultKind(0.8, STREAMS, 3),
    "locked": FaultKind(3, FILES, 4),
    "no_room": FaultKind(0.5, max_seconds=2),
    "storm": FaultKind(1),
    "model": FaultKind(4, MODEL_FAULTS),
}
CLUSTER_KINDS: dict[str, FaultKind] = {
    "leader_kill": FaultKind(2, max_seconds=3),
    "leader_pause": FaultKind(2, max_seconds=5),
    "step_down": FaultKind(3),
}
POSTGRES_KINDS: dict[str, FaultKind] = {
    "database_away": FaultKind(2, ("stopped", "killed", "paused"), 7),  # longer than the connection timeout
    "disconnected": FaultKind(1.5),
    "table_held": FaultKind(3, TABLES, 6),
}


class ScheduledFault(NamedTuple):
    """Begins `at` seconds after the start and lasts `seconds`. `choice`, from 0 to 1, selects a replica or session."""

    at: float
    kind: str
    target: str = ""
    seconds: float = 0.0
    choice: float = 0.0

    def __str__(self) -> str:
        lasts = f" for {self.seconds:.1f} s" if self.seconds else ""
        return f"{self.at:6.1f} s  {' '.join(filter(None, (self.kind, self.target)))}{lasts}"


def schedule(
    seed: int, seconds: float, *, interval: float, cluster: bool, postgres: bool
) -> tuple[ScheduledFault, ...]:
    """Faults about every `interval` seconds, of all kinds that this deployment supports."""
    draws = random.Random(f"{seed}/faults")
    kinds = KINDS | (CLUSTER_KINDS if cluster else {}) | (POSTGRES_KINDS if postgres else {})
    if postgres:
        del kinds["locked"]
    weights = [kind.weight for kind in kinds.values()]
    faults: list[ScheduledFault] = []
    at = 1.0
    while True:
        at += draws.expovariate(1 / interval)
        if at >= seconds:
            return tuple(faults)
        [name] = draws.choices(list(kinds), weights)
        kind = kinds[name]
        target = draws.choice(kind.targets) if kind.targets else ""
        lasts = draws.uniform(0.2, kind.max_seconds) if kind.max_seconds else 0.0
        faults.append(ScheduledFault(round(at, 2), name, target, round(lasts, 2), draws.random()))
