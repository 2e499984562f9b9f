"""Spans. Without a collector (OTEL_EXPORTER_OTLP_ENDPOINT) every function here does nothing, and imports nothing.

All spans of a session are one trace, because its id is made from the session's. What led to a span is told by the
header `traceparent`, beside the guard of a stored message and with every request on the bus.
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
    """A span under way."""

    def set(self, attributes: Attributes) -> None:
        """Add what is known by now."""
        ...

    def fail(self, error: str) -> None:
        """It did not succeed; `error` is a word of few, never a text."""
        ...


class _Nothing:
    """The span that is not recorded."""

    def set(self, attributes: Attributes) -> None: ...
    def fail(self, error: str) -> None: ...
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


Recording = AbstractContextManager[Span]
NOTHING: Recording = _Nothing()
_NO_HEADERS: Mapping[str, str] = {}
_recorder: "Recorder | None" = None


def use(recorder: "Recorder | None") -> None:
    """From here on this process's spans go there."""
    global _recorder  # noqa: PLW0603  one process, one place where its spans go
    _recorder = recorder


def of_session(
    name: str, session_id: str, *, kind: Kind, parent: str | None = None, attributes: Attributes | None = None
) -> Recording:
    """A span that begins in this process; `parent` is the `traceparent` of what led to it, if that is known."""
    if _recorder is None:
        return NOTHING
    return _recorder.of_session(name, session_id, kind, parent, attributes or {})


def within(
    name: str, *, kind: Kind = "internal", parent: str | None = None, attributes: Attributes | None = None
) -> Recording:
    """A span inside the one under way, or inside the `parent` that was told; nothing where there is neither."""
    if _recorder is None:
        return NOTHING
    return _recorder.within(name, kind, parent, attributes or {}) or NOTHING


def headers() -> Mapping[str, str]:
    """What to send along, so that the next process knows the span under way."""
    return _NO_HEADERS if _recorder is None else _recorder.headers()
