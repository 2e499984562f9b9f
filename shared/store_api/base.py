"""The shape of requests to plan_store, of its replies, and of its errors."""

from typing import Literal, NamedTuple

from parley.protocol.pages import StoreMessage as StoreMessage

PREFIX = "plan_store."

Code = Literal[
    "bad_request",  # not the request's shape
    "unknown",  # no such session, plan, code or version
    "purged",  # the session was purged; its id is never used again
    "forbidden",  # another user's session
    "stale",  # it names a version that is no longer the newest
    "full",  # the user has reached the limit of these
    "busy",  # a service is at work: stop it first
    "behind",  # the log does not reach the requested position
    "upgrade_needed",  # a newer release has continued the session
    "too_large",  # the reply: request less
    "log_down",
    "database_down",
    "failed",  # an internal error
]


class StoreError(Exception):
    """Why plan_store refuses a request; its client raises `shared.store.StoreRefused` or `StoreUnavailable`."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code: Code = code


class ErrorBody(StoreMessage):
    code: Code
    message: str


class ErrorReply(StoreMessage):
    error: ErrorBody


class Verb[Q: StoreMessage, A: StoreMessage](NamedTuple):
    """One request of plan_store: the subject without the prefix, the request and the reply model."""

    name: str
    request: type[Q]
    answer: type[A]

    @property
    def subject(self) -> str:
        return PREFIX + self.name
