"""Names and configurations of streams and consumers, for provisioning and the drift report.

Configurations are JetStream's JSON, with durations in nanoseconds and only the settings that matter to Parley.
"""

from typing import Any

from shared.services import CONSUMERS, Consumer
from shared.settings import Settings

SESSIONS, TIMERS, DEAD_LETTERS, USED_TICKETS = "SESSIONS", "TIMERS", "DEAD_LETTERS", "USED_TICKETS"
LOGOUTS, ATTEMPTS, LIBRARY = "LOGOUTS", "ATTEMPTS", "LIBRARY"
BUCKET = "ARTEFACTS"
ARTEFACTS = f"OBJ_{BUCKET}"  # NATS names the stream of a bucket like this
BACKED_UP = (SESSIONS, TIMERS, DEAD_LETTERS, ARTEFACTS, LOGOUTS, LIBRARY)  # what a backup contains
NANO = 1_000_000_000
MAX_LOGOUTS = 1_000_000
ADVISORY = "$JS.EVENT.ADVISORY.CONSUMER"
MIN_SERVER = (2, 12)
MIN_PAYLOAD = 512 * 1024  # bytes: the largest event, also when it is read from the log as text
FORMAT_KEY, LOG_FORMAT = "parley.format", "2"  # the log's format: see log_format.py

type Config = dict[str, Any]


def streams(settings: Settings) -> list[Config]:
    """The configurations of all streams."""
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
            "metadata": {FORMAT_KEY: LOG_FORMAT},
        },
        common
        | {
            "name": LIBRARY,
            "description": "Every version of every template: library.<id>",
            "subjects": ["library.*"],
            "discard": "new",
            "allow_rollup_hdrs": True,  # a deletion removes the earlier versions
        },
        common
        | {
            "name": TIMERS,
            "description": "Deadlines: timer.<session>.<kind> fires as timerfired.<session>.<kind>",
            "subjects": ["timer.>", "timerfired.>"],
            "max_msgs_per_subject": 1,  # a timer, and its firing; older messages are obsolete
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
            "discard": "new",  # when full, refuse new tickets: a forgotten one could be used again
        },
        common
        | {
            "name": LOGOUTS,
            "description": "Logins that were ended before their time, for longer than one can last",
            "subjects": ["logout.*"],
            "max_age": 31 * 24 * 3600 * NANO,
            "max_msgs": MAX_LOGOUTS,
            "max_msgs_per_subject": 1,
            "discard": "new",
        },
        common
        | {
            "name": ATTEMPTS,
            "description": "How often the handling of a message has begun",
            "subjects": ["attempt.>"],
            "max_age": 30 * 24 * 3600 * NANO,
            "max_msgs_per_subject": 1,
            "allow_msg_counter": True,
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

    `max_deliver` is unlimited: shared/bus/middleware.py counts, because not every delivery is an attempt.
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
