"""Why a command is refused. A refusal changes nothing; its message says what to do.

Refused
├── OutOfTurn      not now: the session is in another phase, or the work is somebody else's
├── Stale          it names a version or a content that is no longer the newest
├── AlreadyDone    what it asks for has been done before, as on another screen
│   └── Repeated       this very command has been carried out before
└── Invalid        it could never be right: an unknown action, an empty plan, settings out of range
"""

from collections.abc import Mapping, Sequence


class Refused(Exception):
    """Base of every refusal; `code` is what clients see in an `error` message."""

    code = "refused"


class OutOfTurn(Refused):
    code = "not_now"


class Stale(Refused):
    code = "stale_version"


class AlreadyDone(Refused):
    code = "already_done"


class Repeated(AlreadyDone):
    pass


class Invalid(Refused):
    """`steps`: what of it is wrong with which step of a plan, by the step's id; "": with none of them alone."""

    code = "invalid"

    def __init__(self, message: str, steps: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(message)
        self.steps = steps or {}


def need(condition: bool, otherwise: str) -> None:
    """Raise OutOfTurn with this message unless the condition holds."""
    if not condition:
        raise OutOfTurn(otherwise)
