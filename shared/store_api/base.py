"""The form of a request to plan_store and of its answer, and what a refusal is."""

from typing import Literal, NamedTuple

from parley.protocol.pages import Message as Message

PREFIX = "plan_store."

Code = Literal[
    "bad_request",  # not the request's shape
    "unknown",  # no such session, plan, code or version
    "purged",  # the session was purged; its id is never used again
    "forbidden",  # somebody else's session
    "stale",  # it names a version that is no longer the newest
    "full",  # one may not have more of these
    "busy",  # work is going on: stop it first
    "behind",  # the log does not hold the wanted position
    "upgrade_needed",  # a newer release has continued the session
    "too_large",  # the answer: ask for less
    "log_down",
    "database_down",
    "failed",  # a fault of ours
]


class StoreError(Exception):
    """What plan_store refuses a request with; its client raises `shared.store.StoreRefused` or `StoreDown`."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code: Code = code


class Problem(Message):
    code: Code
    message: str


class Failed(Message):
    error: Problem


class Verb[Q: Message, A: Message](NamedTuple):
    """One thing plan_store does: its subject without the prefix, what is asked and what is answered."""

    name: str
    request: type[Q]
    answer: type[A]

    @property
    def subject(self) -> str:
        return PREFIX + self.name
