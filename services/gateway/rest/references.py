"""The references for programs: `/openapi.json`, `/protocol.schema.json`, and `/asyncapi.json`, what travels on NATS."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

from fastapi import FastAPI
from pydantic import BaseModel, TypeAdapter
from starlette.responses import JSONResponse, Response

from parley.events import EVENT_CLASSES
from parley.events.values import SESSION_ID, Service
from parley.protocol import flows, tools
from parley.protocol.schema import protocol_schema
from parley.protocol.server import Delta
from shared import store_api
from shared.bus.topology import SESSIONS, TIMERS
from shared.log import EXPECTED_SEQUENCE, EXPECTED_SEQUENCE_SUBJECT, MESSAGE_ID
from shared.services import PING, SERVICES, WORKERS

type Document = dict[str, Any]
GUARD = {
    "type": "object",
    "properties": {
        EXPECTED_SEQUENCE: {
            "type": "string",
            "description": "stream sequence of the last message under the session's subjects",
        },
        EXPECTED_SEQUENCE_SUBJECT: {"type": "string", "description": "session.<session_id>.>, this very string"},
        MESSAGE_ID: {"type": "string", "description": "the event's id, `@`, the position that it follows"},
    },
    "required": [EXPECTED_SEQUENCE, EXPECTED_SEQUENCE_SUBJECT],
}
PARAMETERS: Document = {
    "session_id": {"description": f"a session's id: {SESSION_ID}"},
    "due": {"enum": [*get_args(Service), "user", "nobody"], "description": "who must act because of this event"},
    "type": {"enum": [model.type_name() for model in EVENT_CLASSES], "description": "the event's type"},
    "draft_id": {"description": "tells drafts of a session apart"},
    "kind": {"enum": ["approval"], "description": "what the deadline is about"},
}
MODELS: tuple[type[BaseModel], ...] = (*EVENT_CLASSES, Delta, store_api.ErrorReply)
BODIES: dict[str, Any] = {model.__name__: model for model in MODELS}
BODIES |= {"Empty": Literal[""], "Bytes": bytes, "Deadline": dict[str, Any], "Advisory": dict[str, Any]}
EVENTS = tuple(model.__name__ for model in EVENT_CLASSES)
TOOL_REQUESTS: tuple[tuple[str, str, type[BaseModel], type[BaseModel]], ...] = (
    (tools.TOOLS_LIST, "List the tools, best matches of a query first.", tools.ListTools, tools.ToolPage),
    (tools.TOOLS_PREVIEW, "Preview what a call would change.", tools.PreviewCall, tools.Preview),
    (tools.TOOLS_PREVIEWS, "Preview what each call of a plan would change.", tools.PreviewCalls, tools.Previews),
    (tools.TOOLS_CHECK, "Check calls against the packs' rules.", tools.CheckCalls, tools.Violations),
    (tools.TOOLS_POLL, "Call the tool that a step polls, once.", tools.PollNow, tools.PollResult),
    (flows.FLOWS_LIST, "List the flows with their nodes.", flows.ListFlows, flows.FlowPage),
)


class Exchange(NamedTuple):
    """One operation on a channel. `messages` and `replies` are keys of the bodies."""

    who: str
    action: Literal["send", "receive"]
    address: str
    description: str
    messages: tuple[str, ...]
    replies: tuple[str, ...] = ()
    queue: str = ""

    @property
    def channel(self) -> str:
        return "-".join(re.findall(r"\w+", self.address))


PUBLISHED = (
    Exchange(
        "anybody", "send", "session.{session_id}.{due}.{type}", "Append an event to its session, guarded.", EVENTS
    ),
    Exchange("anybody", "receive", "feed.{session_id}.{due}.{type}", "Hear of an event once it is stored.", EVENTS),
    Exchange(
        "gateway", "receive", "delta.{session_id}.{draft_id}", "A draft as it is written; not stored.", ("Delta",)
    ),
    Exchange(
        "plan_store", "send", "timer.{session_id}.{kind}", "Arm a deadline (header Nats-Schedule).", ("Deadline",)
    ),
    Exchange("plan_store", "receive", "timerfired.{session_id}.{kind}", "A deadline has come.", ("Deadline",)),
)


def serve_references(app: FastAPI) -> None:
    """Each is made at its first request, and then kept."""
    documents = {"openapi": app.openapi, "asyncapi": asyncapi, "protocol.schema": protocol_schema}
    for name, document in documents.items():
        app.add_api_route(f"/{name}.json", _endpoint(document), include_in_schema=False)


def _endpoint(document: Callable[[], Document]) -> Callable[[], Response]:
    @cache
    def body() -> bytes:
        return bytes(JSONResponse(document()).body)

    return lambda: Response(body(), media_type="application/json")


def asyncapi() -> Document:
    """The whole document. It is deterministic."""
    bodies = dict(BODIES)
    exchanges = [*PUBLISHED, *_consumers(), *_of_workers(), *_of_the_executor(bodies), *_of_plan_store(bodies)]
    payloads, definitions = TypeAdapter.json_schemas(
        [(name, "validation", TypeAdapter(body)) for name, body in sorted(bodies.items())],
        ref_template="#/components/schemas/{model}",
    )
    messages: Document = {name: {"name": name, "payload": payloads[name, "validation"]} for name in bodies}
    for model in EVENT_CLASSES:
        summary = " ".join((model.__doc__ or "").split())
        messages[model.__name__] |= {"title": model.type_name(), "summary": summary, "headers": GUARD}
    replies = tuple(dict.fromkeys(name for exchange in exchanges for name in exchange.replies))
    channels = {exchange.channel: _channel(exchange.address, exchange.messages) for exchange in exchanges}
    document = {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Parley",
            "version": "1",
            "description": "What travels on NATS. In words, with rules and examples: docs/events.md.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"nats": {"host": "127.0.0.1:4222", "protocol": "nats", "description": "set by NATS_URL"}},
        "channels": channels | {"reply": _channel(None, replies)},
        "operations": {f"{it.who}-{it.action}-{it.channel}": _operation(it) for it in exchanges},
        "components": {"messages": messages, "schemas": definitions["$defs"]},
    }
    return dict[str, Any](json.loads(json.dumps(document), object_hook=_plain_discriminator))


def _consumers() -> Iterator[Exchange]:
    """What the services receive from streams."""
    for service, spec in SERVICES.items():
        for durable in spec.consumers:
            text = f"The durable consumer {durable.name} of the stream {durable.stream}."
            messages = {SESSIONS: EVENTS, TIMERS: ("Deadline",)}.get(durable.stream, ("Advisory",))
            yield Exchange(service, "receive", durable.filter_subject, text, messages)


def _of_workers() -> Iterator[Exchange]:
    """The requests that every worker answers."""
    for worker in WORKERS:
        yield Exchange(worker, "receive", f"{PING}.{worker}", "Say that the event loop runs.", ("Empty",), ("Bytes",))
        text = "The draft as it is so far; no answer if another process writes it."
        yield Exchange(worker, "receive", "draft.get.{session_id}", text, ("Empty",), ("Delta",))


def _of_the_executor(bodies: dict[str, Any]) -> Iterator[Exchange]:
    """Adds the types of requests and answers to `bodies`."""
    for subject, text, request, answer in TOOL_REQUESTS:
        bodies |= {request.__name__: request, answer.__name__: answer}
        yield Exchange("executor", "receive", subject, text, (request.__name__,), (answer.__name__,), "executor")


def _of_plan_store(bodies: dict[str, Any]) -> Iterator[Exchange]:
    """Adds the types of requests and answers to `bodies`."""
    for verb in store_api.VERBS:
        bodies |= {verb.request.__name__: verb.request, verb.answer.__name__: verb.answer}
        text, replies = f"plan_store answers {verb.subject}.", (verb.answer.__name__, "ErrorReply")
        yield Exchange("plan_store", "receive", verb.subject, text, (verb.request.__name__,), replies, "plan_store")


def _channel(address: str | None, messages: tuple[str, ...]) -> Document:
    return {
        "address": address,
        "parameters": {name: PARAMETERS[name] for name in re.findall(r"{(\w+)}", address or "")},
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
    }


def _operation(exchange: Exchange) -> Document:
    operation: Document = {"action": exchange.action, "summary": exchange.description}
    operation |= _on_channel(exchange.channel, exchange.messages)
    if exchange.replies:
        operation["reply"] = _on_channel("reply", exchange.replies)
    if exchange.queue:
        operation["bindings"] = {"nats": {"queue": exchange.queue}}
    return operation


def _on_channel(channel: str, messages: tuple[str, ...]) -> Document:
    return {
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/{name}"} for name in messages],
    }


def _plain_discriminator(node: Document) -> Document:
    """A discriminator as AsyncAPI wants it: the name of the property alone."""
    match node:
        case {"discriminator": {"propertyName": str(name)}}:
            return node | {"discriminator": name}
        case _:
            return node
