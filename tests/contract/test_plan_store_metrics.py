"""The metrics that plan_store counts, on SQLite and on PostgreSQL."""

import asyncio
from datetime import UTC, datetime

from services.plan_store.database import ProjectionDatabase, upsert
from services.plan_store.operations.dead_letters import dismiss
from services.plan_store.operations.health import count
from services.plan_store.projection.projector import Projector
from services.plan_store.tables import dead_letters
from shared import store_api as api
from shared.domain.kernel import commands as c
from shared.telemetry import metrics
from shared.testing import InMemoryLog
from tests.support.stories import Conversation, approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


def metric_value(name: str, **labels: str) -> float | None:
    return metrics.REGISTRY.get_sample_value(f"parley_{name}", labels)


def dead_letter_row(position: int, consumer: str) -> dict[str, object]:
    row = {"stream": "SESSIONS", "consumer": consumer, "stream_seq": position}
    return row | {"reason": "", "session_id": "", "subject": "", "at": datetime.now(UTC)}


async def test_sessions_due_work_and_dead_letters_are_counted_and_zero_if_absent(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    await count(database)
    assert {metric_value("sessions", phase=phase) for phase in ("planning", "resting", "failed")} == {0}
    assert metric_value("oldest_due_work_age_seconds", service="generator") == 0

    coding, reviewed = Conversation(log), Conversation(log)
    await coding.plan()
    await coding.commit(approve)
    await reviewed.plan()
    for story in (coding, reviewed):
        await projector.load(story.id)
    log.publish(f"session.{reviewed.id}.planner.plan.drafted", b"nonsense")
    await projector.load(reviewed.id)
    rows = [
        dead_letter_row(1, "planner"),
        dead_letter_row(2, "planner"),
        dead_letter_row(3, "mine"),
        dead_letter_row(4, "yours"),
    ]
    async with database.begin() as tx:
        await upsert(tx, dead_letters, rows)

    await count(database)
    phases = {phase: metric_value("sessions", phase=phase) for phase in ("planning", "coding", "awaiting_approval")}
    assert phases == {"planning": 0, "coding": 1, "awaiting_approval": 1}
    assert 0 < (metric_value("oldest_due_work_age_seconds", service="generator") or 0) < 60
    assert metric_value("oldest_due_work_age_seconds", service="planner") == 0
    assert metric_value("dead_letters", consumer="planner") == 2
    assert metric_value("dead_letters", consumer="other") == 2  # consumers that are not services share one label
    assert metric_value("parked_messages") == 1

    for position in (1, 3, log.last(reviewed.id)):  # dismissed messages are not counted
        await dismiss(database, api.DismissDead(stream="SESSIONS", stream_seq=position, user="ann"))
    await count(database)
    assert [metric_value("dead_letters", consumer=name) for name in ("planner", "other")] == [1, 1]
    assert metric_value("parked_messages") == 0


async def test_a_message_to_be_answered_counts_as_due_work(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = Conversation(log)
    await story.plan()
    await story.commit(c.Say(text="Why three steps?"))
    await projector.load(story.id)
    await count(database)
    assert 0 < (metric_value("oldest_due_work_age_seconds", service="planner") or 0) < 60


async def test_a_refused_event_is_counted_once_across_replicas(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    before = metric_value("events_refused_total") or 0
    story = Conversation(log)
    await story.plan()
    log.publish(f"session.{story.id}.planner.plan.drafted", b"nonsense")
    log.publish(f"session.{story.id}.planner.plan.drafted", b"more of it")
    replica = Projector(log, database)
    await asyncio.gather(projector.load(story.id), replica.load(story.id))
    await Projector(log, database).load(story.id)
    assert metric_value("events_refused_total") == before + 2
