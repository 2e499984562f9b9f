"""The library of accepted answers, on SQLite and on PostgreSQL."""

from datetime import UTC, datetime

import pytest

from parley.events.values import ActionSpec, Step
from services.plan_store.database import ProjectionDatabase
from services.plan_store.projection.projector import Projector
from shared import store_api as api
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.log import fork
from shared.story import finish_action
from shared.testing import InMemoryLog
from tests.support.library import Library, tools
from tests.support.plan_store_paths import PLAIN, STATEMENT, WISH, Walk, planned, specs
from tests.support.stories import STEPS, approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


@pytest.fixture
def library(log: InMemoryLog, database: ProjectionDatabase, projector: Projector) -> Library:
    return Library(log, database, projector)


# --- the contents of an entry


async def test_an_accepted_answer_becomes_an_entry_with_its_path(library: Library) -> None:
    walk = Walk(library.log)
    await walk.answered("How many are waiting?", "3 orders are pending. " + "x" * 900)
    assert (await library.page()).total == 0
    session = await walk.judge()
    entry = await library.entry()
    assert entry.model_dump(exclude={"answer", "at"}) == {
        "session_id": walk.id,
        "round": 1,
        "version": session.version,
        "request": "How many are waiting?",
        "flows": ("text_to_sql",),
        "path": tools(*PLAIN),
        "question": "How many orders are pending?",
        "sql": STATEMENT,
        "tables": ("orders",),
        "accepted": True,
        "saved": False,
        "workflow": "flow",
        "steps": (),
    }
    assert entry.answer.startswith("3 orders are pending. xxx")
    assert len(entry.answer) == 500
    await library.assert_unchanged_by_rebuild()


async def test_an_answer_can_be_accepted_and_rejected_repeatedly(library: Library) -> None:
    walk = Walk(library.log)
    await walk.answered("How many are waiting?")
    saved_flags = []
    for accepted, saved in ((True, False), (True, True), (False, False), (True, True), (True, False)):
        await walk.judge(accepted=accepted, saved=saved)
        saved_flags.append([entry.saved for entry in (await library.page()).items])
        await library.assert_unchanged_by_rebuild()
    assert saved_flags == [[False], [True], [], [True], [False]]


async def test_there_is_one_entry_per_request(library: Library) -> None:
    walk = Walk(library.log)
    await walk.answered("The first", "one")
    await walk.judge()
    await walk.answered("The second, of no interest", "two")
    await walk.answered("The third", "three")
    await walk.judge(saved=True)
    await walk.commit(c.Continue(), c.Answer(text="The fourth"))
    await walk.commit(planned(*specs("general_questions", turn=4)))
    await walk.walk()
    await walk.end("four")
    await walk.judge()
    entries = [(entry.round, entry.request, entry.answer, entry.saved) for entry in (await library.page()).items]
    assert entries == [
        (4, "The fourth", "four", False),
        (3, "The third", "three", True),
        (1, "The first", "one", False),
    ]
    await walk.judge(accepted=False)
    assert await library.requests() == ["The third", "The first"]
    await library.assert_unchanged_by_rebuild()


async def test_the_path_of_an_entry_is_the_executed_one(library: Library) -> None:
    walk = Walk(library.log)
    await walk.ask("How many are waiting?")
    for _ in range(3):
        await walk.step()
    await walk.step(valid=False, problem="no such column", sql_tables=[])
    retry = specs("generate_sql", "validate_sql", "execute_sql", "format_final_response")
    await walk.commit(c.ChangeTurn(actions=retry, reason="validate_sql: not valid"))
    await walk.step(sql="SELECT 2")
    session = await walk.load()
    assert session.turn is not None
    after = next(a.spec.id for a in reversed(session.turn.actions) if a.status == "finished")
    await walk.commit(c.EditPath(actions=retry[1:], given={"sql": "SELECT 3"}, after=after))
    await walk.walk()
    await walk.end("3")
    await walk.judge()
    entry = await library.entry()
    assert entry.path == tools(*PLAIN[:4], "generate_sql", *PLAIN[3:])
    assert (entry.sql, entry.tables) == ("SELECT 3", ("orders",))
    await library.assert_unchanged_by_rebuild()


LOOK = ActionSpec(id="1.1", tool="get_order", arguments={"order": "#W1"})
SEND = ActionSpec(id="1.2", tool="send", arguments={"to": "ann"}, depends_on=("1.1",))
DONE = (c.VerifyTurn(status="success", next_action="complete"), c.GiveAnswer(text="Done.", confidence=1))


async def test_the_successful_calls_of_a_turn_are_the_steps_of_the_entry(library: Library) -> None:
    walk = Walk(library.log)
    await walk.commit(c.Say(text="Send my order", workflow="agentflow"), c.PlanTurn(sub_goal="S", actions=(LOOK, SEND)))
    await walk.commit(c.Start(), finish_action("1.1", result={}))
    await walk.commit(c.Start(), finish_action("1.2", ok=False, error="away"), *DONE)
    await walk.judge(saved=True)
    entry = await library.entry()
    assert (entry.workflow, entry.answer, entry.saved, entry.path, entry.flows) == ("agentflow", "Done.", True, (), ())
    assert entry.steps == (Step(text="get_order", tool="get_order", arguments={"order": "#W1"}),)
    await library.assert_unchanged_by_rebuild()


async def test_an_execution_plan_has_its_steps_in_the_entry(library: Library) -> None:
    walk = Walk(library.log)
    look = Step(text="Look it up", tool="get_order", id="s1", effect="read", arguments={"order": "#W1"})
    send = Step(text="Send it", tool="send", id="s2", effect="read", after=("s1",))
    await walk.commit(c.Say(text="Send my order", workflow="execution_plan"))
    session = await walk.commit(c.DraftPlan(goal="G", steps=(look, send), kind="execution"), approve)
    assert session.plan
    task = session.plan.task
    await walk.commit(c.Start(), finish_action(f"{task}.s1", result="#W1"))
    await walk.commit(c.Start(), finish_action(f"{task}.s2"), *DONE)
    await walk.judge()
    entry = await library.entry()
    assert (entry.workflow, entry.steps) == (
        "execution_plan",
        tuple(step.model_copy(update={"effect": None}) for step in (look, send)),
    )
    await library.assert_unchanged_by_rebuild()


async def test_the_entry_of_approved_code_has_the_steps_of_its_plan(library: Library) -> None:
    walk = Walk(library.log)
    for goal in ("A calculator", "A clock"):
        await walk.plan(f"Write {goal.lower()}", goal, workflow="conversation")
        await walk.commit(approve)
        await walk.codes()
        await walk.commit(approve)
        await walk.judge(saved=goal == "A clock")
    entries = [(entry.round, entry.request, entry.workflow, entry.saved) for entry in (await library.page()).items]
    assert entries == [(2, "Write a clock", "conversation", True), (1, "Write a calculator", "conversation", False)]
    clock, _ = (await library.page()).items
    assert clock.answer.startswith("Goal: A clock")
    assert clock.steps == STEPS
    await library.assert_unchanged_by_rebuild()
    await walk.commit(c.Run(), c.Start(), finish_action("1.1", result={}), DONE[0])
    await walk.judge(accepted=False)
    assert await library.requests() == ["Write a calculator"]
    await library.assert_unchanged_by_rebuild()


async def test_similar_entries_are_of_the_requested_workflow(library: Library) -> None:
    await library.add_accepted("Cancel the pending orders")
    walk = Walk(library.log)
    await walk.commit(c.Say(text="Cancel my orders", workflow="agentflow"), c.PlanTurn(sub_goal="S", actions=(LOOK,)))
    await walk.commit(c.Start(), finish_action("1.1", result={}), *DONE)
    await walk.judge()
    assert await library.similar("orders", workflow="agentflow") == ["Cancel my orders"]
    assert await library.similar("orders", workflow="flow") == ["Cancel the pending orders"]
    assert await library.similar("orders", workflow="execution_plan") == []
    assert len(await library.similar("orders")) == 2


async def test_any_text_is_stored_up_to_a_limit(library: Library) -> None:
    walk = Walk(library.log)
    await walk.ask("\x00orders % _ ' \U0001f97e " + "w " * 5_000, "generate_sql")
    await walk.step(sql="SELECT " + "1," * 20_000, question="q " * 5_000, sql_tables=["t" * 900] * 90)
    await walk.end("y\x00")
    await walk.judge()
    entry = await library.entry(query="orders % _ '")
    assert (len(entry.request), len(entry.question), entry.sql) == (2_000, 2_000, "")
    assert entry.tables == ("t" * 200,) * 50
    await library.assert_unchanged_by_rebuild()


# --- whose entries a user sees


async def test_a_user_sees_only_entries_of_own_sessions(library: Library) -> None:
    walk = Walk(library.log)
    await walk.answered("How many are waiting?")
    await walk.commit(c.Share(user="bob", role="approver"))
    walk.user = "bob"
    await walk.judge(saved=True)
    assert await library.requests() == ["How many are waiting?"]
    assert await library.requests(user="bob") == []
    assert await library.similar("waiting", user="bob") == []
    assert await library.similar("waiting") == ["How many are waiting?"]


async def test_a_fork_has_entries_that_its_parent_does_not_share(library: Library) -> None:
    parent = Walk(library.log)
    await parent.answered("How many are waiting?")
    parent_state = await parent.judge()
    child = Walk(library.log, "child", user="bob")
    await fork(library.log, parent_state, child.id, CommandMeta("user:bob", datetime.now(UTC), "f"))
    assert await library.requests(user="bob") == []
    await child.judge()
    await child.answered("And in Texas?")
    await child.judge(saved=True)
    entries = [(entry.round, entry.request, entry.path) for entry in (await library.page(user="bob")).items]
    assert entries == [(1, "And in Texas?", tools(*PLAIN)), (0, "How many are waiting?", ())]
    assert await library.requests() == ["How many are waiting?"]
    await library.assert_unchanged_by_rebuild()
    await library.client.ask(api.SESSION_PURGE, session_id=parent.id, user="ann")
    assert await library.requests() == []
    assert (await library.requests(user="bob"))[0] == "And in Texas?"
    await library.assert_unchanged_by_rebuild()


async def test_a_purge_deletes_entries_and_proposals(library: Library) -> None:
    await library.add_accepted("Count the orders")
    walk = Walk(library.log)
    await walk.ask("Count the users", proposal=WISH)
    await walk.walk()
    await walk.end("500")
    await walk.judge()
    assert await library.requests() == ["Count the users", "Count the orders"]
    assert (await library.proposals()).total == 1
    await library.client.ask(api.SESSION_PURGE, session_id=walk.id, user="ann")
    assert await library.requests() == ["Count the orders"]
    assert await library.similar("users") == []
    assert (await library.proposals()).total == 0


# --- the list


async def test_the_list_is_paged_and_searched(library: Library) -> None:
    await library.add_accepted("Orders in Texas", "Users in Ohio", "ORDERS of Ümit")
    await library.add_accepted("Saved orders", saved=True)
    await library.add_accepted("His orders", user="bob")
    newest = ["Saved orders", "ORDERS of Ümit", "Users in Ohio", "Orders in Texas"]
    assert await library.requests() == newest
    page = await library.page(limit=2, offset=1)
    assert ([entry.request for entry in page.items], page.total) == (newest[1:3], 4)
    assert await library.requests(saved=True) == newest[:1]
    assert await library.requests(saved=False) == newest[1:]
    assert await library.requests(query="TEXAS orders") == ["Orders in Texas"]
    assert await library.requests(query="ümit") == ["ORDERS of Ümit"]
    assert await library.requests(query="count(*) pending OHIO") == ["Users in Ohio"]
    assert await library.requests(query="o%s") == []


# --- similar entries


async def test_similar_entries_are_ordered_by_common_words_then_by_age(library: Library) -> None:
    # An entry's words include its question, here always "How many orders are pending?".
    await library.add_accepted("Lamps in Texas", "Boots in Texas", "Boots and lamps in Texas", "Boots in Ohio")
    best = ["Boots and lamps in Texas", "Boots in Texas", "Lamps in Texas", "Boots in Ohio"]
    assert await library.similar("The boots, the lamps of Texas!") == best
    assert await library.similar("The boots, the lamps of Texas!", limit=1) == best[:1]
    assert await library.similar("boots boots boots in texas") == [best[0], best[1], best[3], best[2]]
    assert len(await library.similar("PENDING")) == 4
