"""docs/asyncapi.json: AsyncAPI 3.0.0 of everything that travels on NATS."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from scripts.gen_events import examples, type_of
from scripts.gen_reach import Reach
from scripts.gen_tables import flat
from services.plan_store.keeper import Deadline
from shared import store_api
from shared.events import EVENT_CLASSES, dump_event, parse_event
from shared.events.values import SESSION_ID
from shared.log import EXPECTED, EXPECTED_SUBJECT, MESSAGE_ID
from shared.protocol.server import Delta

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


def asyncapi(reach: Reach) -> Document:
    """The whole document; the same code gives the same one."""
    schemas = _schemas()
    channels: Document = {}
    operations: Document = {}
    messages: Document = {}
    for model in EVENT_CLASSES:
        _event(model, reach, channels, operations, messages)
    _others(channels, operations, messages)
    for verb in store_api.VERBS:
        _verb(verb, channels, operations, messages)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Parley",
            "version": version,
            "description": "What travels on NATS. In words, with the rules: docs/events.md.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"nats": {"host": "127.0.0.1:4222", "protocol": "nats", "description": "set by NATS_URL"}},
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": schemas},
    }


def _schemas() -> Document:
    models: list[type[Any]] = [*EVENT_CLASSES, Delta, Deadline, store_api.Failed]
    for verb in store_api.VERBS:
        models += [verb.request, verb.answer]
    wanted: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [
        (model.__name__, "validation", TypeAdapter(model)) for model in models
    ]
    found, extra = TypeAdapter.json_schemas(wanted, by_alias=True, ref_template=REF)
    schemas = dict(extra.get("$defs", {}))
    for (name, _), schema in found.items():
        if schema != {"$ref": REF.format(model=name)}:
            schemas.setdefault(str(name), schema)
    return {name: _plain(schema) for name, schema in schemas.items()}


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
    messages["DraftSoFar"] = {
        "name": "draft.get",
        "title": "An empty request",
        "payload": {"type": "string", "const": ""},
    }
    messages["Deadline"] = _message("timer", "A deadline", "Deadline")
    channels["delta"] = _channel(
        "delta.{session_id}.{draft_id}", "Delta", "A draft as it is written; not stored.", SESSION_PARAMETER | draft
    )
    channels["draft"] = _channel(
        "draft.get.{session_id}", "DraftSoFar", "Ask for the whole draft so far.", SESSION_PARAMETER
    )
    channels["draftAnswer"] = {"address": None, "messages": {"Delta": {"$ref": "#/components/messages/Delta"}}}
    channels["timer"] = _channel(
        "timer.{session_id}.{kind}", "Deadline", "Arm a deadline (header Nats-Schedule).", SESSION_PARAMETER | kind
    )
    channels["timerFired"] = _channel(
        "timerfired.{session_id}.{kind}", "Deadline", "A deadline has come.", SESSION_PARAMETER | kind
    )
    operations["watchDraft"] = _operation("receive", "delta", "Delta", "Watch a draft.")
    reply = {
        "channel": {"$ref": "#/channels/draftAnswer"},
        "messages": [{"$ref": "#/channels/draftAnswer/messages/Delta"}],
    }
    operations["askForDraft"] = _operation("send", "draft", "DraftSoFar", "Ask for a draft.") | {"reply": reply}
    operations["armTimer"] = _operation("send", "timer", "Deadline", "Arm or replace a deadline.")
    operations["hearTimer"] = _operation("receive", "timerFired", "Deadline", "Hear of a deadline that has come.")


def _verb(verb: store_api.Verb[Any, Any], channels: Document, operations: Document, messages: Document) -> None:
    ask, answer = verb.request.__name__, verb.answer.__name__
    key = "".join(part.capitalize() for part in verb.name.split("."))
    for name in (ask, answer, "Failed"):
        messages.setdefault(name, _message(name, name, name))
    summary = flat(verb.request.__doc__) if verb.request.__doc__ else f"{verb.name}."
    channels[f"ask{key}"] = _channel(verb.subject, ask, summary, {})
    channels[f"answer{key}"] = {
        "address": None,
        "description": "The reply subject of the request.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in (answer, "Failed")},
    }
    reply = {
        "channel": {"$ref": f"#/channels/answer{key}"},
        "messages": [{"$ref": f"#/channels/answer{key}/messages/{name}"} for name in (answer, "Failed")],
    }
    operations[f"ask{key}"] = _operation("send", f"ask{key}", ask, f"Ask plan_store: {verb.name}.") | {"reply": reply}
