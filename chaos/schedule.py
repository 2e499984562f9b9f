"""The schedule of faults, drawn from the seed alone. Pure.

The seed decides the faults, their order and their targets, but not which line of code a fault hits. A schedule that
found a bug may have to run more than once to find it again.
"""

import random
from typing import NamedTuple

from shared.services import CONSUMERS, SERVICES

ACK_WAIT_FACTOR = 2.5  # pauses are drawn up to this many times the ack wait: shorter and longer than it
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

KINDS: tuple[tuple[str, float], ...] = (
    ("kill", 3),
    ("ambush", 3),
    ("cut", 8),
    ("terminate", 3),
    ("pause", 4),
    ("nats_kill", 1),
    ("nats_stop", 0.5),
    ("nats_pause", 1),
    ("redeliver", 3),
    ("poison", 4),
    ("consumer_deleted", 1.2),
    ("stream_changed", 0.8),
    ("locked", 3),
    ("no_room", 0.5),
    ("storm", 1),
    ("model", 4),
)
CLUSTER_KINDS: tuple[tuple[str, float], ...] = (("leader_kill", 2), ("leader_pause", 2), ("step_down", 3))
POSTGRES_KINDS: tuple[tuple[str, float], ...] = (("database_away", 2), ("disconnected", 1.5), ("table_held", 3))
TARGETS: dict[str, tuple[str, ...]] = {
    "kill": PROGRAMS,
    "ambush": AMBUSHES,
    "cut": CRASH_POINTS,
    "terminate": PROGRAMS,
    "pause": PROGRAMS,
    "poison": POISON_KINDS,
    "model": MODEL_FAULTS,
    "redeliver": tuple(consumer.name for consumer in CONSUMERS if consumer.stream == "SESSIONS"),
    "consumer_deleted": tuple(consumer.name for consumer in CONSUMERS),
    "stream_changed": STREAMS,
    "locked": FILES,
    "database_away": ("stopped", "killed", "paused"),
    "table_held": TABLES,
}
MAX_SECONDS = {  # of each kind; faults without an entry are instantaneous
    "consumer_deleted": 3.0,
    "stream_changed": 3.0,
    "locked": 4.0,
    "no_room": 2.0,
    "nats_kill": 3.0,
    "nats_stop": 3.0,
    "leader_kill": 3.0,
    "database_away": 7.0,  # longer than the connection timeout
    "table_held": 6.0,
    "nats_pause": 5.0,
    "leader_pause": 5.0,
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
    seed: int, seconds: float, *, interval: float, ack_wait: float, cluster: bool, postgres: bool
) -> tuple[ScheduledFault, ...]:
    """Faults about every `interval` seconds, of all kinds that this deployment supports."""
    draws = random.Random(f"{seed}/faults")
    weights = dict((*KINDS, *(CLUSTER_KINDS if cluster else ()), *(POSTGRES_KINDS if postgres else ())))
    if postgres:
        del weights["locked"]
    faults: list[ScheduledFault] = []
    at = 1.0
    while True:
        at += draws.expovariate(1 / interval)
        if at >= seconds:
            return tuple(faults)
        kind = draws.choices(list(weights), list(weights.values()))[0]
        faults.append(_fault(draws, at, kind, ack_wait))


def _fault(draws: random.Random, at: float, kind: str, ack_wait: float) -> ScheduledFault:
    target = draws.choice(TARGETS[kind]) if kind in TARGETS else ""
    longest = ack_wait * ACK_WAIT_FACTOR if kind == "pause" else MAX_SECONDS.get(kind, 0.0)
    lasts = draws.uniform(0.2, longest) if longest else 0.0
    return ScheduledFault(round(at, 2), kind, target, round(lasts, 2), draws.random())
