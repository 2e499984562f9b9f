"""Quotas per user: connections, messages, stored bytes, working sessions and unread bytes."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from services.gateway.access import quota as quotas_module
from services.gateway.access.quota import Quota, Quotas
from services.gateway.api_errors import ApiError
from services.gateway.live.send_queue import DRAINED_BYTES, OutgoingMessage, SendQueue
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
    """Expect a refusal that names the setting and how long to wait."""
    with pytest.raises(ApiError) as caught:
        yield caught
    assert (caught.value.code, caught.value.status) == ("slow_down", 429)
    assert caught.value.retry_after
    assert setting in caught.value.hint


# --- messages and places


def test_a_user_has_one_bucket_and_each_user_their_own(clock: Clock) -> None:
    here = quotas(clock, max_requests_per_second=2)
    for _ in range(6):
        here.for_user("alice").count_message()
    with refused("MAX_REQUESTS_PER_SECOND"):
        here.for_user("alice").count_message()
    here.for_user("bob").count_message()
    clock.now += 0.5
    here.for_user("alice").count_message()


def test_a_large_response_costs_as_much_as_many_messages(clock: Clock) -> None:
    mine = quota(clock, max_requests_per_second=2)
    mine.charge_response(6 * quotas_module.MESSAGE_BYTES)
    with refused("MAX_REQUESTS_PER_SECOND"):
        mine.count_message()


def test_refusals_are_spaced_out(clock: Clock) -> None:
    mine = quota(clock)
    assert [mine.next_refusal_delay() for _ in range(3)] == pytest.approx([0, 0.05, 0.1])
    assert max(mine.next_refusal_delay() for _ in range(1_000)) == pytest.approx(20)
    clock.now += 30
    assert mine.next_refusal_delay() == 0


def test_sockets_and_their_sessions_are_counted_while_they_are_open() -> None:
    here = quotas(max_sockets_per_user=2, max_open_sessions_per_user=1)
    with ExitStack() as open_:
        for user in ("alice", "alice", "bob"):
            open_.enter_context(here.for_user(user).sockets.slot())
        with refused("MAX_SOCKETS_PER_USER"):
            open_.enter_context(here.for_user("alice").sockets.slot())
    with here.for_user("alice").sockets.slot(), here.for_user("alice").sockets.slot():
        pass
    with here.for_user("alice").open_sessions.slot(), refused("MAX_OPEN_SESSIONS_PER_USER"):
        here.for_user("alice").open_sessions.acquire()


def test_waiting_requests_are_limited_per_user_and_in_total() -> None:
    here = quotas(max_pending_requests_per_user=2, max_pending_requests=3)
    alice, bob = here.for_user("alice"), here.for_user("bob")
    with ExitStack() as waiting:
        waiting.enter_context(alice.waiting())
        waiting.enter_context(alice.waiting())
        with refused("MAX_PENDING_REQUESTS_PER_USER"):
            waiting.enter_context(alice.waiting())
        waiting.enter_context(bob.waiting())
        with refused("MAX_PENDING_REQUESTS"):
            waiting.enter_context(bob.waiting())
    with bob.waiting(), bob.waiting():
        pass


def test_no_limit() -> None:
    names = ("max_requests_per_second", "max_sockets_per_user", "max_pending_requests_per_user", "max_pending_requests")
    bytes_ = (
        "max_stored_bytes_per_day",
        "max_send_buffer_bytes_per_user",
        "max_send_buffer_bytes",
        "max_running_sessions_per_user",
    )
    mine = quota(None, **dict.fromkeys((*names, *bytes_), 0))
    with ExitStack() as open_:
        for number in range(2_000):
            mine.count_message()
            for part in (mine.sockets.slot(), mine.waiting(), mine.storing(10**9), mine.working(f"s{number}", 1)):
                open_.enter_context(part)


def test_remembered_quotas_are_bounded_and_active_users_keep_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas_module, "MAX_REMEMBERED", 50)
    here = quotas()
    alice = here.for_user("alice")
    for number in range(200):
        here.for_user(f"user{number}")
    assert here.for_user("alice") is alice
    assert len(here._users) <= 51


# --- what messages bring about


def test_stored_bytes_per_day_are_limited(clock: Clock) -> None:
    mine = quota(clock, max_stored_bytes_per_day=86_400)
    with mine.storing(86_000):
        pass
    with refused("MAX_STORED_BYTES_PER_DAY") as caught, mine.storing(1_000):
        raise AssertionError("it was stored")
    assert (caught.value.retry_after, "10 min" in caught.value.hint) == (600, True)
    with pytest.raises(ZeroDivisionError), mine.storing(400):
        raise ZeroDivisionError  # nothing was stored, and nothing counts
    clock.now += 600
    with mine.storing(1_000):
        pass


def test_working_sessions_are_limited() -> None:
    mine = quota(max_running_sessions_per_user=2)
    for session_id in ("one", "two", "one"):
        with mine.working(session_id, 1):
            pass
    with refused("MAX_RUNNING_SESSIONS_PER_USER"), mine.working("three", 1):
        raise AssertionError("it was begun")
    with mine.working("two", 5):  # who works there already may be given more to do
        pass
    mine.finish_work("one")
    with pytest.raises(ZeroDivisionError), mine.working("three", 1):
        raise ZeroDivisionError
    assert mine.working_sessions == {"two": 5}


# --- what is not read yet


def outgoing(size: int, **more: Any) -> OutgoingMessage:
    return OutgoingMessage(b"x" * size, "s", **more)


async def test_a_queue_accepts_one_message_of_any_size_and_a_limited_number() -> None:
    mine = quota()
    queue = SendQueue(mine, messages=3, size=100)
    for size in (5_000, 10):  # the second one finds too much waiting
        assert not queue.overflowed.is_set()
        queue.put(outgoing(size))
    assert (queue.overflowed.is_set(), queue.is_empty, mine.unread) == (True, True, 0)
    queue = SendQueue(mine, messages=3, size=100)
    for _ in range(4):
        queue.put(outgoing(1))
    assert queue.overflowed.is_set()


async def test_a_message_counts_until_it_has_been_sent() -> None:
    mine = quota()
    queue = SendQueue(mine)
    queue.put(outgoing(1_000))
    await queue.get()
    assert mine.unread == 1_000
    queue.put(outgoing(10))
    await queue.get()
    assert mine.unread == 10
    queue.close()
    assert mine.unread == 0


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
    mine = quota(max_send_buffer_bytes_per_user=1_000)
    full, other = SendQueue(mine), SendQueue(mine)
    full.put(outgoing(600))
    other.put(outgoing(300))
    other.put(outgoing(200))
    assert (full.overflowed.is_set(), other.overflowed.is_set(), mine.unread) == (True, False, 500)


def test_over_the_total_unread_limit_the_user_with_the_most_overflows() -> None:
    here = quotas(max_send_buffer_bytes=1_000, max_send_buffer_bytes_per_user=900)
    alice = [SendQueue(here.for_user("alice")) for _ in range(3)]
    bob = SendQueue(here.for_user("bob"))
    bob.put(outgoing(300))
    for queue in alice:
        queue.put(outgoing(250))
    assert [queue.overflowed.is_set() for queue in (*alice, bob)].count(True) == 1
    assert (bob.overflowed.is_set(), here.unread) == (False, 800)
