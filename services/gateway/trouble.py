"""Whatever can go wrong for a client, as one exception with a code for programs and words for people.

bad_message unknown_type too_large                the message itself
slow_down                                         more than one user may take: see quota.py
unauthorized forbidden not_found                  who may do what
nothing_shown not_now stale_version invalid       the session does not allow it (the last three from the domain)
not_available                                     Parley cannot do that yet
unavailable                                       the bus or the store is away: try again
upgrade_needed                                    a newer release has continued the session
timed_out                                         the session goes on, but not as fast as somebody wanted to wait
failed                                            a fault of ours: the log tells it, the answer does not
"""

from collections.abc import Mapping, Sequence

from parley.protocol.server import Error
from shared.bus.errors import BusDown, MessageTooLarge
from shared.domain.errors import Invalid, Refused
from shared.log import Indeterminate, LogDown, LogFull, TooLarge, Unstorable, UpgradeNeeded
from shared.store import StoreDown

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
AWAY = (BusDown, LogDown, StoreDown, Indeterminate, TimeoutError, ConnectionError)
HINTS = {
    "not_now": "Look at the snapshot's `can`: it lists what the session accepts now.",
    "stale_version": "Resume the session to see the newest version, then decide again.",
    "invalid": "Correct the message and send it again.",
    "too_large": "Make it shorter.",
    "upgrade_needed": "Nothing is lost. Upgrade Parley's services, all of them, then send it again with the same id.",
}


class Trouble(Exception):
    """A refusal; nothing has changed. `reply_to` is the id of the message that is refused, if it could be read.

    `session_id`: the session that goes on all the same, where one was begun. `retry_after`: seconds, where it is known.
    `steps`: what is wrong with which step of a plan, by the step's id.
    """

    def __init__(  # noqa: PLR0913  what a refusal may tell
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
        """As an HTTP status; a session that does not allow it is a 409."""
        return STATUS.get(self.code, 409)


FAILED = "Something went wrong in the gateway; nothing was changed by it."


def as_trouble(error: Exception) -> Trouble | None:
    """The same as a client should see it; None for what is a fault of ours."""
    match error:
        case Trouble():
            return error
        case Refused() | UpgradeNeeded():
            steps = error.steps if isinstance(error, Invalid) else None
            return Trouble(error.code, str(error), HINTS.get(error.code, ""), steps=steps)
        case Unstorable() | MessageTooLarge():
            code = "too_large" if isinstance(error, TooLarge | MessageTooLarge) else "invalid"
            return Trouble(code, str(error), HINTS[code])
        case LogFull():
            return Trouble(
                "unavailable",
                "Parley's log is full: nothing more can be stored.",
                "Nothing is lost. Give NATS more room (disk, or max_file_store), then send it again with the same id.",
            )
        case _ if isinstance(error, AWAY):
            return Trouble(
                "unavailable",
                "Parley cannot reach its log or its store at the moment.",
                "Nothing is lost. Send it again with the same id in a few seconds; /readyz tells what is missing.",
            )
        case _:
            return None


def error_message(trouble: Trouble, session_id: str, reply_to: str | None = None) -> Error:
    return Error(
        session_id=session_id,
        code=trouble.code,
        message=trouble.message,
        hint=trouble.hint,
        content=trouble.message,
        reply_to=reply_to or trouble.reply_to,
        retry_after=trouble.retry_after,
        steps=trouble.steps,
    )
