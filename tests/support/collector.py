"""A collector of traces for tests: it receives OTLP over HTTP and keeps the spans."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.support.serving import serving
from tests.support.timeouts import WAIT_TIMEOUT


class ReceivedSpan(NamedTuple):
    """One span as it arrived."""

    service: str
    name: str
    trace: str
    id: str
    parent: str  # "" for a root
    links: tuple[str, ...]  # ids of traces
    attributes: dict[str, Any]
    failed: bool
    kind: int


class Collector:
    """The collector; `url` is its endpoint, `spans` are all received spans, `bodies` the raw requests."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[ReceivedSpan] = []
        self.bodies: list[bytes] = []
        self._changed = asyncio.Event()

    async def take(self, request: Request) -> Response:
        body = await request.body()
        self.bodies.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = _values(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_received_span(service, span) for span in scope.spans]
        self._changed.set()
        return Response(b"", media_type="application/x-protobuf")

    async def until(self, condition: Callable[[list[ReceivedSpan]], bool]) -> list[ReceivedSpan]:
        """All spans, once they meet the condition."""
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not condition(self.spans):
                self._changed.clear()
                await self._changed.wait()
        return self.spans

    def named(self, name: str, **attributes: Any) -> list[ReceivedSpan]:
        expected = {key.replace("_", "."): value for key, value in attributes.items()}
        return [span for span in self.spans if span.name == name and expected.items() <= span.attributes.items()]

    def above(self, span: ReceivedSpan) -> list[str]:
        """Names of the span's ancestors, the nearest first."""
        by_id = {recorded.id: recorded for recorded in self.spans}
        names: list[str] = []
        while span.parent:
            span = by_id[span.parent]
            names.append(span.name)
        return names


def _received_span(service: str, span: Any) -> ReceivedSpan:
    return ReceivedSpan(
        service,
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        tuple(link.trace_id.hex() for link in span.links),
        _values(span.attributes),
        span.status.code == 2,
        span.kind,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value")) for attribute in attributes}


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    collector = Collector()
    async with serving(Starlette(routes=[Route("/v1/traces", collector.take, methods=["POST"])])) as url:
        collector.url = url
        yield collector
