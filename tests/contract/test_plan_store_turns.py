"""Turns and their actions in SQL, on SQLite and on PostgreSQL: all that was planned and all that came of it."""

from typing import Any

from sqlalchemy import select

from services.plan_store import tables as t
from services.plan_store.database import Database
from services.plan_store.projection import Projector
from services.plan_store.rebuild import rebuild_from
from shared.domain import commands as c
from shared.events.values import Artefact, Recalled
from shared.testing import InMemoryLog
from tests.support.plan_store import Story, rows

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")

RECALLED = Recalled(session_id="old", request="Return boots", outcome="answered: done", lesson="Ask for the card.")
ARTEFACT = Artefact(name="s/1/1.1", size=3_000_000, sha256="ab" * 32)


async def one(database: Database, *columns: Any) -> list[tuple[Any, ...]]:
    async with database.begin() as tx:
        return [tuple(row) for row in await tx.execute(select(*columns).order_by(columns[0]))]


def turn(*actions: dict[str, Any], **fields: Any) -> c.PlanTurn:
    return c.PlanTurn.model_validate({"sub_goal": "look", "actions": actions} | fields)


async def asked(log: InMemoryLog) -> Story:
    story = Story(log)
    await story.person(c.Say(text="Return my boots", workflow="agentflow"))
    return story


async def same_after_rebuild(log: InMemoryLog, database: Database) -> None:
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before


async def test_what_was_planned_is_in_the_rows(log: InMemoryLog, database: Database, projector: Projector) -> None:
    story = await asked(log)
    read = {"id": "1.1", "tool": "read", "repairs": ("order_id: # was missing",)}
    denied = {"id": "1.2", "tool": "delete", "effect": "write", "policy": "deny"}
    await story.worker(turn(read, denied, sub_goals=("look", "return"), final=True, recalled=(RECALLED,)))
    await story.worker(c.Start(), c.Finish(action_id="1.1", ok=True, result="the beg…", artefact=ARTEFACT, seconds=2))
    await projector.load(story.id)
    s = t.turns.c
    assert await one(database, s.turn, s.sub_goal, s.sub_goals, s.final, s.recalled) == [
        (1, "look", ["look", "return"], True, [RECALLED.model_dump()])
    ]
    a = t.actions.c
    assert await one(database, a.id, a.status, a.repairs, a.ruling, a.why, a.policy, a.artefact) == [
        ("1.1", "finished", ["order_id: # was missing"], "mutate", "", None, ARTEFACT.model_dump()),
        ("1.2", "denied", [], "deny", "this tool must not be used here", "deny", None),
    ]
    await same_after_rebuild(log, database)


async def test_a_turn_without_actions_is_a_row_too(log: InMemoryLog, database: Database, projector: Projector) -> None:
    story = await asked(log)
    await story.worker(turn({"id": "1.1", "tool": "read"}), c.Start(), c.Finish(action_id="1.1", ok=True))
    await story.worker(c.VerifyTurn(status="success", next_action="continue", reasoning="more"))
    await story.worker(turn(sub_goal="nothing left", reasoning="it is done", recalled=(RECALLED,)))
    await projector.load(story.id)
    s = t.turns.c
    assert await one(database, s.turn, s.sub_goal, s.by, s.reasoning, s.status, s.recalled) == [
        (1, "look", "planner", "", "success", []),
        (2, "nothing left", "planner", "it is done", None, [RECALLED.model_dump()]),
    ]
    await story.worker(c.GiveAnswer(text="Done.", confidence=1, evidence=("1.1",)))
    await projector.load(story.id)
    assert await one(database, t.answers.c.text, t.answers.c.evidence) == [("Done.", ["1.1"])]
    await same_after_rebuild(log, database)


async def test_a_turn_that_the_persons_words_overtook(
    log: InMemoryLog, database: Database, projector: Projector
) -> None:
    story = await asked(log)
    await story.person(c.Say(text="The red ones"))
    session = await story.worker(turn({"id": "1.1", "tool": "read"}))
    assert (session.turn, session.phase) == (None, "planning")
    await story.worker(turn({"id": "2.1", "tool": "read"}))
    await projector.load(story.id)
    assert await one(database, t.turns.c.turn, t.turns.c.sub_goal) == [(1, "look"), (2, "look")]
    a = t.actions.c
    assert await one(database, a.turn, a.id, a.status) == [(1, "1.1", "skipped"), (2, "2.1", "planned")]
    await same_after_rebuild(log, database)


async def test_the_artefact_of_an_outcome_that_comes_late(
    log: InMemoryLog, database: Database, projector: Projector
) -> None:
    story = await asked(log)
    await story.worker(turn({"id": "1.1", "tool": "slow"}), c.Start())
    await story.person(c.Stop(), c.Say(text="Something else"))
    await story.worker(c.Finish(action_id="1.1", ok=True, result="the beg…", artefact=ARTEFACT, seconds=2))
    await projector.load(story.id)
    a = t.actions.c
    assert await one(database, a.id, a.status, a.result, a.artefact, a.seconds) == [
        ("1.1", "finished", "the beg…", ARTEFACT.model_dump(), 2.0)
    ]
    await same_after_rebuild(log, database)
