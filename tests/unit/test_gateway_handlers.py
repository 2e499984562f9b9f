"""A message that loses a race is decided again on the newest state; one with an unknown outcome is not stored twice."""

from collections.abc import Awaitable, Callable

import pytest

from parley.events import Due, SessionEvent
from parley.protocol import client as m
from services.gateway.access.users import User
from services.gateway.api_errors import ApiError
from services.gateway.messages.handlers import Sender, act
from services.gateway.ports import Core
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import OutOfTurn
from shared.log import Indeterminate, LogFull, LogUnavailable, SessionAtPosition, StoredMessage
from shared.testing import InMemoryLog
from tests.support.bus import FakeBus
from tests.support.gateway import FakeStore
from tests.support.stories import Conversation

ALICE, BOB = Sender(User("alice")), Sender(User("bob"))


class OvertakenLog(InMemoryLog):
    """A log to which another writer appends first: `before_append` runs once, before the next append."""

    def __init__(self) -> None:
        super().__init__()
        self.before_append: Callable[[], Awaitable[object]] | None = None

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        before_append, self.before_append = self.before_append, None
        if before_append:
            await before_append()
        return await super().append(event, after=after, due=due)


@pytest.fixture
def log() -> OvertakenLog:
    return OvertakenLog()


@pytest.fixture
def core(log: OvertakenLog) -> Core:
    return Core(FakeBus(), FakeStore(log), log)


async def test_feedback_after_a_concurrent_stop_starts_nothing(log: OvertakenLog, core: Core) -> None:
    story = Conversation(log, "s", "local")
    await story.plan(user="alice")
    log.before_append = lambda: story.commit(c.Stop(), user="alice")
    with pytest.raises(OutOfTurn):
        await act(m.Feedback(type="feedback", content="Bigger"), "s", ALICE, core)
    assert (await story.load()).phase == "resting"


async def test_a_session_id_taken_concurrently_belongs_to_the_first_user(log: OvertakenLog, core: Core) -> None:
    story = Conversation(log, "s", "local")
    log.before_append = lambda: story.commit(c.Say(text="Mine"), user="alice")
    with pytest.raises(ApiError) as caught:
        await act(m.UserMessage(type="user_message", content="No, mine"), "s", BOB, core)
    assert caught.value.code == "not_found"
    assert (await story.load()).version == 1


class ElectingLog(OvertakenLog):
    """A log without a leader for the next `failures_left` reads and appends."""

    failures_left = 0

    def _leader(self) -> None:
        self.failures_left -= 1
        if self.failures_left >= 0:
            raise LogUnavailable("no leader")

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        try:
            self._leader()
        except LogUnavailable as error:
            raise Indeterminate("no leader") from error
        return await super().append(event, after=after, due=due)

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        self._leader()
        return await super().read(session_id, after=after, limit=limit, leader=leader)


async def test_a_replicated_log_is_retried_during_an_election() -> None:
    log = ElectingLog()
    await Conversation(log, "s", "local").plan(user="alice")
    core = Core(FakeBus(), FakeStore(log), log)
    assert core.log_timeout < 9
    log.failures_left = 4
    with pytest.raises(LogUnavailable):
        await act(m.Stop(type="stop"), "s", ALICE, core)
    log.clustered = True
    assert core.log_timeout > 9
    done = await act(m.Rename(type="rename", title="Kept"), "s", ALICE, core)
    assert (done.version, log.failures_left < 0) == (3, True)


@pytest.mark.parametrize("clustered", [False, True])
async def test_a_session_whose_newest_events_the_log_has_lost_says_so(clustered: bool) -> None:
    log = OvertakenLog()
    log.clustered = clustered
    await Conversation(log, "s", "local").plan(user="alice")
    whole = await FakeStore(log).load("s")

    class Store(FakeStore):
        """A store whose rows still have what the log has lost."""

        async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
            return whole

    del log.messages[-1]
    core = Core(FakeBus(), Store(log), log)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("services.gateway.ports.ELECTION_TIMEOUT", 0.2)
        with pytest.raises(ApiError, match="The log has lost this session's newest events") as caught:
            await act(m.Stop(type="stop"), "s", ALICE, core)
    assert (caught.value.code, len(log.messages)) == ("not_available", 1)
    assert "backup" in caught.value.hint


async def test_a_log_that_is_read_and_answers_no_append_is_said_to_have_a_full_disk() -> None:
    class Silent(OvertakenLog):
        async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
            raise Indeterminate("no answer")

    log = Silent()
    core, message = Core(FakeBus(), FakeStore(log), log), m.UserMessage(type="user_message", content="A calculator")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("services.gateway.ports.LOG_TIMEOUT", 0.2)
        with pytest.raises(LogFull, match="is its disk full"):
            await act(message, "s", ALICE, core)
