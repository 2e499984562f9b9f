# ruff: noqa: PLR0911 (one line a case)
"""Sorts what the openai package raises: try again, ask differently, or give up with the right error."""

import email.utils
import time
from typing import NamedTuple

import httpx2
import openai

from shared.llm.errors import ModelError, ModelFailed, ModelMisconfigured, ModelUnreachable
from shared.message_limits import TooLarge

RETRY_AFTER_CAP = 30.0
SETTINGS = "MODEL_MAX_MESSAGE_BYTES and MODEL_MAX_RESPONSE_BYTES"
TOO_LONG = ("context_length_exceeded", "exceed_context_size_error")  # OpenAI's code, llama-server's type
NO_ROOM = "context size has been exceeded"  # what llama-server says with a 500 once a reply fills the context


class Names(NamedTuple):
    """The settings that a person would change, by their names in the environment."""

    url: str
    key: str
    model: str = "OPENAI_MODEL"
    secret: str = ""  # the key itself: servers like to quote it back

    def hide(self, text: str) -> str:
        """The text without the key."""
        return text.replace(self.secret, "…") if len(self.secret) > 7 else text


class Passing(Exception):
    """Worth another try; `wait` is what the server asked for, in seconds."""

    def __init__(self, reason: str, *, raw: str = "", wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw
        self.wait = wait


class Rejected(Exception):
    """A 400 or 422: the server does not take the request as it stands."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BadReply(Exception):
    """The model answered, but not with the object asked for.

    `prose`: there was no JSON in it at all. `cut`: it ran to the length limit, so that showing it again would only
    feed the loop it may have been in.
    """

    def __init__(self, reason: str, *, raw: str, prose: bool = False, cut: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw
        self.prose = prose
        self.cut = cut


def sort_fault(error: Exception, *, names: Names) -> Exception:
    """The `Passing`, `Rejected` or `ModelError` that this error means; `names` are the settings to change."""
    match error:
        case ModelError() | Passing() | Rejected() | BadReply():
            return error
        case TooLarge():
            return ModelFailed(f"the endpoint sent {error}: {SETTINGS} bound what it may send")
        case openai.APIConnectionError(__cause__=TooLarge() as cause):
            return sort_fault(cause, names=names)
        case TimeoutError():
            return Passing("the model did not finish in time")
        case openai.APITimeoutError() | openai.APIConnectionError():
            return _connection(error)
        case openai.APIStatusError():
            return _status(error, names)
        case openai.APIError():
            return Passing(f"the endpoint reported an error in its stream: {shorten(names.hide(error.message))}")
        case httpx2.HTTPError():
            return Passing(f"the connection broke: {type(error).__name__}")
        case ValueError():
            return Passing("the endpoint sent a stream that is not JSON")
        case _:
            return error


def _connection(error: openai.APIConnectionError) -> Exception:
    if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol):
        host = error.request.url.copy_with(query=None)
        return ModelUnreachable(f"no model answers at {host}: {shorten(str(error.__cause__))}")
    if isinstance(error, openai.APITimeoutError):
        return Passing("the model did not answer in time")
    return Passing(f"the connection to the model broke: {type(error.__cause__).__name__}")


def _status(error: openai.APIStatusError, names: Names) -> Exception:
    said = shorten(names.hide(error.message))
    if error.code in TOO_LONG or error.type in TOO_LONG or NO_ROOM in said.lower():
        return ModelFailed(_too_long(error.body))
    match error.status_code:
        case 400 | 422:
            return Rejected(said)
        case 401 | 403:
            return ModelMisconfigured(f"the endpoint refuses the key ({error.status_code}): set {names.key}. {said}")
        case 404:
            return ModelMisconfigured(
                f"the endpoint knows no such address or model (404): check {names.url} and {names.model}. {said}"
            )
        case 402:
            return ModelMisconfigured(f"the account behind the key cannot pay (402). {said}")
        case 429 if error.code == "insufficient_quota":
            return ModelMisconfigured(f"the account behind the key has no quota left (429). {said}")
        case 408 | 409 | 425 | 429 | 500 | 501 | 502 | 503 | 504 | 529:
            return Passing(f"the endpoint answered {error.status_code}: {said}", wait=retry_after(error.response))
        case status:
            return Passing(f"the endpoint answered {status}: {said}")


def _too_long(body: object) -> str:
    """What a person can do about a prompt that is longer than the model's context."""
    counts = (body.get("n_prompt_tokens"), body.get("n_ctx")) if isinstance(body, dict) else ()
    sizes = " ({:,} of {:,} tokens)".format(*counts) if counts and all(type(one) is int for one in counts) else ""
    return (
        f"The session no longer fits the model's context{sizes}: serve the model with a larger context or choose "
        "another model and retry, or begin a new session"
    )


def retry_after(response: httpx2.Response) -> float | None:
    """Seconds the server asks us to wait, never more than `RETRY_AFTER_CAP`; None where it does not say."""
    value = response.headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        date = email.utils.parsedate_tz(value)
        if date is None:
            return None
        seconds = email.utils.mktime_tz(date) - time.time()
    return min(max(seconds, 0.0), RETRY_AFTER_CAP)


def shorten(text: str, limit: int = 300) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
