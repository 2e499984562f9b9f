"""The error that clients see: an exception with a code for programs, and a message and hint for people.

bad_message unknown_type too_large                the message itself is wrong
slow_down                                         a quota or rate limit is exceeded: see quota.py
unauthorized forbidden not_found                  authentication and permissions
nothing_shown not_now stale_version invalid       the session does not allow it (the last three from the domain)
not_available                                     Parley cannot do that
unavailable                                       the bus or the store does not answer: try again
upgrade_needed                                    a newer release has continued the session
timed_out                                         the timeout of the request is over; the session goes on
failed                                            a bug: the details are in the log only
"""

from collections.abc import Mapping, Sequence

from parley.protocol.server import Error
from shared.bus.errors import MessageTooLarge
from shared.domain.kernel.errors import CommandRefused, Invalid
from shared.log import EventTooLarge, Indeterminate, LogFull, Unstorable, UpgradeNeeded
from shared.unavailable import Unavailable

STATUS = {
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "bad_message": 422,
    "unknown_type": 422,
    "invalid": 422,
    "too_large": 413,
    "slow_down": 429,
    "not_available": 501,
    "unavailable": 503,
    "timed_out": 504,
    "failed": 500,
}
UNAVAILABLE = (Unavailable, Indeterminate, TimeoutError, ConnectionError)
HINTS = {
    "not_now": "Look at the snapshot's `can`: it lists what the session accepts now.",
    "stale_version": "Resume the session to see the newest version, then decide again.",
    "invalid": "Correct the message and send it again.",
    "too_large": "Make it shorter.",
    "upgrade_needed": "Nothing is lost. Upgrade Parley's services, all of them, then send it again with the same id.",
}


class ApiError(Exception):
    """A refused request; nothing has changed. `reply_to`: the id of the refused message, if it could be read.

    `session_id`: a session that goes on all the same. `retry_after`: seconds. `steps`: problems by step id.
    """

    def __init__(  # noqa: PLR0913  the fields of an error
        self,
        code: str,
        message: str,
        hint: str = "",
        *,
        reply_to: str | None = None,
        session_id: str | None = None,
        retry_after: int | None = None,
        steps: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.reply_to = code, message, hint, reply_to
        self.session_id, self.retry_after = session_id, retry_after
        self.steps = {name: tuple(wrong) for name, wrong in (steps or {}).items()}

    @property
    def status(self) -> int:
        """The HTTP status; 409 if the session does not allow the request."""
        return STATUS.get(self.code, 409)


FAILED_MESSAGE = "Something went wrong in the gateway; nothing was changed by it."


def as_api_error(error: Exception) -> ApiError | None:
    """The error as clients see it; None for a bug."""
    match error:
        case ApiError():
            return error
        case CommandRefused() | UpgradeNeeded():
            steps = error.steps if isinstance(error, Invalid) else None
            return ApiError(error.code, str(error), HINTS.get(error.code, ""), steps=steps)
        case Unstorable() | MessageTooLarge():
            code = "too_large" if isinstance(error, EventTooLarge | MessageTooLarge) else "invalid"
            return ApiError(code, str(error), HINTS[code])
        case LogFull():
            return ApiError(
                "unavailable",
                "Parley's log stores nothing: is its disk full?",
                "Nothing is lost. Give NATS more room (disk, or max_file_store) and restart it, then send it again "
                "with the same id.",
            )
        case _ if isinstance(error, UNAVAILABLE):
            return ApiError(
                "unavailable",
                "Parley cannot reach its log or its store at the moment.",
                "Nothing is lost. Send it again with the same id in a few seconds; /readyz shows what is missing.",
            )
        case _:
            return None


def error_message(error: ApiError, session_id: str, reply_to: str | None = None) -> Error:
    return Error(
        session_id=session_id,
        code=error.code,
        message=error.message,
        hint=error.hint,
        content=error.message,
        reply_to=reply_to or error.reply_to,
        retry_after=error.retry_after,
        steps=error.steps,
    )
