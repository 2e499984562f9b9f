"""Structured logs: a JSON line per record on stderr, including libraries' records, without secrets."""

import logging
import re
import sys
from collections.abc import Iterable
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

SECRET_NAME = re.compile(r"(api[_-]?key|token|secret|password|authorization|cookie)$", re.IGNORECASE)
SECRET_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")
SECRET_IN_TEXT = re.compile(r"\bsk-[A-Za-z0-9_-]{8,}|\bBearer\s+[^\s\"',}]+", re.IGNORECASE)
NAMED_IN_TEXT = re.compile(
    r"((?:api[_-]?key|token|secret|password|authorization|cookie)[\"']?\s*(?:=|:\s)\s*[\"']?)(?!\*\*\*)[^\s&\"',}]+",
    re.IGNORECASE,
)
HIDDEN = "***"
MIN_SECRET_CHARS = 8  # shorter secrets are not hidden by value
NOISY_LOGGERS = (
    *("nats", "faststream", "httpx2", "httpcore2", "openai", "sqlalchemy", "alembic", "uvicorn.access", "aiosqlite"),
    "mcp",
)


_known: set[str] = set()  # the secret values of this process


def keep_secret(values: Iterable[str]) -> None:
    """Hide these values in logs and recorded failures from now on; short ones could be ordinary words."""
    _known.update(value for value in values if len(value) >= MIN_SECRET_CHARS)


def conceal(value: Any) -> Any:
    """The text (or JSON) with this process's secrets replaced."""
    match value:
        case str():
            for secret in sorted(_known, key=len, reverse=True):  # one may begin with another
                value = value.replace(secret, HIDDEN)
            return value
        case dict():
            return {conceal(key): conceal(item) for key, item in value.items()}
        case list() | tuple():
            return type(value)(conceal(item) for item in value)
        case _:
            return value


def excerpt_of(text: str, length: int) -> str:
    """At most `length` characters of a text. Secrets are concealed before the cut, which could split one."""
    return str(conceal(text))[:length]


def hide_secrets(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Hide values of secret-looking names, credentials in URLs and key-like words."""
    return {key: HIDDEN if SECRET_NAME.search(key) else _hide_value(key, value) for key, value in event.items()}


def _hide_value(key: str, value: Any) -> Any:
    return value if key in ("exc_info", "_record") else _without_secrets(value)


def _without_secrets(value: Any) -> Any:
    match value:
        case str():
            hidden = SECRET_IN_TEXT.sub(HIDDEN, SECRET_IN_URL.sub(HIDDEN, conceal(value)))
            return NAMED_IN_TEXT.sub(rf"\1{HIDDEN}", hidden)
        case dict():
            return {k: HIDDEN if SECRET_NAME.search(str(k)) else _without_secrets(v) for k, v in value.items()}
        case list() | tuple():
            return [_without_secrets(item) for item in value]
        case None | bool() | int() | float():
            return value
        case _:
            return _without_secrets(repr(value))


def configure_logging(service: str, level: str = "INFO", secrets: Iterable[str] = ()) -> None:
    """Configure logging once, at a program's start; `secrets` as for `keep_secret`."""
    keep_secret(secrets)
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        lambda _, __, event: event | {"service": service},
        hide_secrets,
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in NOISY_LOGGERS:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(root.level),
        cache_logger_on_first_use=True,
    )
