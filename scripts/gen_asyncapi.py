"""docs/asyncapi.json: FastStream's AsyncAPI document of what the services declare, with every event."""

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from parley.events import EVENT_CLASSES, dump_event, parse_event
from parley.events.values import SESSION_ID
from parley.protocol.server import Delta
from scripts.gen_events import examples, type_of
from scripts.gen_reach import Reach
from scripts.gen_tables import flat
from services.executor import app as executor
from services.generator import app as generator
from services.plan_store.app import PlanStore
from services.plan_store.keeper import Deadline
from services.planner import app as planner
from services.verifier import app as verifier
from shared import store_api
from shared.bus.application import Application, asyncapi_of
from shared.bus.subscribers import DurableSubscriber, RequestSubscriber
from shared.bus.topology import SESSIONS, TIMERS
from shared.log import EXPECTED, EXPECTED_SUBJECT, MESSAGE_ID
from shared.services import Consumer
from shared.settings import Settings

type Document = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
REF = "#/components/schemas/{model}"
GUARD = {
    "type": "object",
    "properties": {
        EXPECTED: {"type": "string", "description": "stream sequence of the last message under the session's subjects"},
        EXPECTED_SUBJECT: {"type": "string", "description": "session.<session_id>.>, this very string"},
        MESSAGE_ID: {"type": "string", "description": "the event's id, `@`, the position that it follows"},
    },
    "required": [EXPECTED, EXPECTED_SUBJECT],
}
SESSION_PARAMETER = {"session_id": {"description": f"a session's id: {SESSION_ID}"}}


class Declared(NamedTuple):
    """A subscriber that a service declares, and what FastStream's document says of it."""

    service: str
    subscriber: DurableSubscriber | RequestSubscriber
    description: str
    payload: str  # its schema, by name
    bindings: Document


def asyncapi(reach: Reach) -> Document:
    """The whole document; the same code gives the same one."""
    written, declared = _written_by_faststream()
    schemas = written["components"]["schemas"] | _schemas(declared)
    channels: Document = {}
    operations: Document = {}
    messages: Document = {}
    for model in EVENT_CLASSES:
        _event(model, reach, channels, operations, messages)
    _others(channels, operations, messages)
    for one in declared:
        match one.subscriber:
            case RequestSubscriber() as subscriber:
                _request(one, subscriber, channels, operations, messages)
            case DurableSubscriber() as subscriber:
                _work(one, subscriber.durable, reach, channels, operations)
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
    workers = (planner.build, generator.build, verifier.build, executor.build)
    return [PlanStore(settings), *(build(settings) for build in workers)]


def _written_by_faststream() -> tuple[Document, list[Declared]]:
    """FastStream's own document of what the services declare, and each subscriber's part in it."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    apps = applications()
    about = "What travels on NATS. In words, with the rules: docs/events.md."
    written = asyncapi_of(*apps, title="Parley", version=version, description=about, licence="Apache-2.0")
    declared = []
    for app in apps:
        ours = [one for one in app.broker.subscribers if isinstance(one, DurableSubscriber | RequestSubscriber)]
        for subscriber in sorted(ours, key=lambda one: one.subject.template):
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
    found: Any = document
    for part in reference.removeprefix("#/").split("/"):
        found = found[unquote(part)]
    return found


def _schemas(declared: list[Declared]) -> Document:
    """Of what FastStream does not know: events, what else travels, and answers."""
    asked = [one.subscriber for one in declared if isinstance(one.subscriber, RequestSubscriber)]
    models: list[type[Any]] = [*EVENT_CLASSES, Delta, Deadline, store_api.Failed]
    models += [one.answer for one in asked if _is_model(one.answer)]
    wanted: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [
        (model.__name__, "validation", TypeAdapter(model)) for model in models
    ]
    found, extra = TypeAdapter.json_schemas(wanted, by_alias=True, ref_template=REF)
    schemas = dict(extra.get("$defs", {}))
    for (name, _), schema in found.items():
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


def _event(model: type[Any], reach: Reach, channels: Document, operations: Document, messages: Document) -> None:
    kind, name = type_of(model), model.__name__
    told = examples()[kind]
    summary = flat(model.__doc__)
    shown = {"name": kind, "payload": parse_event(dump_event(told.event)).model_dump(mode="json")}
    messages[name] = _message(kind, kind, name, summary=summary, headers=GUARD, examples=[shown])
    dues = sorted({*reach.dues(kind), told.due})
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
    one: Declared, subscriber: RequestSubscriber, channels: Document, operations: Document, messages: Document
) -> None:
    subject = subscriber.subject.template
    key = "".join(part.capitalize() for part in re.findall(r"\b(?<!{)\w+", subject.removeprefix(store_api.PREFIX)))
    ask = _typed(subscriber.request, one.payload, messages)
    failed = (store_api.Failed,) if subject.startswith(store_api.PREFIX) else ()
    answers = [_typed(model, f"{key}Answer", messages) for model in (subscriber.answer, *failed)]
    parameters = SESSION_PARAMETER if "{session_id}" in subject else {}
    channels[f"ask{key}"] = _channel(subject, ask, one.description, parameters) | {"bindings": one.bindings}
    channels[f"answer{key}"] = {
        "address": None,
        "description": "The reply subject of the request.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in answers},
    }
    reply = {
        "channel": {"$ref": f"#/channels/answer{key}"},
        "messages": [{"$ref": f"#/channels/answer{key}/messages/{name}"} for name in answers],
    }
    sent = _operation("send", f"ask{key}", ask, f"Ask {one.service}: {subject.removeprefix(store_api.PREFIX)}.")
    operations[f"ask{key}"] = sent | {"reply": reply}
    received = _operation("receive", f"ask{key}", ask, f"{one.service} answers.")
    operations[f"{one.service}Answers{key}"] = received | {"reply": reply}


def _typed(model: type[Any] | None, name: str, messages: Document) -> str:
    """The name of the message with this body, which is there from now on."""
    if model and _is_model(model):
        messages.setdefault(model.__name__, _message(model.__name__, model.__name__, model.__name__))
        return model.__name__
    payload = {"type": "string"} if model else {"type": "string", "const": ""}
    name = re.sub(r"\W+", "", name)
    messages.setdefault(name, {"name": name, "title": name if model else "An empty request", "payload": payload})
    return name


def _work(one: Declared, durable: Consumer, reach: Reach, channels: Document, operations: Document) -> None:
    """A durable consumer: the events whose subjects it filters, or whatever else is in its stream."""
    key = f"consume{''.join(part.capitalize() for part in durable.name.split('_'))}"
    due = [model for model in EVENT_CLASSES if durable.name in (*reach.dues(type_of(model)), "plan_store")]
    names = {SESSIONS: [model.__name__ for model in due], TIMERS: ["Deadline"]}.get(durable.stream, ["Advisory"])
    channels[key] = {
        "address": durable.filter_subject,
        "description": f"{one.description} The durable consumer {durable.name} of the stream {durable.stream}.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in names},
        "bindings": one.bindings,
    }
    operations[key] = {
        "action": "receive",
        "channel": {"$ref": f"#/channels/{key}"},
        "summary": one.description,
        "messages": [{"$ref": f"#/channels/{key}/messages/{name}"} for name in names],
    }
