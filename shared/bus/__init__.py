"""The message bus: durable consumers for work (FastStream), core NATS for requests, feeds and drafts.

Only this package and `shared/log.py` know NATS.
"""

from shared.bus.bus import Bus, Subscription
from shared.bus.deliveries import ConsumerState, Delivery
from shared.bus.errors import BusUnavailable, MessageTooLarge, Unprocessable
from shared.bus.jetstream import JetStreamLog

__all__ = [
    "Bus",
    "BusUnavailable",
    "ConsumerState",
    "Delivery",
    "JetStreamLog",
    "MessageTooLarge",
    "Subscription",
    "Unprocessable",
]
