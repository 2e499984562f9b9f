"""Why a command is refused. A refused command changes nothing; the message tells the caller what to do.

CommandRefused
├── Forbidden      the user has no such right in this session
├── OutOfTurn      not now: the session is in another phase, or the work belongs to another worker
├── Stale          the command names a version or content that is no longer the newest
├── AlreadyDone    the requested effect exists already, for example from a second browser tab
│   └── Repeated       this very command has been carried out before
└── Invalid        the command can never succeed: an unknown action, an empty plan, settings out of range
"""

from collections.abc import Mapping, Sequence


class CommandRefused(Exception):
    """Base of every refusal. `code` is what clients see in an `error` message."""

    code = "refused"


class Forbidden(CommandRefused):
    code = "forbidden"


class OutOfTurn(CommandRefused):
    code = "not_now"


class Stale(CommandRefused):
    code = "stale_version"


class AlreadyDone(CommandRefused):
    code = "already_done"


class Repeated(AlreadyDone):
    pass


class Invalid(CommandRefused):
    """`steps` holds a plan's problems by step id; the key "" holds those of no single step."""

    code = "invalid"

    def __init__(self, message: str, steps: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(message)
        self.steps = steps or {}


def require(condition: bool, message: str) -> None:
    """Raise OutOfTurn with this message unless the condition holds."""
    if not condition:
        raise OutOfTurn(message)
