"""Which faults are played when: drawn from the seed alone. Pure.

The seed decides what is done, in which order and to whom. When a fault meets which line of whose code is the machine's
affair: a schedule that found something may have to be played more than once to find it again.
"""

import random
from typing import NamedTuple

from shared.services import CONSUMERS, SERVICES

ACK_WAIT_FACTOR = 2.5  # pauses are drawn up to this many times the ack wait: shorter and longer than it
PROGRAMS = (*SERVICES, *SERVICES, "rehearsal")
AMBUSHES = (  # who is killed, right after an event that gives it work
    *("executor actions.started", *["executor approval.given"] * 4),  # a write follows
    "executor turn.planned",  # quiet reads are running by it
    *("planner message.received", "planner turn.verified", "generator plan.approved", "verifier code.drafted"),
    *("verifier actions.finished", "generator turn.verified", "plan_store plan.drafted", "gateway plan.drafted"),
)
CUTS = (  # who ends at which append; what a change came to is then known to nobody, or only to its key
    *["executor before actions.finished noted", "executor before actions.finished cancelled"] * 3,
    *("executor after actions.started", "executor before actions.finished"),
    *("executor after actions.finished", "planner before turn.planned", "planner after plan.drafted"),
    *("generator before answer.given", "generator after code.drafted", "verifier before turn.verified"),
    *("verifier after turn.verified", "gateway before approval.given", "gateway after approval.given"),
    *["plan_store-writes before session.completed"] * 3,
    *["plan_store-writes after session.completed"] * 2,
)
POISONS = (
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
MODEL = ("429", "500", "timeout", "cut", "garbled", "truncated", "invented", "html", "error200", "midstream", "slow")
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
ON_A_CLUSTER: tuple[tuple[str, float], ...] = (("leader_kill", 2), ("leader_pause", 2), ("step_down", 3))
ON_POSTGRES: tuple[tuple[str, float], ...] = (("database_away", 2), ("disconnected", 1.5), ("table_held", 3))
TARGETS: dict[str, tuple[str, ...]] = {
    "kill": PROGRAMS,
    "ambush": AMBUSHES,
    "cut": CUTS,
    "terminate": PROGRAMS,
    "pause": PROGRAMS,
    "poison": POISONS,
    "model": MODEL,
    "redeliver": tuple(consumer.name for consumer in CONSUMERS if consumer.stream == "SESSIONS"),
    "consumer_deleted": tuple(consumer.name for consumer in CONSUMERS),
    "stream_changed": STREAMS,
    "locked": FILES,
    "database_away": ("stopped", "killed", "paused"),
    "table_held": TABLES,
}
LASTS = {  # seconds, at the most; what is not here is over at once
    "consumer_deleted": 3.0,
    "stream_changed": 3.0,
    "locked": 4.0,
    "no_room": 2.0,
    "nats_kill": 3.0,
    "nats_stop": 3.0,
    "leader_kill": 3.0,
    "database_away": 7.0,  # longer than a connection is waited for
    "table_held": 6.0,
    "nats_pause": 5.0,
    "leader_pause": 5.0,
}


class Fault(NamedTuple):
    """`at` seconds after the beginning, for `seconds` where it lasts; `of` chooses among replicas or sessions."""

    at: float
    kind: str
    target: str = ""
    seconds: float = 0.0
    of: float = 0.0

    def __str__(self) -> str:
        lasts = f" for {self.seconds:.1f} s" if self.seconds else ""
        return f"{self.at:6.1f} s  {' '.join(filter(None, (self.kind, self.target)))}{lasts}"


def schedule(
    seed: int, seconds: float, *, gap: float, ack_wait: float, cluster: bool, postgres: bool
) -> tuple[Fault, ...]:
    """Faults about every `gap` seconds, of all kinds that there are in this world."""
    draws = random.Random(f"{seed}/faults")
    weights = dict((*KINDS, *(ON_A_CLUSTER if cluster else ()), *(ON_POSTGRES if postgres else ())))
    if postgres:
        del weights["locked"]
    found: list[Fault] = []
    at = 1.0
    while True:
        at += draws.expovariate(1 / gap)
        if at >= seconds:
            return tuple(found)
        kind = draws.choices(list(weights), list(weights.values()))[0]
        found.append(_fault(draws, at, kind, ack_wait))


def _fault(draws: random.Random, at: float, kind: str, ack_wait: float) -> Fault:
    target = draws.choice(TARGETS[kind]) if kind in TARGETS else ""
    longest = ack_wait * ACK_WAIT_FACTOR if kind == "pause" else LASTS.get(kind, 0.0)
    lasts = draws.uniform(0.2, longest) if longest else 0.0
    return Fault(round(at, 2), kind, target, round(lasts, 2), draws.random())
