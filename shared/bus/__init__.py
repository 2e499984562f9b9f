"""How services meet: FastStream's consumers for work, core NATS for requests, feeds and tokens.

Nothing outside this package knows NATS.
"""

from shared.bus.bus import Bus, Subscription
from shared.bus.consuming import Delivery
from shared.bus.errors import BusDown, MessageTooLarge, Park
from shared.bus.jetstream import JetStreamLog
from shared.bus.watched import Consumer

__all__ = ["Bus", "BusDown", "Consumer", "Delivery", "JetStreamLog", "MessageTooLarge", "Park", "Subscription"]
