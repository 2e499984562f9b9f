"""A NATS cluster can store an unguarded message just before a guarded append, and acknowledge both."""

import pytest

from parley.events import Due, SessionEvent, dump_event
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import AlreadyDone
from shared.domain.kernel.session import Session
from shared.log import SessionAtPosition, VersionConflict, commit, guard_headers, subject_of
from shared.testing import InMemoryLog, InMemoryStore
from tests.conftest import person


class Clustered(InMemoryLog):
    """A log that stores an unguarded message between the check of an append's guard and the append."""

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        if not self.messages:
            self.publish(f"session.{event.session_id}.nobody.x", b"a stranger's")
            self.publish(subject_of(event, due), dump_event(event), guard_headers(event.session_id, after, event.id))
            raise VersionConflict("overtaken")
        return await super().append(event, after=after, due=due)


async def test_an_append_that_a_foreign_message_overtook_is_repeated(session_id: str) -> None:
    log = Clustered()
    loaded, event = await commit(log, SessionAtPosition(Session(session_id), 0), c.Say(text="first"), person("m1"))
    stored = [raw.data == dump_event(event) for raw in log.messages]
    assert stored == [False, True, True], "the first copy follows the foreign message, so the event is appended again"
    assert loaded == await InMemoryStore(log).load(session_id)
    assert (loaded.position, loaded.session.version) == (3, 1)
    with pytest.raises(AlreadyDone):
        await commit(log, loaded, c.Say(text="first"), person("m1"))
