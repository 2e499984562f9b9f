"""docs/asyncapi.json: FastStream's AsyncAPI document of the services' subscribers, with every event."""

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from parley.events import EVENT_CLASSES, dump_event, parse_event
from parley.events.values import SESSION_ID
from parley.protocol.server import Delta
from scripts.gen_events import example_of, type_of
from scripts.gen_tables import flat
from scripts.reachability import Reachability
from services.plan_store.scheduler import Deadline
from shared import store_api
from shared.bus.application import Application, asyncapi_of
from shared.bus.subscribers import DurableSubscriber, RequestSubscriber
from shared.bus.topology import SESSIONS, TIMERS
from shared.log import EXPECTED_SEQUENCE, EXPECTED_SEQUENCE_SUBJECT, MESSAGE_ID
from shared.services import SERVICES, Consumer
from shared.settings import Settings

type Document = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
REF = "#/components/schemas/{model}"
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
SESSION_PARAMETER = {"session_id": {"description": f"a session's id: {SESSION_ID}"}}


class Declared(NamedTuple):
    """A subscriber that a service declares, with its part of FastStream's document."""

    service: str
    subscriber: DurableSubscriber | RequestSubscriber
    description: str
    payload: str  # its schema, by name
    bindings: Document


def asyncapi(reach: Reachability) -> Document:
    """The whole document. It is deterministic."""
    written, declared = _written_by_faststream()
    schemas = written["components"]["schemas"] | _schemas(declared)
    channels: Document = {}
    operations: Document = {}
    messages: Document = {}
    for model in EVENT_CLASSES:
        _event(model, reach, channels, operations, messages)
    _others(channels, operations, messages)
    for declaration in declared:
        match declaration.subscriber:
            case RequestSubscriber() as subscriber:
                _request(declaration, subscriber, channels, operations, messages)
            case DurableSubscriber() as subscriber:
                _work(declaration, subscriber.durable, reach, channels, operations)
    return {
        "asyncapi": written["asyncapi"],
        "info": written["info"],
        "defaultContentType": written["defaultContentType"],
        "servers": {"nats": {"host": "127.0.0.1:4222", "protocol": "nats", "description": "set by NATS_URL"}},
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": {name: _plain(schema) for name, schema in schemas.items()}},
    }


def applications() -> list[Application]:
    """All of them, with the subscribers that they declare."""
    settings = Settings(database_url="", parley_home=ROOT / ".parley")
    return [import_module(spec.module).build(settings) for spec in SERVICES.values() if spec.consumers]


def _written_by_faststream() -> tuple[Document, list[Declared]]:
    """FastStream's own document, and each subscriber's part in it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    apps = applications()
    about = "What travels on NATS. In words, with the rules: docs/events.md."
    written = asyncapi_of(*apps, title="Parley", version=version, description=about, licence="Apache-2.0")
    declared = []
    for app in apps:
        ours = [
            subscriber
            for subscriber in app.broker.subscribers
            if isinstance(subscriber, DurableSubscriber | RequestSubscriber)
        ]
        for subscriber in sorted(ours, key=lambda subscriber: subscriber.subject.template):
            (key,) = subscriber.schema()
            channel = written["channels"][key]
            (message,) = channel["messages"].values()
            payload = resolved(written, message["$ref"])["payload"]["$ref"].rpartition("/")[2]
            words = flat(channel.get("description") or f"{app.service} takes {subscriber.subject.template}.")
            declared.append(Declared(app.service, subscriber, words, unquote(payload), channel["bindings"]))
    for name in [name for name in written["components"]["schemas"] if ":" in name]:
        del written["components"]["schemas"][name]  # of a body without a type
    return written, declared


def resolved(document: Document, reference: str) -> Any:
    """What a reference in the document points to."""
    node: Any = document
    for part in reference.removeprefix("#/").split("/"):
        node = node[unquote(part)]
    return node


def _schemas(declared: list[Declared]) -> Document:
    """Of what FastStream does not know: events, what else travels, and answers."""
    requests = [
        declaration.subscriber for declaration in declared if isinstance(declaration.subscriber, RequestSubscriber)
    ]
    models: list[type[Any]] = [*EVENT_CLASSES, Delta, Deadline, store_api.ErrorReply]
    models += [declaration.answer for declaration in requests if _is_model(declaration.answer)]
    adapters: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [
        (model.__name__, "validation", TypeAdapter(model)) for model in models
    ]
    definitions, extra = TypeAdapter.json_schemas(adapters, by_alias=True, ref_template=REF)
    schemas = dict(extra.get("$defs", {}))
    for (name, _), schema in definitions.items():
        if schema != {"$ref": REF.format(model=name)}:
            schemas.setdefault(str(name), schema)
    return schemas


def _is_model(candidate: Any) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, BaseModel)


def _plain(node: Any) -> Any:
    """The schema with discriminators as AsyncAPI wants them: the name of the property alone."""
    match node:
        case {"discriminator": {"propertyName": str(name)}, **rest}:
            return {"discriminator": name} | {key: _plain(value) for key, value in rest.items()}
        case dict():
            return {key: _plain(value) for key, value in node.items()}
        case list():
            return [_plain(value) for value in node]
        case _:
            return node


def _message(name: str, title: str, schema: str, **more: Any) -> Document:
    payload = {"$ref": REF.format(model=schema)}
    return {"name": name, "title": title, "contentType": "application/json", "payload": payload, **more}


def _channel(address: str, message: str, description: str, parameters: Document) -> Document:
    there = {"$ref": f"#/components/messages/{message}"}
    channel = {"address": address, "description": description, "messages": {message: there}}
    return channel | ({"parameters": parameters} if parameters else {})


def _operation(action: str, channel: str, message: str, summary: str) -> Document:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel}"},
        "summary": summary,
        "messages": [{"$ref": f"#/channels/{channel}/messages/{message}"}],
    }


def _event(model: type[Any], reach: Reachability, channels: Document, operations: Document, messages: Document) -> None:
    kind, name = type_of(model), model.__name__
    transition = example_of(model, reach)
    summary = flat(model.__doc__)
    example = {"name": kind, "payload": parse_event(dump_event(transition.event)).model_dump(mode="json")}
    messages[name] = _message(kind, kind, name, summary=summary, headers=GUARD, examples=[example])
    dues = sorted({*reach.dues(kind), transition.due})
    whose = {"due": {"enum": dues, "description": "who must act because of this event"}}
    address = f"session.{{session_id}}.{{due}}.{kind}"
    channels[name] = _channel(address, name, summary, SESSION_PARAMETER | whose)
    feed = f"feed{name}"
    text = "The same event, republished on core NATS once it is stored."
    channels[feed] = _channel(f"feed.{{session_id}}.{{due}}.{kind}", name, text, SESSION_PARAMETER | whose)
    operations[f"append{name}"] = _operation("send", name, name, f"Append {kind} to its session, guarded.")
    operations[f"watch{name}"] = _operation("receive", feed, name, f"Hear of {kind}.")


def _others(channels: Document, operations: Document, messages: Document) -> None:
    draft = {"draft_id": {"description": "tells drafts of a session apart"}}
    kind = {"kind": {"enum": ["approval"], "description": "what the deadline is about"}}
    messages["Delta"] = _message("delta", "What is being written", "Delta")
    messages["Advisory"] = {
        "name": "advisory",
        "title": "What NATS says of a message that a consumer gave up",
        "payload": {"type": "object"},
    }
    messages["Deadline"] = _message("timer", "A deadline", "Deadline")
    channels["delta"] = _channel(
        "delta.{session_id}.{draft_id}", "Delta", "A draft as it is written; not stored.", SESSION_PARAMETER | draft
    )
    channels["timer"] = _channel(
        "timer.{session_id}.{kind}", "Deadline", "Arm a deadline (header Nats-Schedule).", SESSION_PARAMETER | kind
    )
    channels["timerFired"] = _channel(
        "timerfired.{session_id}.{kind}", "Deadline", "A deadline has come.", SESSION_PARAMETER | kind
    )
    operations["watchDraft"] = _operation("receive", "delta", "Delta", "Watch a draft.")
    operations["armTimer"] = _operation("send", "timer", "Deadline", "Arm or replace a deadline.")
    operations["hearTimer"] = _operation("receive", "timerFired", "Deadline", "Hear of a deadline that has come.")


def _request(
    declaration: Declared, subscriber: RequestSubscriber, channels: Document, operations: Document, messages: Document
) -> None:
    subject = subscriber.subject.template
    key = "".join(part.capitalize() for part in re.findall(r"\b(?<!{)\w+", subject.removeprefix(store_api.PREFIX)))
    ask = _typed(subscriber.request, declaration.payload, messages)
    failed = (store_api.ErrorReply,) if subject.startswith(store_api.PREFIX) else ()
    answers = [_typed(model, f"{key}Answer", messages) for model in (subscriber.answer, *failed)]
    parameters = SESSION_PARAMETER if "{session_id}" in subject else {}
    channels[f"ask{key}"] = _channel(subject, ask, declaration.description, parameters) | {
        "bindings": declaration.bindings
    }
    channels[f"answer{key}"] = {
        "address": None,
        "description": "The reply subject of the request.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in answers},
    }
    reply = {
        "channel": {"$ref": f"#/channels/answer{key}"},
        "messages": [{"$ref": f"#/channels/answer{key}/messages/{name}"} for name in answers],
    }
    sent = _operation("send", f"ask{key}", ask, f"Ask {declaration.service}: {subject.removeprefix(store_api.PREFIX)}.")
    operations[f"ask{key}"] = sent | {"reply": reply}
    received = _operation("receive", f"ask{key}", ask, f"{declaration.service} answers.")
    operations[f"{declaration.service}Answers{key}"] = received | {"reply": reply}


def _typed(model: type[Any] | None, name: str, messages: Document) -> str:
    """The name of the message with this body. Adds it if it is missing."""
    if model and _is_model(model):
        messages.setdefault(model.__name__, _message(model.__name__, model.__name__, model.__name__))
        return model.__name__
    payload = {"type": "string"} if model else {"type": "string", "const": ""}
    name = re.sub(r"\W+", "", name)
    messages.setdefault(name, {"name": name, "title": name if model else "An empty request", "payload": payload})
    return name


def _work(
    declaration: Declared, durable: Consumer, reach: Reachability, channels: Document, operations: Document
) -> None:
    """A durable consumer: the events that match its filter, or the other messages of its stream."""
    key = f"consume{''.join(part.capitalize() for part in durable.name.split('_'))}"
    gets_all = durable.filter_subject == "session.>"
    due = [model for model in EVENT_CLASSES if gets_all or durable.name in reach.dues(type_of(model))]
    names = {SESSIONS: [model.__name__ for model in due], TIMERS: ["Deadline"]}.get(durable.stream, ["Advisory"])
    channels[key] = {
        "address": durable.filter_subject,
        "description": f"{declaration.description} The durable consumer {durable.name} of the stream {durable.stream}.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names},
        "bindings": declaration.bindings,
    }
    operations[key] = {
        "action": "receive",
        "channel": {"$ref": f"#/channels/{key}"},
        "summary": declaration.description,
        "messages": [{"$ref": f"#/channels/{key}/messages/{name}"} for name in names],
    }
