"""The errors of the bus.

Exception
├── BusUnavailable   no answer: not connected, no responder, or a time-out
├── MessageTooLarge  a request or its answer exceeds the server's max_payload: request less
└── Unprocessable    raised by a consumer's handler: the message can never be handled; it becomes a dead letter

A body that is too large for the object store raises `shared.log.EventTooLarge`, as an event that is too large does.
"""

from shared.unavailable import Unavailable


class BusUnavailable(Unavailable):
    pass


class MessageTooLarge(Exception):
    pass


class Unprocessable(Exception):
    pass
