"""What one user may take: places, messages, stored bytes, sessions at work and unread bytes."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from services.gateway.access import quota as quotas_module
from services.gateway.access.quota import Quota, Quotas
from services.gateway.live.outbox import CALM_SIZE, Outbox, OutgoingMessage
from services.gateway.trouble import Trouble
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
    return quotas(clock, **settings).of("alice")


@contextmanager
def refused(setting: str) -> Iterator[pytest.ExceptionInfo[Trouble]]:
    """A refusal that says how long to wait, and which setting it is."""
    with pytest.raises(Trouble) as caught:
        yield caught
    assert (caught.value.code, caught.value.status) == ("slow_down", 429)
    assert caught.value.retry_after
    assert setting in caught.value.hint


# --- messages and places


def test_a_user_has_one_bucket_and_each_user_their_own(clock: Clock) -> None:
    here = quotas(clock, max_requests_per_second=2)
    for _ in range(6):
        here.of("alice").count()
    with refused("MAX_REQUESTS_PER_SECOND"):
        here.of("alice").count()
    here.of("bob").count()
    clock.now += 0.5
    here.of("alice").count()


def test_a_large_answer_costs_as_much_as_many_messages(clock: Clock) -> None:
    mine = quota(clock, max_requests_per_second=2)
    mine.answered(6 * quotas_module.MESSAGE_BYTES)
    with refused("MAX_REQUESTS_PER_SECOND"):
        mine.count()


def test_refusals_wait_for_each_other(clock: Clock) -> None:
    mine = quota(clock)
    assert [mine.hold_back() for _ in range(3)] == pytest.approx([0, 0.05, 0.1])
    assert max(mine.hold_back() for _ in range(1_000)) == pytest.approx(20)
    clock.now += 30
    assert mine.hold_back() == 0


def test_sockets_and_their_sessions_are_counted_while_they_are_open() -> None:
    here = quotas(max_sockets_per_user=2, max_open_sessions_per_user=1)
    with ExitStack() as open_:
        for user in ("alice", "alice", "bob"):
            open_.enter_context(here.of(user).sockets.one())
        with refused("MAX_SOCKETS_PER_USER"):
            open_.enter_context(here.of("alice").sockets.one())
    with here.of("alice").sockets.one(), here.of("alice").sockets.one():
        pass
    with here.of("alice").open_sessions.one(), refused("MAX_OPEN_SESSIONS_PER_USER"):
        here.of("alice").open_sessions.take()


def test_requests_that_wait_have_places_for_each_user_and_for_all() -> None:
    here = quotas(max_pending_requests_per_user=2, max_pending_requests=3)
    alice, bob = here.of("alice"), here.of("bob")
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
            mine.count()
            for part in (mine.sockets.one(), mine.waiting(), mine.stores(10**9), mine.works(f"s{number}", 1)):
                open_.enter_context(part)


def test_strangers_cannot_fill_the_memory_and_who_is_here_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas_module, "MOST", 50)
    here = quotas()
    alice = here.of("alice")
    for number in range(200):
        here.of(f"user{number}")
    assert here.of("alice") is alice
    assert len(here._users) <= 51


# --- what messages bring about


def test_stored_bytes_of_a_day(clock: Clock) -> None:
    mine = quota(clock, max_stored_bytes_per_day=86_400)
    with mine.stores(86_000):
        pass
    with refused("MAX_STORED_BYTES_PER_DAY") as caught, mine.stores(1_000):
        raise AssertionError("it was stored")
    assert (caught.value.retry_after, "10 min" in caught.value.hint) == (600, True)
    with pytest.raises(ZeroDivisionError), mine.stores(400):
        raise ZeroDivisionError  # nothing was stored, and nothing counts
    clock.now += 600
    with mine.stores(1_000):
        pass


def test_so_many_sessions_are_worked_on_at_once() -> None:
    mine = quota(max_running_sessions_per_user=2)
    for session_id in ("one", "two", "one"):
        with mine.works(session_id, 1):
            pass
    with refused("MAX_RUNNING_SESSIONS_PER_USER"), mine.works("three", 1):
        raise AssertionError("it was begun")
    with mine.works("two", 5):  # who works there already may be given more to do
        pass
    mine.rests("one")
    with pytest.raises(ZeroDivisionError), mine.works("three", 1):
        raise ZeroDivisionError
    assert mine.at_work == {"two": 5}


# --- what is not read yet


def outgoing(size: int, **more: Any) -> OutgoingMessage:
    return OutgoingMessage(b"x" * size, "s", **more)


async def test_an_outbox_takes_one_message_of_any_size_and_not_too_many() -> None:
    mine = quota()
    outbox = Outbox(mine, messages=3, size=100)
    for size in (5_000, 10):  # the second one finds too much waiting
        assert not outbox.overflowed.is_set()
        outbox.put(outgoing(size))
    assert (outbox.overflowed.is_set(), outbox.empty, mine.unread) == (True, True, 0)
    outbox = Outbox(mine, messages=3, size=100)
    for _ in range(4):
        outbox.put(outgoing(1))
    assert outbox.overflowed.is_set()


async def test_a_message_counts_until_it_has_been_sent() -> None:
    mine = quota()
    outbox = Outbox(mine)
    outbox.put(outgoing(1_000))
    await outbox.get()
    assert mine.unread == 1_000
    outbox.put(outgoing(10))
    await outbox.get()
    assert mine.unread == 10
    outbox.close()
    assert mine.unread == 0


async def test_a_newer_snapshot_takes_the_place_of_an_older_one() -> None:
    outbox = Outbox(quota())
    for size in (1, 2, 3):
        outbox.put(outgoing(size, snapshot=True))
        outbox.put(OutgoingMessage(b"....", "other", snapshot=size == 1))
    assert [len((await outbox.get()).body) for _ in range(4)] == [4, 4, 3, 4]


async def test_an_outbox_is_calm_again_when_its_messages_have_been_sent() -> None:
    outbox = Outbox(quota())
    await outbox.calm()
    outbox.put(outgoing(CALM_SIZE + 1))
    await outbox.get()
    assert not outbox._calm.is_set()
    outbox.put(outgoing(1))
    await outbox.get()
    await outbox.calm()


def test_where_a_user_leaves_too_much_unread_the_fullest_outbox_gives_way() -> None:
    mine = quota(max_send_buffer_bytes_per_user=1_000)
    full, other = Outbox(mine), Outbox(mine)
    full.put(outgoing(600))
    other.put(outgoing(300))
    other.put(outgoing(200))
    assert (full.overflowed.is_set(), other.overflowed.is_set(), mine.unread) == (True, False, 500)


def test_where_all_leave_too_much_unread_it_is_taken_from_whom_most_waits_for() -> None:
    here = quotas(max_send_buffer_bytes=1_000, max_send_buffer_bytes_per_user=900)
    alice = [Outbox(here.of("alice")) for _ in range(3)]
    bob = Outbox(here.of("bob"))
    bob.put(outgoing(300))
    for outbox in alice:
        outbox.put(outgoing(250))
    assert [outbox.overflowed.is_set() for outbox in (*alice, bob)].count(True) == 1
    assert (bob.overflowed.is_set(), here.unread) == (False, 800)
