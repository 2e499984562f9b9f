"""Streams and consumers: their names and their configuration, for provisioning and for the drift report.

Configurations are JetStream's own JSON: durations in nanoseconds, only what Parley cares about.
"""

from typing import Any

from shared.services import CONSUMERS, Consumer
from shared.settings import Settings

SESSIONS, TIMERS, DEAD_LETTERS, USED_TICKETS = "SESSIONS", "TIMERS", "DEAD_LETTERS", "USED_TICKETS"
LOGOUTS, WATCHDOG, LIBRARY = "LOGOUTS", "WATCHDOG", "LIBRARY"
BUCKET = "ARTEFACTS"
ARTEFACTS = f"OBJ_{BUCKET}"  # object stores everywhere name the stream of a bucket so
KEPT = (SESSIONS, TIMERS, DEAD_LETTERS, ARTEFACTS, LOGOUTS, LIBRARY)  # what a backup has
NANO = 1_000_000_000
MOST_LOGOUTS = 1_000_000
ADVISORY = "$JS.EVENT.ADVISORY.CONSUMER"
MIN_SERVER = (2, 12)
MIN_PAYLOAD = 512 * 1024  # bytes of a message: an event, and one that is read from the log as text
MARK, LOG_FORMAT = "parley.format", "1"  # of the log: see log_format.py

type Config = dict[str, Any]


def streams(settings: Settings) -> list[Config]:
    """The log, the broker's timers, dead letters (the advisories tell where), the object store, tickets, logouts."""
    common: Config = {
        "retention": "limits",
        "storage": "file",
        "num_replicas": settings.nats_replicas,
        "max_age": 0,
    }
    return [
        common
        | {
            "name": SESSIONS,
            "description": "Every event of every session: the truth",
            "subjects": ["session.>"],
            "allow_direct": True,
            "discard": "new",
            "duplicate_window": 120 * NANO,
            "republish": {"src": "session.>", "dest": "feed.>"},
            "metadata": {MARK: LOG_FORMAT},
        },
        common
        | {
            "name": LIBRARY,
            "description": "Every version of every template: library.<id>",
            "subjects": ["library.*"],
            "discard": "new",
            "allow_rollup_hdrs": True,  # what is deleted goes, and only that it was stays
        },
        common
        | {
            "name": TIMERS,
            "description": "Deadlines: timer.<session>.<kind> fires as timerfired.<session>.<kind>",
            "subjects": ["timer.>", "timerfired.>"],
            "max_msgs_per_subject": 1,  # a timer, and that it fired: what is older means nothing any more
            "allow_msg_schedules": True,
            "allow_direct": True,
        },
        common
        | {
            "name": DEAD_LETTERS,
            "description": "Messages that a consumer gave up or put aside",
            "subjects": [f"{ADVISORY}.MSG_TERMINATED.>"],  # no MAX_DELIVERIES: see consumers()
            "max_age": 30 * 24 * 3600 * NANO,
        },
        common
        | {
            "name": ARTEFACTS,
            "description": "Results too large for an event, named <session>/<turn>/<action>/<attempt>",
            "subjects": [f"$O.{BUCKET}.C.>", f"$O.{BUCKET}.M.>"],
            "allow_direct": True,
            "allow_rollup_hdrs": True,
            "discard": "new",
        },
        common
        | {
            "name": USED_TICKETS,
            "description": "Socket tickets that have been used, for longer than one can be used",
            "subjects": ["ticket.*"],
            "max_age": 120 * NANO,
            "max_msgs": 1_000_000,
            "discard": "new",  # full, it refuses: forgetting one would let it be used again
        },
        common
        | {
            "name": LOGOUTS,
            "description": "Logins that were ended before their time, for longer than one can last",
            "subjects": ["logout.*"],
            "max_age": 31 * 24 * 3600 * NANO,
            "max_msgs": MOST_LOGOUTS,
            "max_msgs_per_subject": 1,
            "discard": "new",
        },
        common
        | {
            "name": WATCHDOG,
            "description": "Processes that their watchdog ended, and the deliveries that they had in hand",
            "subjects": ["watchdog.>"],
            "max_age": 30 * 24 * 3600 * NANO,
            "max_msgs": 100_000,
            "allow_rollup_hdrs": True,
        },
    ]


def durable_named(name: str) -> Consumer:
    """Raises LookupError for a name that is not provisioned."""
    for consumer in CONSUMERS:
        if consumer.name == name:
            return consumer
    raise LookupError(f"No durable consumer is named {name}: see shared/services.py")


def consumers(settings: Settings) -> list[tuple[str, Config]]:
    """(stream, configuration) of every durable consumer.

    The broker gives nothing up: the middleware counts the tries, which knows which deliveries were one.
    """
    common: Config = {
        "ack_policy": "explicit",
        "deliver_policy": "all",
        "ack_wait": int(settings.ack_wait * NANO),
        "max_deliver": -1,
        "max_ack_pending": 1000,
    }
    return [
        (stream, {"name": name, "durable_name": name, "filter_subject": subject} | common)
        for stream, name, subject in CONSUMERS
    ]
