"""What plan_store counts for /metrics, on SQLite and on PostgreSQL."""

import asyncio
from datetime import UTC, datetime

from services.plan_store.database import Database, put
from services.plan_store.dead_letters import dismiss
from services.plan_store.figures import count
from services.plan_store.projection import Projector
from services.plan_store.tables import dead_letters
from shared import store_api as api
from shared.telemetry import metrics
from shared.testing import InMemoryLog
from tests.support.stories import Conversation, approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


def figure(name: str, **labels: str) -> float | None:
    return metrics.REGISTRY.get_sample_value(f"parley_{name}", labels)


def letter(position: int, consumer: str) -> dict[str, object]:
    told = {"stream": "SESSIONS", "consumer": consumer, "stream_seq": position}
    return told | {"reason": "", "session_id": "", "subject": "", "at": datetime.now(UTC)}


async def test_everything_is_counted_and_what_is_not_there_is_zero(
    log: InMemoryLog, database: Database, projector: Projector
) -> None:
    await count(database)
    assert {figure("sessions", phase=phase) for phase in ("planning", "resting", "failed")} == {0}
    assert figure("oldest_due_work_age_seconds", service="generator") == 0

    coding, reviewed = Conversation(log), Conversation(log)
    await coding.plan()
    await coding.commit(approve)
    await reviewed.plan()
    for story in (coding, reviewed):
        await projector.load(story.id)
    log.publish(f"session.{reviewed.id}.planner.plan.drafted", b"nonsense")
    await projector.load(reviewed.id)
    letters = [letter(1, "planner"), letter(2, "planner"), letter(3, "mine"), letter(4, "yours")]
    async with database.begin() as tx:
        await put(tx, dead_letters, letters)

    await count(database)
    phases = {phase: figure("sessions", phase=phase) for phase in ("planning", "coding", "awaiting_approval")}
    assert phases == {"planning": 0, "coding": 1, "awaiting_approval": 1}
    assert 0 < (figure("oldest_due_work_age_seconds", service="generator") or 0) < 60
    assert figure("oldest_due_work_age_seconds", service="planner") == 0
    assert figure("dead_letters", consumer="planner") == 2
    assert figure("dead_letters", consumer="other") == 2  # a stranger's consumer is no label of ours
    assert figure("parked_messages") == 1

    for position in (1, 3, log.last(reviewed.id)):  # what a person has put away raises no alarm
        await dismiss(database, api.DismissDead(stream="SESSIONS", stream_seq=position, user="ann"))
    await count(database)
    assert [figure("dead_letters", consumer=name) for name in ("planner", "other")] == [1, 1]
    assert figure("parked_messages") == 0


async def test_what_folding_refuses_is_counted_once_whoever_meets_it(
    log: InMemoryLog, database: Database, projector: Projector
) -> None:
    before = figure("events_refused_total") or 0
    story = Conversation(log)
    await story.plan()
    log.publish(f"session.{story.id}.planner.plan.drafted", b"nonsense")
    log.publish(f"session.{story.id}.planner.plan.drafted", b"more of it")
    other = Projector(log, database)
    await asyncio.gather(projector.load(story.id), other.load(story.id))
    await Projector(log, database).load(story.id)
    assert figure("events_refused_total") == before + 2
