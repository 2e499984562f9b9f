"""Spans: one trace a session, what leads to what, and nothing at all where nobody collects them."""

import asyncio
import hashlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from shared.settings import Settings
from shared.telemetry import tracing
from shared.telemetry.recorder import Recorder
from shared.telemetry.running import observed


class Spans:
    """What one process has recorded so far."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        self.recorder = Recorder("test", self._kept)

    async def named(self) -> dict[str, ReadableSpan]:
        await self.recorder.flush()
        return {span.name: span for span in self._kept.get_finished_spans()}


@pytest.fixture
def spans() -> Iterator[Spans]:
    found = Spans()
    tracing.use(found.recorder)
    yield found
    tracing.use(None)


def trace_of(session_id: str) -> int:
    return int(hashlib.sha256(session_id.encode()).hexdigest()[:32], 16)


def ids(span: ReadableSpan) -> tuple[int, int]:
    context = span.get_span_context()
    assert context
    return context.trace_id, context.span_id


async def test_whatever_begins_in_a_session_is_of_its_trace(spans: Spans) -> None:
    for day in ("monday", "friday"):  # also another process, on another day
        with tracing.of_session(day, "abc", kind="server"):
            pass
    with tracing.of_session("stranger", "xyz", kind="server"):
        pass
    found = await spans.named()
    assert ids(found["monday"])[0] == ids(found["friday"])[0] == trace_of("abc")
    assert ids(found["stranger"])[0] == trace_of("xyz")
    assert found["monday"].parent is found["friday"].parent is None


async def test_what_is_told_in_the_header_is_the_parent(spans: Spans) -> None:
    with tracing.of_session("append", "abc", kind="producer"):
        headers = dict(tracing.headers())
    with (
        tracing.of_session("deliver", "abc", kind="consumer", parent=headers["traceparent"]),
        tracing.within("chat", kind="client"),
    ):
        pass
    found = await spans.named()
    assert [found[name].parent.span_id for name in ("deliver", "chat")] == [  # type: ignore[union-attr]
        ids(found["append"])[1],
        ids(found["deliver"])[1],
    ]


@pytest.mark.parametrize(
    "header",
    ["", "nonsense", "00-" + "0" * 32 + "-" + "1" * 16 + "-01", "00-" + "1" * 32 + "-" + "1" * 16 + "-01"],
    ids=["empty", "not one", "of no trace", "of another session"],
)
async def test_a_header_that_is_not_of_this_session_is_no_parent(spans: Spans, header: str) -> None:
    with tracing.of_session("deliver", "abc", kind="consumer", parent=header):
        pass
    found = (await spans.named())["deliver"]
    assert found.parent is None
    assert ids(found)[0] == trace_of("abc")


async def test_a_fork_is_linked_to_the_trace_it_was_begun_in(spans: Spans) -> None:
    with (
        tracing.of_session("command fork", "abc", kind="server"),
        tracing.of_session("append", "fork", kind="producer"),
    ):
        pass
    found = await spans.named()
    assert ids(found["append"])[0] == trace_of("fork")
    assert [link.context.trace_id for link in found["append"].links] == [trace_of("abc")]


async def test_what_belongs_to_no_session_is_not_recorded(spans: Spans) -> None:
    with tracing.within("readiness", kind="client"):
        assert not tracing.headers()
    assert await spans.named() == {}


async def test_an_error_tells_its_class_and_not_its_words(spans: Spans) -> None:
    with pytest.raises(ValueError, match="my password"), tracing.of_session("deliver", "abc", kind="consumer"):
        raise ValueError("my password is quokka")
    with pytest.raises(asyncio.CancelledError), tracing.of_session("stopped", "abc", kind="consumer"):
        raise asyncio.CancelledError
    found = await spans.named()
    assert dict(found["deliver"].attributes or {}) == {"gen_ai.conversation.id": "abc", "error.type": "ValueError"}
    assert not found["deliver"].status.is_ok
    assert found["deliver"].events == ()
    assert (found["stopped"].attributes or {})["parley.outcome"] == "cancelled"
    assert found["stopped"].status.is_unset


async def test_tasks_begun_within_a_span_go_on_in_it(spans: Spans) -> None:
    async def work() -> None:
        with tracing.within("tool"):
            await asyncio.sleep(0)

    with tracing.of_session("deliver", "abc", kind="consumer"):
        await asyncio.gather(asyncio.create_task(work()))
    found = await spans.named()
    assert found["tool"].parent
    assert found["tool"].parent.span_id == ids(found["deliver"])[1]


# --- without a collector, and with one that is away


def test_without_a_collector_nothing_of_it_is_loaded() -> None:
    program = (
        "import asyncio, sys\n"
        "from shared.settings import Settings\n"
        "from shared.telemetry import tracing\n"
        "from shared.telemetry.running import observed\n"
        "async def main():\n"
        "    async with observed('planner', Settings()):\n"
        "        with tracing.of_session('x', 'abc', kind='server') as span, tracing.within('y'):\n"
        "            span.set({'a': 1})\n"
        "            assert not tracing.headers()\n"
        "asyncio.run(main())\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, env={}).returncode == 0


class Away(SpanExporter):
    """A collector that never answers."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def export(self, spans: object) -> SpanExportResult:
        self.over.wait(60)
        return SpanExportResult.FAILURE


async def test_a_collector_that_hangs_delays_the_end_by_a_moment_only() -> None:
    away = Away()
    recorder = Recorder("test", away)
    tracing.use(recorder)
    try:
        with tracing.of_session("x", "abc", kind="server"):
            pass
    finally:
        tracing.use(None)
    began = time.monotonic()
    await recorder.close()
    assert time.monotonic() - began < 5
    away.over.set()


async def test_a_collector_that_is_not_there_costs_nobody_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")  # seconds: its thread tries no more when the test is over
    settings = Settings(otel_exporter_otlp_endpoint="http://127.0.0.1:1")
    began = time.monotonic()
    async with observed("planner", settings):
        with tracing.of_session("x", "abc", kind="server"):
            assert tracing.headers()["traceparent"].startswith(f"00-{trace_of('abc'):032x}-")
    assert time.monotonic() - began < 8
    assert not tracing.headers()
