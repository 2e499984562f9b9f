"""The headers that guard an append, and whether a stored message was guarded by them."""

from datetime import UTC, datetime

from shared.log import EXPECTED_SEQUENCE, EXPECTED_SEQUENCE_SUBJECT, MESSAGE_ID, StoredMessage, follows, guard_headers


def test_only_a_matching_guard_follows_a_position() -> None:
    headers = guard_headers("s1", 7, "id")
    raw = StoredMessage(9, "session.s1.user.plan.drafted", headers, b"", datetime.now(UTC))
    assert follows(raw, 7)
    assert not follows(raw, 8)
    assert not follows(raw._replace(headers={EXPECTED_SEQUENCE: "7"}), 7), (
        "without a filter, the broker checks only the message's own subject"
    )
    assert not follows(raw._replace(subject="session.other.user.plan.drafted"), 7)
    assert not follows(raw._replace(headers={}), 0)


def test_the_guard_names_every_message_of_the_session() -> None:
    """With another filter, or none, two concurrent appends could both succeed."""
    expected = {EXPECTED_SEQUENCE: "7", EXPECTED_SEQUENCE_SUBJECT: "session.s1.>"}
    assert guard_headers("s1", 7, "id") == expected | {MESSAGE_ID: "id@7"}
