"""What may go wrong between a program and its Parley.

ParleyError
├── ParleyDown    it cannot be reached, or not now: the same again later may work
├── NotAllowed    it does not let us in, or is none: the same again will not work
└── Refused       it understood and said no
"""


class ParleyError(Exception):
    """Any of the below. `code` is for programs, `message` and `hint` (what to do) are for people."""

    code = ""

    def __init__(self, message: str, hint: str = "", *, code: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message, self.hint = message, hint
        self.code = code or self.code


class ParleyDown(ParleyError):
    """`retry_after`: it answers, and says in how many seconds the same may work."""

    code = "unreachable"

    def __init__(self, message: str, hint: str = "", *, code: str = "", retry_after: int | None = None) -> None:
        super().__init__(message, hint, code=code)
        self.retry_after = retry_after


class NotAllowed(ParleyError):
    code = "unauthorized"


class Refused(ParleyError):
    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint, code=code)
