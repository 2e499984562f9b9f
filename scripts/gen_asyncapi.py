"""docs/asyncapi.json: what travels on NATS, from the events and the subscribers that the services declare."""

import json
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, TypeAdapter

from parley.events import EVENT_CLASSES, Event
from parley.events.values import SESSION_ID, Service
from parley.protocol.server import Delta
from scripts.gen_events import example_of
from scripts.gen_tables import flat
from scripts.reachability import Reachability
from services.plan_store.scheduler import Deadline
from shared import store_api
from shared.bus.application import Application
from shared.bus.subscribers import DurableSubscriber, RequestSubscriber
from shared.bus.topology import SESSIONS, TIMERS
from shared.log import EXPECTED_SEQUENCE, EXPECTED_SEQUENCE_SUBJECT, MESSAGE_ID
from shared.services import SERVICES
from shared.settings import Settings

type Document = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
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
EVENTS = tuple(model.__name__ for model in EVENT_CLASSES)
MODELS: tuple[type[BaseModel], ...] = (*EVENT_CLASSES, Delta, Deadline, store_api.ErrorReply)
BODIES: dict[str, Any] = {model.__name__: model for model in MODELS}
BODIES |= {"Empty": Literal[""], "Bytes": bytes, "Advisory": dict[str, Any]}


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


WITHOUT_SUBSCRIBER = (
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


def asyncapi(reach: Reachability) -> Document:
    """The whole document. It is deterministic."""
    bodies = dict(BODIES)
    exchanges = [*WITHOUT_SUBSCRIBER, *_of_subscribers(reach, bodies)]
    payloads, definitions = TypeAdapter.json_schemas(
        [(name, "validation", TypeAdapter(body)) for name, body in sorted(bodies.items())],
        ref_template="#/components/schemas/{model}",
    )
    messages = {name: {"name": name, "payload": payloads[name, "validation"]} for name in bodies}
    for model in EVENT_CLASSES:
        messages[model.__name__] |= _about_event(model, reach)
    replies = tuple(dict.fromkeys(name for exchange in exchanges for name in exchange.replies))
    channels = {exchange.channel: _channel(exchange.address, exchange.messages) for exchange in exchanges}
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    document = {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Parley",
            "version": version,
            "description": "What travels on NATS. In words, with the rules: docs/events.md.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"nats": {"host": "127.0.0.1:4222", "protocol": "nats", "description": "set by NATS_URL"}},
        "channels": channels | {"reply": _channel(None, replies)},
        "operations": {f"{it.who}-{it.action}-{it.channel}": _operation(it) for it in exchanges},
        "components": {"messages": messages, "schemas": definitions["$defs"]},
    }
    return dict[str, Any](json.loads(json.dumps(document), object_hook=_plain_discriminator))


def applications() -> list[Application]:
    """All of them, with the subscribers that they declare."""
    settings = Settings(database_url="", parley_home=ROOT / ".parley")
    return [import_module(spec.module).build(settings) for spec in SERVICES.values() if spec.consumers]


def _of_subscribers(reach: Reachability, bodies: dict[str, Any]) -> Iterator[Exchange]:
    """What the services receive. Adds the types of requests and answers to `bodies`."""
    subscribers: list[tuple[str, Any]] = [
        (app.service, subscriber) for app in applications() for subscriber in app.broker.subscribers
    ]
    for service, subscriber in sorted(subscribers, key=lambda pair: (pair[0], pair[1].subject.template)):
        subject, does = subscriber.subject.template, flat(subscriber.specification.description)
        match subscriber:
            case RequestSubscriber(request=request, answer=answer):
                asked = request.__name__ if request else "Empty"
                answered = "Bytes" if answer is bytes else answer.__name__
                bodies |= {asked: request or Literal[""], answered: answer}
                failed = ("ErrorReply",) if subject.startswith(store_api.PREFIX) else ()
                does = does or f"{service} answers {subject}."
                yield Exchange(service, "receive", subject, does, (asked,), (answered, *failed), subscriber.queue)
            case DurableSubscriber(durable=durable):
                gets_all = durable.filter_subject == "session.>"
                due = (model for model in EVENT_CLASSES if gets_all or service in reach.dues(model.type_name()))
                events = tuple(model.__name__ for model in due)
                messages = {SESSIONS: events, TIMERS: ("Deadline",)}.get(durable.stream, ("Advisory",))
                text = f"{does} The durable consumer {durable.name} of the stream {durable.stream}."
                yield Exchange(service, "receive", subject, text, messages)


def _about_event(model: type[Event], reach: Reachability) -> Document:
    kind, event = model.type_name(), example_of(model, reach).event
    return {
        "title": kind,
        "summary": flat(model.__doc__),
        "description": f"It makes one of these due: {', '.join(reach.dues(kind))}.",
        "headers": GUARD,
        "examples": [{"name": kind, "payload": event.model_dump(mode="json")}],
    }


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
