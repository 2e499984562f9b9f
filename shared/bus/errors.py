"""What a user of the bus can meet.

Exception
├── BusDown   nobody answered: not connected, no responder, or too late
└── Park      raised by a consumer's handler: this message can never be handled; put it aside with the reason

A body that is too large for the object store is `shared.log.TooLarge`, like an event that is too large for the log.
"""


class BusDown(Exception):
    pass


class Park(Exception):
    pass
