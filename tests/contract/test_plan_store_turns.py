"""Turns and actions in SQL, on SQLite and on PostgreSQL."""

from typing import Any

from sqlalchemy import select

from parley.events.values import Artefact, PathPlan, Recalled, Step, ToolRule
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.projection import Projector
from services.plan_store.rebuild import rebuild_from
from shared.domain import commands as c
from shared.story import finish_action
from shared.testing import InMemoryLog
from tests.support.plan_store import rows
from tests.support.plan_store_paths import PLAIN, WISH, Walk, specs
from tests.support.stories import Conversation, approve, spent

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")

RECALLED = Recalled(session_id="old", request="Return boots", outcome="answered: done", lesson="Ask for the card.")
ARTEFACT = Artefact(name="s/1/1.1", size=3_000_000, sha256="ab" * 32)
STORED = c.StoreResult(action_id="1.1", artefact=ARTEFACT)


async def fetch(database: ProjectionDatabase, *columns: Any) -> list[tuple[Any, ...]]:
    async with database.begin() as tx:
        return [tuple(row) for row in await tx.execute(select(*columns).order_by(columns[0]))]


def turn(*actions: dict[str, Any], **fields: Any) -> c.PlanTurn:
    return c.PlanTurn.model_validate({"sub_goal": "look", "actions": actions} | fields)


async def new_session(log: InMemoryLog) -> Conversation:
    """A session with a request to agentflow."""
    story = Conversation(log)
    await story.commit(c.Say(text="Return my boots", workflow="agentflow"))
    return story


async def assert_same_after_rebuild(log: InMemoryLog, database: ProjectionDatabase) -> None:
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before


async def test_the_planned_turn_is_in_the_rows(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = await new_session(log)
    read = {"id": "1.1", "tool": "read", "repairs": ("order_id: # was missing",)}
    denied = {"id": "1.2", "tool": "delete", "effect": "write", "policy": "deny"}
    await story.commit(turn(read, denied, sub_goals=("look", "return"), final=True, recalled=(RECALLED,)))
    await story.commit(c.Start(), finish_action(result="the beg…", size=ARTEFACT.size, seconds=2), STORED)
    await projector.load(story.id)
    s = t.turns.c
    assert await fetch(database, s.turn, s.sub_goal, s.sub_goals, s.final, s.recalled) == [
        (1, "look", ["look", "return"], True, [RECALLED.model_dump()])
    ]
    a = t.actions.c
    assert await fetch(database, a.id, a.status, a.repairs, a.decision, a.decision_reason, a.policy, a.artefact) == [
        ("1.1", "finished", ["order_id: # was missing"], "mutate", "", None, ARTEFACT.model_dump()),
        ("1.2", "denied", [], "deny", "this tool must not be used here", "deny", None),
    ]
    await assert_same_after_rebuild(log, database)


async def test_an_action_with_a_new_ruling_has_the_new_ruling_in_its_row(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = await new_session(log)
    await story.commit(
        turn({"id": "1.1", "tool": "look"}, {"id": "1.2", "tool": "erase"}, {"id": "1.3", "tool": "pay"})
    )
    tools = {"erase": ToolRule(effect="irreversible"), "pay": ToolRule(effect="read", policy="deny")}
    await story.commit(c.Start(tools=tools))
    await projector.load(story.id)
    a = t.actions.c
    assert await fetch(database, a.id, a.effect, a.policy, a.decision, a.status, a.decision_reason) == [
        ("1.1", "read", None, "proceed", "planned", ""),
        ("1.2", "irreversible", None, "require_approval", "planned", ""),
        ("1.3", "read", "deny", "deny", "denied", "this tool must not be used here"),
    ]
    await assert_same_after_rebuild(log, database)


async def test_a_turn_without_actions_has_a_row(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = await new_session(log)
    await story.commit(turn({"id": "1.1", "tool": "read"}), c.Start(), finish_action(action_id="1.1", ok=True))
    await story.commit(c.VerifyTurn(status="success", next_action="continue", reasoning="more"))
    await story.commit(turn(sub_goal="nothing left", reasoning="it is done", recalled=(RECALLED,)))
    await projector.load(story.id)
    s = t.turns.c
    assert await fetch(database, s.turn, s.sub_goal, s.by, s.reasoning, s.verdict_status, s.recalled) == [
        (1, "look", "planner", "", "success", []),
        (2, "nothing left", "planner", "it is done", None, [RECALLED.model_dump()]),
    ]
    await story.commit(c.GiveAnswer(text="Done.", confidence=1, evidence=("1.1",)))
    await projector.load(story.id)
    assert await fetch(database, t.answers.c.text, t.answers.c.evidence) == [("Done.", ["1.1"])]
    await assert_same_after_rebuild(log, database)


async def test_a_turn_overtaken_by_a_message_does_not_run(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = await new_session(log)
    await story.commit(c.Say(text="The red ones"))
    session = await story.commit(turn({"id": "1.1", "tool": "read"}))
    assert (session.turn, session.phase) == (None, "planning")
    await story.commit(turn({"id": "2.1", "tool": "read"}))
    await projector.load(story.id)
    assert await fetch(database, t.turns.c.turn, t.turns.c.sub_goal) == [(1, "look"), (2, "look")]
    a = t.actions.c
    assert await fetch(database, a.turn, a.id, a.status) == [(1, "1.1", "skipped"), (2, "2.1", "planned")]
    await assert_same_after_rebuild(log, database)


async def test_a_late_outcome_has_its_artefact(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = await new_session(log)
    await story.commit(turn({"id": "1.1", "tool": "slow"}), c.Start())
    await story.commit(c.Stop(), c.Say(text="Something else"))
    await story.commit(finish_action(result="the beg…", size=ARTEFACT.size, seconds=2), STORED)
    await projector.load(story.id)
    a = t.actions.c
    assert await fetch(database, a.id, a.status, a.result, a.artefact, a.duration_seconds) == [
        ("1.1", "finished", "the beg…", ARTEFACT.model_dump(), 2.0)
    ]
    await assert_same_after_rebuild(log, database)


# --- paths


async def test_nodes_that_had_not_begun_are_superseded_by_a_new_path(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    walk = Walk(log)
    await walk.ask("How many are waiting?", "generate_sql", "validate_sql", "execute_sql", proposal=WISH)
    await projector.load(walk.id)
    await walk.step()
    await walk.step(valid=False)
    await walk.commit(c.ChangeTurn(actions=specs("generate_sql", "execute_sql"), reason="validate_sql: not valid"))
    await projector.load(walk.id)
    await walk.step()
    await walk.commit(c.EditPath(actions=specs("format_final_response"), given={"sql": "SELECT 3"}, after="1.4"))
    await projector.load(walk.id)
    a, s = t.actions.c, t.turns.c
    assert await fetch(database, a.ordinal, a.id, a.tool, a.status, a.ended_at.is_not(None), a.depends_on) == [
        (1, "1.1", "text_to_sql.generate_sql", "finished", True, []),
        (2, "1.2", "text_to_sql.validate_sql", "finished", True, ["1.1"]),
        (3, "1.3", "text_to_sql.execute_sql", "superseded", True, ["1.2"]),
        (4, "1.4", "text_to_sql.generate_sql", "finished", True, ["1.2"]),
        (5, "1.5", "text_to_sql.execute_sql", "superseded", True, ["1.4"]),
        (6, "1.6", "text_to_sql.person", "finished", True, []),
        (7, "1.7", "text_to_sql.format_final_response", "planned", False, ["1.6"]),
    ]
    assert (await fetch(database, a.id, a.result))[5] == ("1.6", {"sql": "SELECT 3"})
    [(_, path)] = await fetch(database, s.turn, s.path)
    assert PathPlan.model_validate(path).proposal == WISH
    await walk.walk()
    await walk.end("3")
    await projector.load(walk.id)
    assert (await fetch(database, a.ordinal, a.status, a.duration_seconds))[6] == (7, "finished", 1.0)
    await assert_same_after_rebuild(log, database)


async def test_a_path_can_be_cut_short(log: InMemoryLog, database: ProjectionDatabase, projector: Projector) -> None:
    walk = Walk(log)
    await walk.ask("How many are waiting?", "generate_sql", "validate_sql")
    await walk.step()
    session = await walk.commit(c.EditPath(actions=(), after="1.1"))
    await projector.load(walk.id)
    assert session.phase == "verifying"
    a = t.actions.c
    assert await fetch(database, a.id, a.status) == [("1.1", "finished"), ("1.2", "superseded")]
    await assert_same_after_rebuild(log, database)


async def test_a_nodes_tokens_are_recorded_without_changing_its_times(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    walk = Walk(log)
    await walk.ask("How many are waiting?", "generate_sql", "validate_sql")
    await walk.commit(c.Start())
    await projector.load(walk.id)
    a, u = t.actions.c, t.usage.c
    began = await fetch(database, a.id, a.started_at)
    await walk.spend_on("1.1", 10)
    await walk.spend_on("1.1", 5)
    await projector.load(walk.id)
    assert await fetch(database, a.id, a.started_at) == began
    await walk.commit(finish_action(action_id="1.1", ok=True, result={"sql": "SELECT 1"}, seconds=2))
    await projector.load(walk.id)
    ended = await fetch(database, a.id, a.ended_at)
    await walk.spend_on("1.1", 1)
    await walk.commit(spent(100))
    await projector.load(walk.id)
    assert await fetch(database, a.id, a.ended_at) == ended
    assert await fetch(database, a.id, a.tokens, a.duration_seconds) == [("1.1", 19, 2.0), ("1.2", 0, None)]
    assert await fetch(database, u.version, u.action_id) == [(4, "1.1"), (5, "1.1"), (7, "1.1"), (8, "")]
    await assert_same_after_rebuild(log, database)


async def test_an_approved_path_becomes_the_turn(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    walk = Walk(log)
    await walk.commit(c.Say(text="How many are waiting?", workflow="flow"))
    path = PathPlan(nodes=tuple(f"text_to_sql.{node}" for node in PLAIN), attempts=2)
    steps = tuple(Step(text=node, tool=node) for node in path.nodes)
    drafted = await walk.commit(c.DraftPlan(goal="Count them", steps=steps, kind="path", path=path))
    assert drafted.plan is not None
    await walk.commit(c.EditPlan(base=drafted.plan.version, steps=steps[2:]))
    await walk.commit(approve)
    await walk.walk()
    await projector.load(walk.id)
    p, s, a = t.plans.c, t.turns.c, t.actions.c
    assert await fetch(database, p.number, p.kind, p.status) == [(1, "path", "superseded"), (2, "path", "executing")]
    edited = path.model_copy(update={"nodes": path.nodes[2:]}).model_dump(mode="json")
    assert await fetch(database, p.number, p.path) == [(1, path.model_dump(mode="json")), (2, edited)]
    assert await fetch(database, s.turn, s.sub_goal, s.final, s.path) == [(1, "Count them", True, edited)]
    assert await fetch(database, a.ordinal, a.tool, a.status) == [
        (n, node, "finished") for n, node in enumerate(path.nodes[2:], 1)
    ]
    await assert_same_after_rebuild(log, database)


async def test_the_cost_of_a_node_that_outlived_its_turn_is_recorded(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    walk = Walk(log)
    await walk.ask("How many are waiting?", "generate_sql", "validate_sql")
    await walk.commit(c.Start())
    await walk.commit(c.Stop(), c.Say(text="Something else"))
    await walk.spend_on("1.1", 10)
    await walk.commit(finish_action(action_id="1.1", ok=True, result={"sql": "SELECT 1"}, seconds=2))
    await projector.load(walk.id)
    a = t.actions.c
    assert await fetch(database, a.id, a.status, a.tokens, a.duration_seconds) == [
        ("1.1", "finished", 11, 2.0),
        ("1.2", "skipped", 0, None),
    ]
    await assert_same_after_rebuild(log, database)
