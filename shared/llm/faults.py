# ruff: noqa: PLR0911 (a line per case)
"""Classifies errors of calls and answers of servers: retry, change the request, or fail with the right error."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import httpx2
import openai

from shared.llm.completion import ErrorAnswer
from shared.llm.errors import ModelError, ModelFailed, ModelMisconfigured, ModelUnreachable
from shared.llm.schema import Capabilities
from shared.logging import conceal
from shared.message_limits import MessageTooLong
from shared.text import cut

MAX_BODY = 20_000  # characters that are read
MAX_TEXTS = 200  # that are compared with each other
MAX_LEVELS = 12  # of values within values
# keys of words, the outer cause first: OpenAI, Spring, FastAPI and pydantic, Cloudflare, Azure, MiniMax, OpenRouter
WORDS = (
    *("error", "errors", "message", "error_message", "error_description", "detail", "details", "msg", "title"),
    *("description", "innererror", "base_resp", "status_msg", "metadata", "raw"),
)
CODES = ("code", "type", "error_type", "status", "param", "reason")
NO_FIELDS = frozenset({*WORDS, *CODES, "@type", "domain", "loc", "path"})  # keys that name no field of the request
FACTS = frozenset({"metadata", "raw"})  # keys of objects that may quote the request: their own keys are not read
_HTML = re.compile(r"<(?:!doctype|html|head|body)\b", re.IGNORECASE)
_HTML_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<[^<>]*>", re.DOTALL | re.IGNORECASE)
SETTINGS = "MODEL_MAX_MESSAGE_BYTES and MODEL_MAX_RESPONSE_BYTES"
REJECTED = frozenset({400, 406, 413, 414, 415, 422, 431})  # status codes of requests that can never succeed
# What servers say of a cause, in their words and codes, in lower case.
CONTEXT_EXCEEDED = re.compile(
    r"context[ _](?:length|size|window|limit)|exceed_context_size|model's context|model token limit|too many tokens"
    r"|(?:prompt|input|request(?! entity)|message)s?\b.{0,60}\btoo (?:long|large)|max(?:imum)? (?:model|prompt) len"
    r"|input token count|`?inputs`?.{0,30}\btokens?\b|range of input length|exceeds max length|reduce the length"
    r"|(?:input|prompt) length\b.{0,40}\bexceeds?\b|maximum supported sequence length|exceed max message tokens"
)
RATE_LIMITED = re.compile(r"per[ _]?(?:second|minute|hour|day)|retry in|try again|rate[ _]limit|retrydelay")
NO_QUOTA = re.compile(
    r"insufficient[ _](?:quota|balance|credits?|funds)|exceeded your current quota|credit balance|out of credits"
    r"|billing|payment required|spending limit|in arrears|arrearage|not[ _]enough[ _](?:balance|credits)"
    r"|balance is insufficient|account(?: is| has an)? ?overdue|n't have (?:any|enough) (?:balance|credits)"
)
UNKNOWN_MODEL = re.compile(
    r"model_not_found|modelnotfound|deploymentnotfound|(?:invalid|unknown|unsupported) model\b|not a valid model"
    r"|no models? (?:is |are )?loaded|\bmodel\b.{0,120}\b(?:not (?:found|exist|available|loaded)|doesn't exist)"
    r"|no such model|model_not_supported|model_decommissioned|unexpected endpoint"
)
WRONG_KEY = re.compile(
    r"api[ _-]?key\b.{0,40}\b(?:not valid|invalid|incorrect|missing|expired|required)"
    r"|\b(?:invalid|incorrect|missing|expired|no)\b.{0,20}\bapi[ _-]?key|api_key_invalid|invalid_api_key"
)
CONTEXT_ADVICE = (
    "The session no longer fits the model's context: serve the model with a larger context or choose another model and "
    "retry, or begin a new session"
)


class ErrorWords(NamedTuple):
    """`words`: for people, in one line. `codes`: codes, types and names of parameters, for programs."""

    words: str
    codes: str

    @property
    def text(self) -> str:
        """Everything in lower case, to search."""
        return f"{self.words} {self.codes}".lower()


def read_error(body: object) -> ErrorWords:
    """The words and codes of a body, which is a JSON value or a text: JSON, HTML or plain."""
    value = _decoded(body[:MAX_BODY]) if isinstance(body, str) else body
    texts = list(islice(_texts(value, MAX_LEVELS), MAX_TEXTS))
    codes = " ".join(dict.fromkeys(text for text, is_code in texts if is_code))
    words: list[str] = []
    for text, is_code in texts:
        if not is_code and not any(text in earlier for earlier in words):
            words.append(text)
    says_more = isinstance(value, Mapping) and value.keys() - {*WORDS, *CODES}
    known = "; ".join(words) or ("" if says_more else codes)
    if not known and value not in (None, {}, [], ""):
        known = json.dumps(value, ensure_ascii=False)[:MAX_BODY]
    return ErrorWords(known, codes)


def _texts(value: object, levels: int, *, by_field: bool = False) -> Iterator[tuple[str, bool]]:
    """Each text under the known keys, and whether it is a code; a text may itself be JSON, from behind a gateway.

    With `by_field`, an object without known words also yields the texts under its other keys, each after its key.
    """
    value = _decoded(value)
    if isinstance(value, str) and value:
        yield " ".join(value.split()), False
    elif isinstance(value, list) and levels:
        for item in value[:10]:
            yield from _texts(item, levels - 1, by_field=by_field)
    elif isinstance(value, Mapping) and levels:
        codes = [str(code) for key in CODES if isinstance(code := value.get(key), str | int) and code]
        yield from ((code, " " not in code) for code in codes)  # a code with blanks is a sentence
        has_words, place = False, _place(value)
        for key in WORDS:
            for text, is_code in _texts(value.get(key), levels - 1, by_field=key not in FACTS):
                has_words = has_words or not is_code
                yield f"{place}: {text}" if place and not is_code else text, is_code
        if by_field and not has_words:
            yield from _texts_of_fields(value)


def _place(value: Mapping[str, object]) -> str:
    """Where in the request the error is, as pydantic (`loc`) and zod (`path`) say it."""
    loc, path = value.get("loc"), value.get("path")
    place = (loc[1:] or loc) if isinstance(loc, list) else path if isinstance(path, list) else []
    return ".".join(map(str, place))


def _texts_of_fields(value: Mapping[str, object]) -> Iterator[tuple[str, bool]]:
    """`key: text` for each text under a key that may name a field of the request.

    .NET and Laravel send {"name": ["why"]}, Spring {"field": "name", "defaultMessage": "why"}.
    """
    for key, inner in value.items():
        for text in (inner if isinstance(inner, list) else [inner])[:10]:
            if isinstance(text, str) and text and key not in NO_FIELDS:
                yield f"{key}: {' '.join(text.split())}", False


def _decoded(value: object) -> object:
    """The value of a JSON text, and the words of an HTML page; other values as they are."""
    if not isinstance(value, str):
        return value
    text = value.strip().lstrip("\ufeff")
    if text[:1] in ("{", "[", '"'):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return html.unescape(_HTML_MARKUP.sub(" ", text)).strip() or text if _HTML.search(text) else text


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

    wait: float | None = None

    def __init__(self, reason: str, *, raw: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw


class UnsupportedRequest(Exception):
    """The server does not accept the request as it is. `without`: the capabilities without what it names."""

    def __init__(self, reason: str, without: Capabilities) -> None:
        super().__init__(reason)
        self.without = without


class InvalidReply(Exception):
    """The model answered, but not with the object asked for.

    `no_object`: there is none in it. `unfinished`: it ends within one. `cut`: it reached the length limit, so it must
    not be quoted back, in case it loops.
    """

    def __init__(
        self, reason: str, *, raw: str, no_object: bool = False, unfinished: bool = False, cut: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw
        self.no_object = no_object
        self.unfinished = unfinished
        self.cut = cut


def classify(error: Exception, *, names: SettingNames, ability: Capabilities) -> Exception:
    """The `TransientFault`, `UnsupportedRequest`, `InvalidReply` or `ModelError` that this error means.

    `ability`: what the request used of the endpoint.
    """
    match error:
        case ModelError() | TransientFault() | UnsupportedRequest() | InvalidReply():
            return error
        case MessageTooLong():
            return ModelFailed(f"the endpoint sent {error}: {SETTINGS} bound what it may send")
        case openai.APIConnectionError(__cause__=MessageTooLong() as cause):
            return classify(cause, names=names, ability=ability)
        case TimeoutError():
            return TransientFault("the model did not finish in time")
        case openai.APITimeoutError() | openai.APIConnectionError():
            return _connection(error)
        case openai.APIStatusError():
            return _Answer.of_status(error, names).meaning(names, ability)
        case ErrorAnswer():
            return _Answer.of_body(error.body, names).meaning(names, ability)
        case RecursionError():
            return TransientFault("the endpoint sent data that is nested too deeply")
        case httpx2.HTTPError():
            return TransientFault(f"the connection broke: {type(error).__name__}")
        case _:
            return error


def _connection(error: openai.APIConnectionError) -> Exception:
    if isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol):
        host = error.request.url.copy_with(query=None)
        return ModelUnreachable(f"no model answers at {host}: {shorten(str(error.__cause__))}")
    if isinstance(error, openai.APITimeoutError):
        return TransientFault("the model did not answer in time")
    return TransientFault(f"the connection to the model broke: {type(error.__cause__).__name__}")


class _Answer(NamedTuple):
    """What the server says is wrong. `status`: 0 if it only says so in a body with status 200."""

    status: int
    words: str
    text: str  # words and codes, in lower case
    what: str = "an error"

    @classmethod
    def of_status(cls, error: openai.APIStatusError, names: SettingNames) -> "_Answer":
        response = error.response
        body = read_error(response.text if response.is_stream_consumed else "")
        words = shorten(names.hide(body.words)) or response.reason_phrase
        return cls(response.status_code, words, body.text)

    @classmethod
    def of_body(cls, value: object, names: SettingNames) -> "_Answer":
        body = read_error(value)
        status = re.search(r"\b[45]\d\d\b", body.codes)
        what = "a page instead of a reply (is its address right?)" if isinstance(value, str) else "an error"
        return cls(int(status[0]) if status else 0, shorten(names.hide(body.words)), body.text, what=what)

    def meaning(self, names: SettingNames, ability: Capabilities) -> Exception:
        """The error with the server's words, and what to do."""
        status, words, text = self.status, self.words, self.text
        code = f" ({status})" if status else ""
        if status == 402 or (status < 500 and NO_QUOTA.search(text) and not RATE_LIMITED.search(text)):
            return ModelMisconfigured(f"the account behind the key cannot pay, or has no quota left{code}. {words}")
        if status in (401, 403) or (status < 500 and WRONG_KEY.search(text)):
            refuses = "denies access" if status == 403 else "refuses the key"
            return ModelMisconfigured(f"the endpoint {refuses}{code}: check {names.key}. {words}")
        if status not in (408, 429):
            if CONTEXT_EXCEEDED.search(text):
                return ModelFailed(f"{CONTEXT_ADVICE}. The endpoint says: {words}")
            if without := ability.without_rejected(text):
                return UnsupportedRequest(words, without)
            if status in (404, 405, 410) or (status < 500 and UNKNOWN_MODEL.search(text)):
                return ModelMisconfigured(
                    f"the endpoint knows no such address or model{code}: check {names.url} and {names.model}. {words}"
                )
        if status in REJECTED:
            return ModelFailed(f"the endpoint rejects the request: {words}", retryable=False)
        if not status:
            return TransientFault(f"the endpoint answered with {self.what}: {words}")
        return TransientFault(f"the endpoint answered {status}: {words}")


def shorten(text: str, limit: int = 300) -> str:
    """One line of at most `limit` characters, without secrets."""
    return cut(str(conceal(" ".join(text.split()))), limit)
