"""The messages of protocol 1 are byte for byte as recorded."""

from typing import get_args

import pytest

from parley.protocol.server import SERVER_MESSAGES, AnyServerMessage
from tests.protocol1.transcripts import messages_of, read, recorded

WITHOUT_EVENT = {"greeting", "delta", "forked", "error"}  # no event causes these messages
RECORDED = read()
LOGS = dict(recorded())


@pytest.mark.parametrize("name", RECORDED)
def test_the_messages_of_a_recorded_session_are_unchanged(name: str) -> None:
    for index, (actual, expected) in enumerate(zip(messages_of(LOGS[name]), RECORDED[name], strict=True)):
        assert actual == expected, f"message {index}"


def test_every_message_type_that_events_cause_is_recorded() -> None:
    kinds = {model.model_fields["type"].default for model in get_args(get_args(AnyServerMessage)[0])}
    types = {SERVER_MESSAGES.validate_json(message).type for messages in RECORDED.values() for message in messages}
    assert types == kinds - WITHOUT_EVENT
