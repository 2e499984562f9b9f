"""Protocol 1 as it was recorded, byte for byte."""

from typing import get_args

import pytest

from parley.protocol.server import SERVER_MESSAGES, AnyServerMessage
from tests.protocol1.transcripts import read, recorded, told

BY_HAND = {"greeting", "delta", "forked", "error"}  # no event brings these
RECORDED = read()
LOGS = dict(recorded())


@pytest.mark.parametrize("name", RECORDED)
def test_a_session_is_told_as_it_was(name: str) -> None:
    for index, (now, then) in enumerate(zip(told(LOGS[name]), RECORDED[name], strict=True)):
        assert now == then, f"message {index}"


def test_every_message_that_events_bring_is_recorded() -> None:
    kinds = {model.model_fields["type"].default for model in get_args(get_args(AnyServerMessage)[0])}
    told = {SERVER_MESSAGES.validate_json(message).type for messages in RECORDED.values() for message in messages}
    assert told == kinds - BY_HAND
