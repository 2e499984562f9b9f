# ruff: noqa: PLR0911 (a line per case)
"""Classifies errors of the openai package: retry, change the request, or fail with the right error."""

import email.utils
import time
from typing import NamedTuple

import httpx2
import openai

from shared.llm.errors import ModelError, ModelFailed, ModelMisconfigured, ModelUnreachable
from shared.message_limits import MessageTooLong

RETRY_AFTER_CAP = 30.0
SETTINGS = "MODEL_MAX_MESSAGE_BYTES and MODEL_MAX_RESPONSE_BYTES"
CONTEXT_EXCEEDED_CODES = ("context_length_exceeded", "exceed_context_size_error")  # OpenAI's code, llama-server's type
CONTEXT_FULL = "context size has been exceeded"  # in llama-server's 500 when a reply fills the context


class SettingNames(NamedTuple):
    """The environment variables of the endpoint's settings, for error messages."""

    url: str
    key: str
    model: str = "OPENAI_MODEL"
    secret: str = ""  # the key itself, which servers quote in errors

    def hide(self, text: str) -> str:
        """The text without the key."""
        return text.replace(self.secret, "…") if len(self.secret) > 7 else text


class TransientFault(Exception):
    """A fault that a retry may clear. `wait`: seconds, if the server asked for a pause."""

    def __init__(self, reason: str, *, raw: str = "", wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw
        self.wait = wait


class UnsupportedRequest(Exception):
    """A 400 or 422: the server does not accept the request as it is."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InvalidReply(Exception):
    """The model answered, but not with the object asked for.

    `prose`: it contains no JSON. `cut`: it reached the length limit, so it must not be quoted back, in case it loops.
    """

    def __init__(self, reason: str, *, raw: str, prose: bool = False, cut: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw
        self.prose = prose
        self.cut = cut


def classify(error: Exception, *, names: SettingNames) -> Exception:
    """The `TransientFault`, `RequestRejected`, `InvalidReply` or `ModelError` that this error means."""
    match error:
        case ModelError() | TransientFault() | UnsupportedRequest() | InvalidReply():
            return error
        case MessageTooLong():
            return ModelFailed(f"the endpoint sent {error}: {SETTINGS} bound what it may send")
        case openai.APIConnectionError(__cause__=MessageTooLong() as cause):
            return classify(cause, names=names)
        case TimeoutError():
            return TransientFault("the model did not finish in time")
        case openai.APITimeoutError() | openai.APIConnectionError():
            return _connection(error)
        case openai.APIStatusError():
            return _status(error, names)
        case openai.APIError():
            return TransientFault(f"the endpoint reported an error in its stream: {shorten(names.hide(error.message))}")
        case httpx2.HTTPError():
            return TransientFault(f"the connection broke: {type(error).__name__}")
        case ValueError():
            return TransientFault("the endpoint sent a stream that is not JSON")
        case _:
            return error


def _connection(error: openai.APIConnectionError) -> Exception:
    if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol):
        host = error.request.url.copy_with(query=None)
        return ModelUnreachable(f"no model answers at {host}: {shorten(str(error.__cause__))}")
    if isinstance(error, openai.APITimeoutError):
        return TransientFault("the model did not answer in time")
    return TransientFault(f"the connection to the model broke: {type(error.__cause__).__name__}")


def _status(error: openai.APIStatusError, names: SettingNames) -> Exception:
    message = shorten(names.hide(error.message))
    if error.code in CONTEXT_EXCEEDED_CODES or error.type in CONTEXT_EXCEEDED_CODES or CONTEXT_FULL in message.lower():
        return ModelFailed(_context_exceeded(error.body))
    match error.status_code:
        case 400 | 422:
            return UnsupportedRequest(message)
        case 401 | 403:
            return ModelMisconfigured(f"the endpoint refuses the key ({error.status_code}): set {names.key}. {message}")
        case 404:
            return ModelMisconfigured(
                f"the endpoint knows no such address or model (404): check {names.url} and {names.model}. {message}"
            )
        case 402:
            return ModelMisconfigured(f"the account behind the key cannot pay (402). {message}")
        case 429 if error.code == "insufficient_quota":
            return ModelMisconfigured(f"the account behind the key has no quota left (429). {message}")
        case 408 | 409 | 425 | 429 | 500 | 501 | 502 | 503 | 504 | 529:
            return TransientFault(
                f"the endpoint answered {error.status_code}: {message}", wait=retry_after(error.response)
            )
        case status:
            return TransientFault(f"the endpoint answered {status}: {message}")


def _context_exceeded(body: object) -> str:
    """The reason for a prompt that is longer than the model's context, with what to do."""
    counts = (body.get("n_prompt_tokens"), body.get("n_ctx")) if isinstance(body, dict) else ()
    sizes = " ({:,} of {:,} tokens)".format(*counts) if counts and all(type(count) is int for count in counts) else ""
    return (
        f"The session no longer fits the model's context{sizes}: serve the model with a larger context or choose "
        "another model and retry, or begin a new session"
    )


def retry_after(response: httpx2.Response) -> float | None:
    """Seconds that the server asks to wait, at most `RETRY_AFTER_CAP`; None if it does not say."""
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
