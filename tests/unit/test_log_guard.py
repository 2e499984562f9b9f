"""The guard of an append: what it names, and when the broker has looked at it."""

from datetime import UTC, datetime

from shared.log import EXPECTED, EXPECTED_SUBJECT, MESSAGE_ID, StoredMessage, follows, guard


def test_what_the_broker_vouches_for_follows() -> None:
    headers = guard("s1", 7, "id")
    raw = StoredMessage(9, "session.s1.user.plan.drafted", headers, b"", datetime.now(UTC))
    assert follows(raw, 7)
    assert not follows(raw, 8)
    assert not follows(raw._replace(headers={EXPECTED: "7"}), 7), "it was checked against its own subject alone"
    assert not follows(raw._replace(subject="session.other.user.plan.drafted"), 7)
    assert not follows(raw._replace(headers={}), 0)


def test_the_guard_names_every_message_of_the_session() -> None:
    """With another filter, or none, two writers could both win."""
    expected = {EXPECTED: "7", EXPECTED_SUBJECT: "session.s1.>"}
    assert guard("s1", 7, "id") == expected | {MESSAGE_ID: "id@7"}
