"""Quotas per user: connections, messages, stored bytes, working sessions and unread bytes."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from services.gateway.access import quota as quotas_module
from services.gateway.access.quota import Quota, Quotas
from services.gateway.api_errors import ApiError
from services.gateway.live.subscription import DRAINED_BYTES, OutgoingMessage, SendQueue
from tests.support.gateway import gateway_settings


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def quotas(clock: Clock | None = None, **settings: Any) -> Quotas:
    return Quotas(gateway_settings(**settings), clock or Clock())


def quota(clock: Clock | None = None, **settings: Any) -> Quota:
    return quotas(clock, **settings).for_user("alice")


@contextmanager
def refused(setting: str) -> Iterator[pytest.ExceptionInfo[ApiError]]:
    """The block must be refused with an error that names the setting and how long to wait."""
    with pytest.raises(ApiError) as caught:
        yield caught
    assert (caught.value.code, caught.value.status) == ("slow_down", 429)
    assert caught.value.retry_after
    assert setting in caught.value.hint


def test_each_user_has_a_message_rate_of_their_own(clock: Clock) -> None:
    all_quotas = quotas(clock, max_requests_per_second=2)
    for _ in range(6):
        all_quotas.for_user("alice").count_message()
    with refused("MAX_REQUESTS_PER_SECOND"):
        all_quotas.for_user("alice").count_message()
    all_quotas.for_user("bob").count_message()
    clock.now += 0.5
    all_quotas.for_user("alice").count_message()


def test_a_large_response_costs_as_much_as_many_messages(clock: Clock) -> None:
    alice_quota = quota(clock, max_requests_per_second=2)
    alice_quota.charge_response(6 * quotas_module.MESSAGE_BYTES)
    with refused("MAX_REQUESTS_PER_SECOND"):
        alice_quota.count_message()


# --- messages, connections and requests


def test_refusals_are_spaced_out(clock: Clock) -> None:
    alice_quota = quota(clock)
    assert [alice_quota.next_refusal_delay() for _ in range(3)] == pytest.approx([0, 0.05, 0.1])
    assert max(alice_quota.next_refusal_delay() for _ in range(1_000)) == pytest.approx(20)
    clock.now += 30
    assert alice_quota.next_refusal_delay() == 0


def test_open_sockets_and_open_sessions_are_limited() -> None:
    all_quotas = quotas(max_sockets_per_user=2, max_open_sessions_per_user=1)
    with ExitStack() as open_:
        for user in ("alice", "alice", "bob"):
            open_.enter_context(all_quotas.for_user(user).sockets.slot())
        with refused("MAX_SOCKETS_PER_USER"):
            open_.enter_context(all_quotas.for_user("alice").sockets.slot())
    with all_quotas.for_user("alice").sockets.slot(), all_quotas.for_user("alice").sockets.slot():
        pass
    with all_quotas.for_user("alice").open_sessions.slot(), refused("MAX_OPEN_SESSIONS_PER_USER"):
        all_quotas.for_user("alice").open_sessions.acquire()


def test_a_setting_of_zero_means_no_limit() -> None:
    names = ("max_requests_per_second", "max_sockets_per_user", "max_pending_requests_per_user", "max_pending_requests")
    bytes_ = (
        "max_stored_bytes_per_day",
        "max_send_buffer_bytes_per_user",
        "max_send_buffer_bytes",
        "max_running_sessions_per_user",
    )
    alice_quota = quota(None, **dict.fromkeys((*names, *bytes_), 0))
    with ExitStack() as open_:
        for number in range(2_000):
            alice_quota.count_message()
            for slot in (
                alice_quota.sockets.slot(),
                alice_quota.waiting(),
                alice_quota.storing(10**9),
                alice_quota.working(f"s{number}", 1),
            ):
                open_.enter_context(slot)


def test_remembered_quotas_are_bounded_and_active_users_keep_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas_module, "MAX_REMEMBERED", 50)
    all_quotas = quotas()
    alice = all_quotas.for_user("alice")
    for number in range(200):
        all_quotas.for_user(f"user{number}")
    assert all_quotas.for_user("alice") is alice
    assert len(all_quotas._users) <= 51


# --- stored bytes and working sessions


def test_stored_bytes_per_day_are_limited(clock: Clock) -> None:
    alice_quota = quota(clock, max_stored_bytes_per_day=86_400)
    with alice_quota.storing(86_000):
        pass
    with refused("MAX_STORED_BYTES_PER_DAY") as caught, alice_quota.storing(1_000):
        raise AssertionError("it was stored")
    assert (caught.value.retry_after, "10 min" in caught.value.hint) == (600, True)
    with pytest.raises(ZeroDivisionError), alice_quota.storing(400):
        raise ZeroDivisionError  # nothing was stored, and nothing counts
    clock.now += 600
    with alice_quota.storing(1_000):
        pass


def test_working_sessions_are_limited() -> None:
    alice_quota = quota(max_running_sessions_per_user=2)
    for session_id in ("one", "two", "one"):
        with alice_quota.working(session_id, 1):
            pass
    with refused("MAX_RUNNING_SESSIONS_PER_USER"), alice_quota.working("three", 1):
        raise AssertionError("it was begun")
    with alice_quota.working("two", 5):  # “two” is working already, so another message to it is allowed
        pass
    alice_quota.finish_work("one")
    with pytest.raises(ZeroDivisionError), alice_quota.working("three", 1):
        raise ZeroDivisionError
    assert alice_quota.working_sessions == {"two": 5}


# --- unread messages


def outgoing(size: int, **more: Any) -> OutgoingMessage:
    return OutgoingMessage(b"x" * size, "s", **more)


async def test_a_queue_accepts_one_message_of_any_size_and_a_limited_number() -> None:
    alice_quota = quota()
    queue = SendQueue(alice_quota, messages=3, size=100)
    for size in (5_000, 10):  # the second message does not fit behind the first
        assert not queue.overflowed.is_set()
        queue.put(outgoing(size))
    assert (queue.overflowed.is_set(), queue.is_empty, alice_quota.unread) == (True, True, 0)
    queue = SendQueue(alice_quota, messages=3, size=100)
    for _ in range(4):
        queue.put(outgoing(1))
    assert queue.overflowed.is_set()


async def test_a_newer_snapshot_replaces_an_older_one() -> None:
    queue = SendQueue(quota())
    for size in (1, 2, 3):
        queue.put(outgoing(size, snapshot=True))
        queue.put(OutgoingMessage(b"....", "other", snapshot=size == 1))
    assert [len((await queue.get()).body) for _ in range(4)] == [4, 4, 3, 4]


async def test_a_queue_is_drained_when_its_messages_have_been_sent() -> None:
    queue = SendQueue(quota())
    await queue.wait_until_drained()
    queue.put(outgoing(DRAINED_BYTES + 1))
    await queue.get()
    assert not queue._drained.is_set()
    queue.put(outgoing(1))
    await queue.get()
    await queue.wait_until_drained()


def test_over_the_users_unread_limit_the_fullest_queue_overflows() -> None:
    alice_quota = quota(max_send_buffer_bytes_per_user=1_000)
    full, other = SendQueue(alice_quota), SendQueue(alice_quota)
    full.put(outgoing(600))
    other.put(outgoing(300))
    other.put(outgoing(200))
    assert (full.overflowed.is_set(), other.overflowed.is_set(), alice_quota.unread) == (True, False, 500)


def test_over_the_total_unread_limit_the_user_with_the_most_overflows() -> None:
    all_quotas = quotas(max_send_buffer_bytes=1_000, max_send_buffer_bytes_per_user=900)
    alice = [SendQueue(all_quotas.for_user("alice")) for _ in range(3)]
    bob = SendQueue(all_quotas.for_user("bob"))
    bob.put(outgoing(300))
    for queue in alice:
        queue.put(outgoing(250))
    assert [queue.overflowed.is_set() for queue in (*alice, bob)].count(True) == 1
    assert (bob.overflowed.is_set(), all_quotas.unread) == (False, 800)
