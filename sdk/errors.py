"""What may go wrong between a program and its Parley.

ParleyError
├── ParleyDown    it cannot be reached, or not now: the same again later may work
├── NotAllowed    it does not let us in, or is none: the same again will not work
└── Refused       it understood and said no; `code` for programs, the words for people
"""


class ParleyError(Exception):
    """Any of the below; the message says what to do."""


class ParleyDown(ParleyError):
    pass


class NotAllowed(ParleyError):
    pass


class Refused(ParleyError):
    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.code = code
