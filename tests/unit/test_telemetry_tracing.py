"""Spans: one trace for each session, parents and links, and no recording without a collector."""

import asyncio
import hashlib
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from shared.telemetry import tracing
from shared.telemetry.recorder import Recorder


class Spans:
    """The spans recorded so far."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.recorder = Recorder("test", self._exporter)

    async def named(self) -> dict[str, ReadableSpan]:
        await self.recorder.flush()
        return {span.name: span for span in self._exporter.get_finished_spans()}


@pytest.fixture
def spans() -> Iterator[Spans]:
    yield Spans()
    tracing.set_tracer(tracing.NO_TRACER)


def trace_of(session_id: str) -> int:
    """The trace id of a session, which every process derives from the session's id."""
    return int(hashlib.sha256(session_id.encode()).hexdigest()[:32], 16)


def ids(span: ReadableSpan) -> tuple[int, int]:
    context = span.get_span_context()
    assert context
    return context.trace_id, context.span_id


async def test_the_header_names_the_parent_span(spans: Spans) -> None:
    with tracing.session_span("append", "abc", kind="producer"):
        headers = dict(tracing.headers())
    with (
        tracing.session_span("deliver", "abc", kind="consumer", parent=headers["traceparent"]),
        tracing.child_span("chat", kind="client"),
    ):
        pass
    recorded = await spans.named()
    assert [recorded[name].parent.span_id for name in ("deliver", "chat")] == [  # type: ignore[union-attr]
        ids(recorded["append"])[1],
        ids(recorded["deliver"])[1],
    ]


@pytest.mark.parametrize(
    "header",
    ["", "nonsense", "00-" + "0" * 32 + "-" + "1" * 16 + "-01", "00-" + "1" * 32 + "-" + "1" * 16 + "-01"],
    ids=["empty", "malformed", "no trace", "another session"],
)
async def test_an_invalid_header_or_one_of_another_session_is_ignored(spans: Spans, header: str) -> None:
    with tracing.session_span("deliver", "abc", kind="consumer", parent=header):
        pass
    recorded = (await spans.named())["deliver"]
    assert recorded.parent is None
    assert ids(recorded)[0] == trace_of("abc")


async def test_a_fork_is_linked_to_its_parents_trace(spans: Spans) -> None:
    with (
        tracing.session_span("command fork", "abc", kind="server"),
        tracing.session_span("append", "fork", kind="producer"),
    ):
        pass
    recorded = await spans.named()
    assert ids(recorded["append"])[0] == trace_of("fork")
    assert [link.context.trace_id for link in recorded["append"].links] == [trace_of("abc")]


async def test_spans_outside_sessions_are_not_recorded(spans: Spans) -> None:
    with tracing.child_span("readiness", kind="client"):
        assert not tracing.headers()
    assert await spans.named() == {}


async def test_a_failed_span_has_the_errors_class_and_not_its_text(spans: Spans) -> None:
    with pytest.raises(ValueError, match="my password"), tracing.session_span("deliver", "abc", kind="consumer"):
        raise ValueError("my password is quokka")
    with pytest.raises(asyncio.CancelledError), tracing.session_span("stopped", "abc", kind="consumer"):
        raise asyncio.CancelledError
    recorded = await spans.named()
    assert dict(recorded["deliver"].attributes or {}) == {"gen_ai.conversation.id": "abc", "error.type": "ValueError"}
    assert not recorded["deliver"].status.is_ok
    assert recorded["deliver"].events == ()
    assert (recorded["stopped"].attributes or {})["parley.outcome"] == "cancelled"
    assert recorded["stopped"].status.is_unset


# --- without a collector, and with one that does not answer


def test_without_a_collector_the_sdk_is_not_imported() -> None:
    program = (
        "import asyncio, sys\n"
        "from shared.settings import Settings\n"
        "from shared.telemetry import tracing\n"
        "from shared.telemetry.lifecycle import telemetry\n"
        "async def main():\n"
        "    async with telemetry('planner', Settings()):\n"
        "        with tracing.session_span('x', 'abc', kind='server') as span, tracing.child_span('y'):\n"
        "            span.set_attribute('a', 1)\n"
        "            assert not tracing.headers()\n"
        "asyncio.run(main())\n"
        "sys.exit(any(name.startswith('opentelemetry.sdk') for name in sys.modules))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, env={}).returncode == 0


class HangingCollector(SpanExporter):
    """A collector that never answers."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def export(self, spans: object) -> SpanExportResult:
        self.over.wait(600)
        return SpanExportResult.FAILURE


async def test_a_hanging_collector_delays_shutdown_only_briefly() -> None:
    collector = HangingCollector()
    recorder = Recorder("test", collector)
    with tracing.session_span("x", "abc", kind="server"):
        pass
    await recorder.close()  # the collector would hang for longer than a test may take
    collector.over.set()
