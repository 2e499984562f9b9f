"""The headers that guard an append, and whether a stored message was guarded by them."""

from shared.log import EXPECTED_SEQUENCE, EXPECTED_SEQUENCE_SUBJECT, MESSAGE_ID, guard_headers


def test_the_guard_names_every_message_of_the_session() -> None:
    """With another filter, or none, two concurrent appends could both succeed."""
    expected = {EXPECTED_SEQUENCE: "7", EXPECTED_SEQUENCE_SUBJECT: "session.s1.>"}
    assert guard_headers("s1", 7, "id") == expected | {MESSAGE_ID: "id@7"}
