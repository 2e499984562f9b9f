"""Spans. Without a collector (OTEL_EXPORTER_OTLP_ENDPOINT) these functions do nothing and import nothing.

All spans of a session are one trace, whose id is derived from the session's. The header `traceparent` of stored
messages and bus requests carries the parent span.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol, Self

if TYPE_CHECKING:
    from shared.telemetry.recorder import Recorder

HEADER = "traceparent"

Kind = Literal["internal", "server", "client", "producer", "consumer"]
Value = str | int | float | bool | Sequence[str]
Attributes = Mapping[str, Value]


class Span(Protocol):
    """A span in progress."""

    def set(self, attributes: Attributes) -> None:
        """Add attributes."""
        ...

    def fail(self, error: str) -> None:
        """Mark the span as failed; `error` has few values and is never a message."""
        ...


class _NoSpan:
    """A span that is not recorded."""

    def set(self, attributes: Attributes) -> None: ...
    def fail(self, error: str) -> None: ...
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


Recording = AbstractContextManager[Span]
NO_SPAN: Recording = _NoSpan()
_NO_HEADERS: Mapping[str, str] = {}
_recorder: "Recorder | None" = None


def set_recorder(recorder: "Recorder | None") -> None:
    """Send this process's spans to `recorder`, or nowhere."""
    global _recorder  # noqa: PLW0603  one recorder per process
    _recorder = recorder


def session_span(
    name: str, session_id: str, *, kind: Kind, parent: str | None = None, attributes: Attributes | None = None
) -> Recording:
    """A span of a session; `parent` is the `traceparent` of its cause, if known."""
    if _recorder is None:
        return NO_SPAN
    return _recorder.session_span(name, session_id, kind, parent, attributes or {})


def child_span(
    name: str, *, kind: Kind = "internal", parent: str | None = None, attributes: Attributes | None = None
) -> Recording:
    """A span inside `parent` or the current span; not recorded if there is neither."""
    if _recorder is None:
        return NO_SPAN
    return _recorder.child_span(name, kind, parent, attributes or {}) or NO_SPAN


def headers() -> Mapping[str, str]:
    """Headers that carry the current span to another process."""
    return _NO_HEADERS if _recorder is None else _recorder.headers()
