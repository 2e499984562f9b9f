"""Reads what a model server says in an error body. Servers and the gateways before them use many shapes."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

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
