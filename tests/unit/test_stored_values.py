"""Unknown fields, which stored events of a newer release keep and clients may not send; and events of older formats."""

import json
from typing import Any

import pytest

from parley.events import dump_event, envelope, parse_event
from services.gateway.api_errors import ApiError
from services.gateway.messages.parsing import parse_message

FIRST: dict[str, Any] = {
    "type": "message.received",
    "id": "s:1",
    "session_id": "s",
    "version": 1,
    "at": "2030-01-01T00:00:00Z",
    "actor": "user:ann",
    "text": "Hello",
    "settings": {"max_turns": 3, "planning": {"retries_alone": 2}, "tone": "dry"},
    "knowledge": [{"name": "notes", "text": "…", "language": "en"}],
    "mood": {"calm": [1, 2]},
}


def stored_again(body: dict[str, Any]) -> dict[str, Any]:
    """The body as this release would store it again."""
    again: dict[str, Any] = json.loads(dump_event(parse_event(json.dumps(body))))
    return again


def test_unknown_fields_are_kept_in_events_and_their_values() -> None:
    event = stored_again(FIRST)
    assert event["mood"] == FIRST["mood"]
    assert event["settings"]["tone"] == "dry"
    assert event["settings"]["planning"]["retries_alone"] == 2
    assert event["knowledge"] == FIRST["knowledge"]


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({"type": "user_message", "content": "x", "settings": {"tone": "dry"}}, "settings.tone"),
        ({"type": "user_message", "content": "x", "settings": {"planning": {"tone": 1}}}, "settings.planning.tone"),
        ({"type": "user_message", "content": "x", "knowledge": [{"name": "a", "text": "b", "c": 1}]}, "knowledge.0.c"),
        ({"type": "edit", "version": 1, "steps": [{"text": "a", "when": "now"}]}, "when"),
        ({"type": "stop", "when": "now"}, "when"),
    ],
)
def test_unknown_fields_from_clients_are_refused_by_name(message: dict[str, Any], place: str) -> None:
    with pytest.raises(ApiError, match=rf"`{place}` is not known here: leave it out") as refused:
        parse_message(json.dumps(message))
    assert refused.value.code == "bad_message"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"needs": 9}', b'{"session_id": "s", "version": 1, "type": {}}'])
def test_a_body_without_a_head_gives_none(body: bytes) -> None:
    assert envelope.read_head(body) is None


def test_a_head_is_read_even_if_the_rest_of_the_body_is_unknown() -> None:
    body = {"type": "session.dreamt", "session_id": "s", "version": 4, "needs": 7, "at": "some day"}
    head = envelope.read_head(json.dumps(body))
    assert head
    assert (head.type, head.version, head.needs) == ("session.dreamt", 4, 7)
    assert envelope.is_newer(head)
    assert not envelope.is_newer(head.model_copy(update={"needs": envelope.FORMAT}))
