"""Recorded logs fold to the recorded sessions, and readers skip messages that do not belong to a log.

If one of these tests fails, a rule or a format has changed: see tests/logs/README.md.
"""

import json
from collections.abc import Callable, Iterator
from itertools import islice

import pytest

from parley.events import EVENT_CLASSES, parse_event
from shared.domain.kernel import workflow
from shared.domain.kernel.session import Session
from shared.log import SessionAtPosition, StoredMessage, UpgradeNeeded, accept, guard_headers
from tests.logs.plays import PLAYS
from tests.logs.recorded import AT, RecordedLog, differences, load, load_random, names

EVERY = 10  # tests that try every position use one random session in ten


@pytest.mark.parametrize("name", names())
def test_a_recorded_log_folds_to_its_recorded_session(name: str) -> None:
    assert differences(load(name)) == []


def test_random_sessions_fold_to_their_recorded_sessions() -> None:
    changed = {number: items for number, recorded in enumerate(load_random()) if (items := differences(recorded))}
    assert changed == {}


def test_every_play_and_every_event_is_recorded() -> None:
    assert names() == sorted(play.__name__ for play in PLAYS)
    kinds = {str(kind.model_fields["type"].default) for kind in EVENT_CLASSES}
    random = {message.subject.split(".", 3)[3] for recorded in load_random() for message in recorded.messages}
    played = {message.subject.split(".", 3)[3] for name in names() for message in load(name).messages}
    assert kinds <= random | played, "record a play with the missing event"
    assert played >= {"session.forked", "session.failed", "session.retried", "answer.judged", "question.answered"}


def test_a_changed_rule_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one more repair allowed, a session recorded under the old rule folds differently."""
    monkeypatch.setattr(workflow, "MAX_REPAIRS", 3)
    assert any(differences(recorded) for recorded in load_random())


# --- foreign messages


def unrelated(
    data: bytes, kind: str = "planner.message.received", **headers: str
) -> Callable[[SessionAtPosition, StoredMessage], StoredMessage]:
    """A message with this data, whatever the next event is."""

    def message(loaded: SessionAtPosition, _: StoredMessage) -> StoredMessage:
        return StoredMessage(loaded.position + 1, f"session.{loaded.session.id}.{kind}", headers, data, AT)

    return message


def guarded(**changes: object) -> Callable[[SessionAtPosition, StoredMessage], StoredMessage]:
    """The next event with changed fields and valid guard headers."""

    def message(loaded: SessionAtPosition, following: StoredMessage) -> StoredMessage:
        body = json.loads(following.data) | changes
        headers = guard_headers(loaded.session.id, loaded.position, body["id"])
        return StoredMessage(loaded.position + 1, following.subject, headers, json.dumps(body).encode(), AT)

    return message


def unguarded(loaded: SessionAtPosition, following: StoredMessage) -> StoredMessage:
    """The next event without guard headers."""
    return following._replace(position=loaded.position + 1, headers={})


def late(loaded: SessionAtPosition, following: StoredMessage) -> StoredMessage:
    """The next event with a guard for an outdated position."""
    headers = guard_headers(loaded.session.id, max(loaded.position - 1, 0), "late")
    return following._replace(position=loaded.position + 1, headers=headers)


FOREIGN: dict[str, Callable[[SessionAtPosition, StoredMessage], StoredMessage]] = {
    "no JSON": unrelated(b"\xff garbage"),
    "no event": unrelated(b"{}"),
    "unguarded": unguarded,
    "late": late,
    "an unknown type": guarded(type="session.teleported"),
    "another session's": guarded(session_id="other"),
    "another version": guarded(version=10_000),
    "a missing time": guarded(at=None),
    "a subject of another event": lambda loaded, following: guarded()(loaded, following)._replace(
        subject=f"session.{loaded.session.id}.planner.nothing"
    ),
}


def every_position(recorded: RecordedLog) -> Iterator[tuple[SessionAtPosition, StoredMessage]]:
    """Each message but the first, with the session before it."""
    loaded = accept(SessionAtPosition(Session(recorded.session_id), 0), recorded.messages[0])[0]
    for following in recorded.messages[1:]:
        yield loaded, following
        loaded = accept(loaded, following)[0]


def sessions() -> Iterator[RecordedLog]:
    yield from (load(name) for name in names())
    yield from islice(load_random(), 0, None, EVERY)


@pytest.mark.parametrize("make_message", FOREIGN.values(), ids=FOREIGN)
def test_a_message_that_does_not_belong_changes_nothing_and_blocks_nothing(
    make_message: Callable[[SessionAtPosition, StoredMessage], StoredMessage],
) -> None:
    for recorded in sessions():
        for loaded, following in every_position(recorded):
            unrelated_message = make_message(loaded, following)
            skipped, event, reason = accept(loaded, unrelated_message)
            assert (event, bool(reason), skipped.session) == (None, True, loaded.session)
            event_id = parse_event(following.data).id
            position = unrelated_message.position
            moved = following._replace(
                position=position + 1, headers=guard_headers(loaded.session.id, position, event_id)
            )
            after, event, reason = accept(skipped, moved)
            assert (event is not None, reason) == (True, "")
            assert after.session == accept(loaded, following)[0].session


def test_a_message_of_a_newer_log_format_stops_the_reader() -> None:
    newer = guarded(needs=1_000, a_field_of_tomorrow=True)
    for recorded in sessions():
        for loaded, following in every_position(recorded):
            with pytest.raises(UpgradeNeeded):
                accept(loaded, newer(loaded, following))


DECISIONS = ("plan.approved", "code.approved", "approval.given")
FORGED = {
    "other content": guarded(hash="0" * 64),
    "not a person": guarded(actor="generator"),
    "ends something": guarded(ended=[{"id": "1.1", "reason": "cancelled"}, {"id": "9.9", "reason": "stopped"}]),
    "begins something": guarded(begins=["9.9"]),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_decision_changes_nothing(forge: Callable[[SessionAtPosition, StoredMessage], StoredMessage]) -> None:
    forged = 0
    for recorded in sessions():
        for loaded, following in every_position(recorded):
            if following.subject.split(".", 3)[3] not in DECISIONS:
                continue
            skipped, event, reason = accept(loaded, forge(loaded, following))
            assert (event, bool(reason), skipped.session) == (None, True, loaded.session)
            forged += 1
    assert forged > 50
