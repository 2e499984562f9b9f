"""A worker takes a session's state from a message, without a load, if the message's guard proves what it follows."""

from datetime import UTC, datetime, timedelta

import pytest

from parley.events import dump_event
from shared.bus import Delivery, Unprocessable
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import decide, due
from shared.llm import ScriptedModel
from shared.log import SessionAtPosition, guard_headers, subject_of
from shared.settings import Settings
from shared.store import StoreRefused
from shared.story import Story
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, Worker, WorkerDeps
from shared.worker.worker import _from_first_message


def first_message(session_id: str = "s", after: int = 0) -> Delivery:
    event = decide(Session("s"), c.Say(text="Hello"), CommandMeta("user:ann", datetime.now(UTC), "say"))
    headers = guard_headers(session_id, after, event.id)
    return Delivery(
        subject_of(event, due(evolve(Session("s"), event))), dump_event(event), 9, 1, headers, datetime.now(UTC)
    )


def test_the_first_message_of_a_session_needs_no_load() -> None:
    loaded = _from_first_message(first_message())
    assert loaded is not None
    assert (loaded.position, loaded.session.version, loaded.session.words.request) == (9, 1, "Hello")
    assert loaded.session.work is not None


class RefusingStore(InMemoryStore):
    """Refuses each load, because the answer would be larger than a message."""

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        raise StoreRefused("too_large", "The answer has 9 bytes. Ask for less.")


async def test_a_session_that_cannot_be_loaded_is_unprocessable() -> None:
    """The dead letter fails the session. Otherwise the broker would redeliver the message forever."""
    log = InMemoryLog()
    deps = WorkerDeps("planner", RefusingStore(log), log, ScriptedModel(), Drafts(None), Settings())
    with pytest.raises(Unprocessable, match="cannot be loaded: The answer has 9 bytes"):
        await Worker(deps, fail).on_delivery(first_message()._replace(deliveries=2))


async def fail(_: WorkContext) -> None:
    raise AssertionError("there is no session to look at")


@pytest.mark.parametrize("age", [60, 2, -60])
async def test_a_late_first_message_of_a_stopped_session_is_not_worked_on(age: float) -> None:
    """A negative age is one by a clock that is behind the broker's."""
    log = InMemoryLog()
    story = Story("s", log=log)
    await story.commit(c.Say(text="Hello"), c.Stop())
    message, phases = log.messages[0], []

    async def work(context: WorkContext) -> None:
        phases.append(context.session.phase)

    deps = WorkerDeps("planner", InMemoryStore(log), log, ScriptedModel(), Drafts(None), Settings(nats_replicas=1))
    sent = datetime.now(UTC) - timedelta(seconds=age)
    await Worker(deps, work).on_delivery(
        Delivery(message.subject, message.data, message.position, 1, message.headers, sent)
    )
    assert phases == []
