"""Errors of the client.

ParleyError
├── ParleyUnavailable  not reachable, or not ready: the same request may work later
├── NotAllowed         access denied, or not a Parley: the same request will fail again
└── RequestRefused     the request was understood and refused
"""


class ParleyError(Exception):
    """Base class. `code` is for programs; `message` and `hint` (what to do) are for people."""

    code = ""

    def __init__(self, message: str, hint: str = "", *, code: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message, self.hint = message, hint
        self.code = code or self.code


class ParleyUnavailable(ParleyError):
    """Parley cannot be reached, or is not ready. `retry_after`: seconds, if the gateway said when to retry."""

    code = "unreachable"

    def __init__(self, message: str, hint: str = "", *, code: str = "", retry_after: int | None = None) -> None:
        super().__init__(message, hint, code=code)
        self.retry_after = retry_after


class NotAllowed(ParleyError):
    code = "unauthorized"


class RequestRefused(ParleyError):
    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint, code=code)
