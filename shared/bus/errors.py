"""What a user of the bus can meet.

Exception
├── BusDown          nobody answered: not connected, no responder, or too late
├── MessageTooLarge  a request, or the answer to it, is over the server's max_payload: ask for less
└── Park             raised by a consumer's handler: this message can never be handled; put it aside with the reason

A body that is too large for the object store is `shared.log.TooLarge`, like an event that is too large for the log.
"""


class BusDown(Exception):
    pass


class MessageTooLarge(Exception):
    pass


class Park(Exception):
    pass
