"""All metrics. Labels have few values, known beforehand: never an id, a subject, a path or a text.

Names end in their unit; counters end in `_total`; gauges of messages or sessions are named after what they count.
Where several processes report the same value, such as replicas about their common consumer, take the maximum.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
REGISTRY = CollectorRegistry(auto_describe=True)
ProcessCollector(registry=REGISTRY)

_QUICK = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_SLOW = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)

# --- the log

APPEND = Histogram(
    "parley_log_append_duration_seconds",
    "Guarded appends by outcome: stored, conflict (another writer appended first), unknown (no answer)",
    ["outcome"],
    buckets=_QUICK,
    registry=REGISTRY,
)

# --- durable consumers: each process reports on those that it works

PENDING = Gauge(
    "parley_consumer_pending_messages", "Messages not yet given to anybody", ["consumer"], registry=REGISTRY
)
ACK_PENDING = Gauge(
    "parley_consumer_ack_pending_messages", "Messages given out and not done", ["consumer"], registry=REGISTRY
)
REDELIVERED = Gauge(
    "parley_consumer_redelivered_messages",
    "Messages given out more than once and not done",
    ["consumer"],
    registry=REGISTRY,
)
OLDEST_PENDING = Gauge(
    "parley_consumer_oldest_pending_age_seconds",
    "Age of the oldest message not yet given to anybody",
    ["consumer"],
    registry=REGISTRY,
)
OLDEST_UNACKED = Gauge(
    "parley_consumer_oldest_unacked_age_seconds",
    "Age of the oldest message that is not done",
    ["consumer"],
    registry=REGISTRY,
)
MISSING = Gauge(
    "parley_consumer_missing", "1 while the broker does not know the consumer", ["consumer"], registry=REGISTRY
)
HANDLER = Histogram(
    "parley_handler_duration_seconds",
    "Deliveries by outcome: done, parked, failed (delivered again), interrupted (the process was ending)",
    ["consumer", "outcome"],
    buckets=_SLOW,
    registry=REGISTRY,
)
REDELIVERIES = Counter(
    "parley_consumer_redeliveries_total", "Deliveries that were not a message's first", ["consumer"], registry=REGISTRY
)

# --- requests between services

REQUEST = Histogram(
    "parley_bus_request_duration_seconds",
    "Requests answered over the bus, by what they ask for",
    ["request"],
    buckets=_QUICK,
    registry=REGISTRY,
)
CONNECTED = Gauge("parley_nats_connected", "1 while the process has its connection to NATS", registry=REGISTRY)

# --- models and tools

MODEL = Histogram(
    "parley_model_call_duration_seconds",
    "Calls of a model by what became of them: ok, invalid, failed, cancelled",
    ["role", "model", "outcome"],
    buckets=_SLOW,
    registry=REGISTRY,
)
DOWNGRADES = Counter(
    "parley_model_downgrades_total",
    "Replies that a model is asked for in a plainer mode from now on: json_object or text instead of json_schema",
    ["model", "reply", "mode"],
    registry=REGISTRY,
)
TOKENS = Counter(
    "parley_model_tokens_total",
    "Tokens used; prompt without the cached ones",
    ["role", "model", "kind"],
    registry=REGISTRY,
)
COST = Counter("parley_model_cost_dollars_total", "By PARLEY_PRICES", ["role", "model"], registry=REGISTRY)
TOOL = Histogram(
    "parley_tool_call_duration_seconds",
    "Calls of tools by what became of them: ok, error, unknown (did it take effect?), cancelled",
    ["tool", "outcome"],
    buckets=_SLOW,
    registry=REGISTRY,
)
ACTIONS_RESTRICTED = Counter(
    "parley_actions_restricted_total",
    "Actions that the executor ruled more strictly than their plan, by its decision",
    ["decision"],
    registry=REGISTRY,
)
BUDGET_EXCEEDED = Counter(
    "parley_budget_exceeded_total", "Work put to a person because its budget is spent", ["service"], registry=REGISTRY
)

# --- the gateway

WEBSOCKETS = Gauge("parley_websocket_connections", "WebSockets open", registry=REGISTRY)
WEBSOCKET_MESSAGES = Counter(
    "parley_websocket_messages_total", "WebSocket messages: in, out", ["direction"], registry=REGISTRY
)
HTTP = Histogram(
    "parley_http_request_duration_seconds",
    "Requests by the route's template",
    ["method", "route", "status"],
    buckets=_SLOW,
    registry=REGISTRY,
)

# --- what plan_store counts in its database

SESSIONS = Gauge("parley_sessions", "Sessions by the phase they are in", ["phase"], registry=REGISTRY)
DEAD_LETTERS = Gauge(
    "parley_dead_letters",
    "Deliveries given up and still listed by `parley dead`",
    ["consumer"],
    registry=REGISTRY,
)
PARKED = Gauge("parley_parked_messages", "Messages put aside: no events of their session", registry=REGISTRY)
EVENTS_REFUSED = Counter(
    "parley_events_refused_total",
    "Messages of the log that folding refused: each once, by the plan_store that stored it as parked",
    registry=REGISTRY,
)
OLDEST_DUE_WORK = Gauge(
    "parley_oldest_due_work_age_seconds",
    "Age of the oldest work that is due and not done",
    ["service"],
    registry=REGISTRY,
)

# --- every process

LOOP_LAG = Histogram(
    "parley_event_loop_lag_seconds",
    "How late the event loop comes to a timer that is set once a second",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
    registry=REGISTRY,
)


@contextmanager
def timed(histogram: Histogram, outcome: str, **labels: str) -> Iterator["Timing"]:
    """Observe the duration of the block under its outcome, which the block may set."""
    timing, began = Timing(outcome), time.perf_counter()
    try:
        yield timing
    finally:
        histogram.labels(**labels, outcome=timing.outcome).observe(time.perf_counter() - began)


class Timing:
    """The outcome of a timed block."""

    __slots__ = ("outcome",)

    def __init__(self, outcome: str) -> None:
        self.outcome = outcome


def exposition() -> bytes:
    """All metrics in Prometheus's text format."""
    return generate_latest(REGISTRY)
