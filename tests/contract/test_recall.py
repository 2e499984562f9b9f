"""How recall stores and searches the outcomes of requests, on SQLite and on PostgreSQL."""

import random
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select, text

from parley.events.values import Check, SessionSettings
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.handlers import RequestHandlers
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.projection.projector import Projector
from shared import store_api as api
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.log import fork
from shared.story import finish_action
from shared.testing import InMemoryLog
from tests.contract.test_plan_store_requests import Client
from tests.support.plan_store import rows
from tests.support.stories import STEPS, Conversation, approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


@pytest.fixture
def client(log: InMemoryLog, database: ProjectionDatabase, projector: Projector) -> Client:
    return Client(RequestHandlers(log, database, projector).responders())


class ProjectedSessions:
    """Creates sessions with answered requests and projects their events into the database."""

    def __init__(self, log: InMemoryLog, projector: Projector) -> None:
        self.log, self._projector = log, projector

    async def request(
        self, words: str, answer: str = "Done.", *, session_id: str = "", user: str = "ann"
    ) -> Conversation:
        story = Conversation(self.log, session_id, user)
        await story.commit(c.Say(text=words, workflow="agentflow"))
        await self.answer(story, answer)
        return story

    async def answer(self, story: Conversation, answer: str) -> None:
        empty_turn = c.PlanTurn(sub_goal="answer", actions=(), reasoning="it is known")
        await story.commit(empty_turn, c.GiveAnswer(text=answer, confidence=1))
        await self.project(story)

    async def project(self, story: Conversation) -> None:
        await self._projector.load(story.id)


@pytest.fixture
def shop(log: InMemoryLog, projector: Projector) -> ProjectedSessions:
    return ProjectedSessions(log, projector)


async def search(client: Client, query: str, **fields: Any) -> list[str]:
    memories = await client.ask(api.MEMORY_RECALL, **{"user": "ann", "query": query} | fields)
    return [item.request for item in memories.items]


async def listed_memories(client: Client, **fields: Any) -> list[tuple[int, str, str]]:
    page = await client.ask(api.MEMORY_LIST, **{"user": "ann"} | fields)
    return [(item.round, item.request, item.outcome) for item in page.items]


# --- which requests become memories


async def test_a_request_becomes_a_memory_when_it_ends(client: Client, shop: ProjectedSessions) -> None:
    story = Conversation(shop.log)
    await story.commit(c.Say(text="Where is my parcel?", workflow="agentflow"))
    await shop.project(story)
    assert await listed_memories(client) == []
    await shop.answer(story, "In the post.")
    assert await listed_memories(client) == [(1, "Where is my parcel?", "answered: In the post.")]
    await story.commit(c.Say(text="And the boots?", settings=SessionSettings(max_turns=6)))
    await story.commit(c.Stop())
    await shop.project(story)
    assert await listed_memories(client) == [
        (2, "And the boots?", "stopped"),
        (1, "Where is my parcel?", "answered: In the post."),
    ]
    await story.commit(c.Say(text="The lamp, then", settings=SessionSettings(max_turns=7)))
    await story.commit(c.Fail(reason="The model is away."))
    await shop.project(story)
    assert (await listed_memories(client))[0] == (3, "The lamp, then", "failed: The model is away.")
    await story.commit(c.Retry())
    await shop.answer(story, "It is on its way.")
    assert (await listed_memories(client))[0] == (3, "The lamp, then", "answered: It is on its way.")
    page = await client.ask(api.MEMORY_LIST, user="ann")
    assert (page.total, [item.version for item in page.items][-1]) == (3, 1)


async def test_requests_made_with_recall_off_are_not_stored(client: Client, shop: ProjectedSessions) -> None:
    session = Conversation(shop.log)
    await session.commit(c.Say(text="A rehearsed wish", workflow="agentflow", settings=SessionSettings(recall=False)))
    await shop.answer(session, "Rehearsed.")
    await shop.request("A real wish")
    assert await listed_memories(client) == [(1, "A real wish", "answered: Done.")]
    await session.commit(c.Say(text="Now for good", settings=SessionSettings()))
    await shop.answer(session, "Done for good.")
    assert (await listed_memories(client))[0][1:] == ("Now for good", "answered: Done for good.")


async def test_approved_code_is_the_outcome_of_a_request(client: Client, shop: ProjectedSessions) -> None:
    story = Conversation(shop.log)
    await story.plan("Write a clock", goal="A clock")
    await story.commit(approve)
    await story.commit(c.DraftCode(code="print(1)\n"), c.VerifyCode(checks=(Check(name="tests", ok=True),)))
    await story.commit(approve)
    await shop.project(story)
    assert await listed_memories(client) == [(1, "Write a clock", "code approved for the plan: A clock")]


async def test_the_answer_to_the_question_what_comes_next_is_a_request(client: Client, shop: ProjectedSessions) -> None:
    story = Conversation(shop.log)
    await story.plan("Write a clock", goal="A clock")
    await story.commit(approve)
    await story.commit(c.DraftCode(code="print(1)\n"), c.VerifyCode(checks=(Check(name="tests", ok=True),)))
    await story.commit(approve)
    await story.commit(c.Continue(), c.Stop(), c.Continue(), c.Answer(text="A lamp"), c.Stop())
    await shop.project(story)
    assert await listed_memories(client) == [
        (2, "A lamp", "stopped"),
        (1, "Write a clock", "code approved for the plan: A clock"),
    ]


async def test_the_lesson_is_the_reasoning_of_the_last_failed_turn(client: Client, shop: ProjectedSessions) -> None:
    story = Conversation(shop.log)
    await story.commit(c.Say(text="Cancel everything", workflow="agentflow"))
    for action_id, status, next_action, why in (
        ("1.1", "failure", "retry", "The order was shipped already."),
        ("2.1", "success", "complete", "Returned instead."),
    ):
        actions = [{"id": action_id, "tool": "x"}]
        await story.commit(c.PlanTurn.model_validate({"sub_goal": "cancel", "actions": actions}))
        await story.commit(c.Start(), finish_action(action_id))
        await story.commit(
            c.VerifyTurn.model_validate({"status": status, "next_action": next_action, "reasoning": why})
        )
    await story.commit(c.GiveAnswer(text="They are returned.", confidence=1))
    await shop.project(story)
    page = await client.ask(api.MEMORY_LIST, user="ann")
    assert [item.lesson for item in page.items] == ["cancel: The order was shipped already."]
    assert await search(client, "shipped") == ["Cancel everything"]


async def test_a_fork_does_not_store_its_parents_requests(
    client: Client, shop: ProjectedSessions, database: ProjectionDatabase
) -> None:
    parent = Conversation(shop.log)
    await parent.plan("Write a calculator")
    await parent.commit(c.Say(text="With floats"))
    parent_state = await parent.commit(c.DraftPlan(goal="floats", steps=STEPS))
    child = Conversation(shop.log, "child")
    await fork(shop.log, parent_state, child.id, CommandMeta("user:ann", datetime.now(UTC), "f"))
    await child.commit(approve)
    await child.commit(c.Stop())
    await shop.project(child)
    assert await listed_memories(client) == []
    await child.commit(c.Say(text="Now a clock", workflow="agentflow"))
    await shop.answer(child, "Tick.")
    assert await listed_memories(client) == [(1, "Now a clock", "answered: Tick.")]
    await rebuild_from(shop.log, database, lambda *_: None)
    assert await listed_memories(client, query="clock") == [(1, "Now a clock", "answered: Tick.")]


async def test_a_rebuild_gives_the_same_memories_and_a_purge_deletes_them(
    client: Client, shop: ProjectedSessions, database: ProjectionDatabase
) -> None:
    for n in range(4):
        story = await shop.request(f"Return boots {n}", "Returned.", session_id=f"s{n}")
        await story.commit(c.Say(text="Thanks, and the lamp?"))
        await shop.answer(story, "That too.")
    before = await rows(database)
    assert len(before["memories"]) == 8
    await rebuild_from(shop.log, database, lambda *_: None)
    assert await rows(database) == before
    assert set(await search(client, "boots", limit=10)) == {f"Return boots {n}" for n in range(4)}
    await client.ask(api.SESSION_PURGE, session_id="s1", user="ann")
    assert set(await search(client, "boots", limit=10)) == {f"Return boots {n}" for n in (0, 2, 3)}
    assert await search(client, "lamp", limit=10) == ["Thanks, and the lamp?"] * 3
    if database.is_sqlite:
        async with database.begin() as tx:  # raises if the index and the rows differ
            await tx.execute(text("INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)"))


# --- search


async def test_a_users_own_requests_are_ranked_by_match(client: Client, shop: ProjectedSessions) -> None:
    await shop.request("Return the hiking boots", "The boots are returned to your card.")
    await shop.request("Cancel the lamp", "The order is cancelled.")
    await shop.request("Where is my order?", "Hiking boots: on their way.")
    await shop.request("Return hiking boots, boots and boots", user="bob")
    current = await shop.request("Hiking boots again", session_id="here")
    assert await search(client, "I want to return my hiking boots", exclude=current.id) == [
        "Return the hiking boots",
        "Where is my order?",
    ]
    assert len(await search(client, "hiking boots")) == 3
    assert await search(client, "hiking boots", limit=1, exclude=current.id) == ["Return the hiking boots"]
    assert await search(client, "hiking", user="eve") == []


async def test_common_words_do_not_match(client: Client, shop: ProjectedSessions) -> None:
    await shop.request("What is it that I should do with the other of them?")
    await shop.request("Zeppelin rides")
    assert await search(client, "What should I do with the other zeppelin?") == ["Zeppelin rides"]
    assert await search(client, "the and of what is") == []


async def test_inflected_forms_of_a_word_match(client: Client, shop: ProjectedSessions) -> None:
    await shop.request("I returned two orders")
    assert await search(client, "returning an order") == ["I returned two orders"]


async def test_recall_adds_the_newest_requests_after_the_matches(client: Client, shop: ProjectedSessions) -> None:
    for request in ("Return boots", "A lamp", "A chair"):
        await shop.request(request)
    memories = (await client.ask(api.MEMORY_RECALL, user="ann", query="boots", recent=2)).items
    assert [(memory.request, memory.score > 0) for memory in memories] == [
        ("Return boots", True),
        ("A chair", False),
        ("A lamp", False),
    ]
    memories = (await client.ask(api.MEMORY_RECALL, user="ann", query="boots", recent=3)).items
    assert [memory.request for memory in memories] == ["Return boots", "A chair", "A lamp"]


HOSTILE = {
    "quotes": "say \"boots\" and 'boots'",
    "operators": "boots OR NOT AND NEAR(boots lamp, 5) boots*",
    "columns": "words:boots memories_fts:x {words} : boots ^boots -boots +boots",
    "tsquery": "boots & | ! <-> <2> ( ) :* 'boots' \\'boots boots:*AB",
    "sql": "'; DROP TABLE memories; -- boots",
    "nul": "boots\x00boots boots",
    "unicode": "boots \U0001f97e \u202e ½ ² Ⅷ e\u0301 ffl \ud7ff",
    "percent": "%_ boots %s :words $1 ? {0}",
    "long": "boots " + "x" * 4_990,
    "many": "boots " + " ".join(f"w{n}" for n in range(800)),
}


async def test_any_text_can_be_searched_for(client: Client, shop: ProjectedSessions) -> None:
    await shop.request("Return my boots")
    for name, query in HOSTILE.items():
        assert await search(client, query) == ["Return my boots"], name
        assert (await client.ask(api.MEMORY_LIST, user="ann", query=query)).total in (0, 1), name


async def test_any_text_is_stored_and_matches_itself(
    client: Client, shop: ProjectedSessions, database: ProjectionDatabase
) -> None:
    for name, hostile in HOSTILE.items():
        await shop.request(hostile, hostile, user=name)
        await shop.request("A chair", user=name)
        assert len(await search(client, hostile, user=name)) == 1, name
    before = await rows(database)
    await rebuild_from(shop.log, database, lambda *_: None)
    assert await rows(database) == before


async def test_a_query_without_searchable_words_matches_nothing(client: Client, shop: ProjectedSessions) -> None:
    await shop.request("Return my boots")
    for empty in ("", "   ", "\x00", "?!…", '""', "*", "🥾", "the"):
        assert await search(client, empty) == []
        assert await search(client, empty, recent=5) == ["Return my boots"]
        assert len(await listed_memories(client, query=empty)) == 1


async def test_words_of_other_scripts_match(client: Client, shop: ProjectedSessions) -> None:
    queries = {
        "计算": "写一个计算器",
        "STRASSE": "Eine Straße zeichnen",
        "CAFÉ": "Un café crème",
        "сапоги": "Верните сапоги",
        "ございます": "おはようございます",
        "abc123": "full width: ＡＢＣ１２３",
    }
    for request in (*queries.values(), "Return my boots"):
        await shop.request(request)
    for query, request in queries.items():
        assert await search(client, query) == [request]


async def test_random_query_syntax_raises_no_error(client: Client, shop: ProjectedSessions) -> None:
    """Searches for random sequences of query syntax."""
    await shop.request("Return my boots")
    parts = [*"\"'()*:^-\\&|!é", "boots", "AND", "OR", "NOT", "NEAR", "<->"]
    for seed in range(60):
        generator = random.Random(seed)
        query = generator.choice(["", " "]).join(generator.choices(parts, k=generator.randint(1, 40)))
        await search(client, query)
        await listed_memories(client, query=query)


# --- the list


async def test_the_list_is_paged_and_searched(client: Client, shop: ProjectedSessions) -> None:
    for n in range(5):
        await shop.request(f"Return boots {n}")
    await shop.request("Return boots of his", user="bob")
    page = await client.ask(api.MEMORY_LIST, user="ann", limit=2, offset=1)
    assert ([item.request for item in page.items], page.total) == (["Return boots 3", "Return boots 2"], 5)
    page = await client.ask(api.MEMORY_LIST, user="ann", query="boots 3")
    assert ([item.request for item in page.items], page.total) == (["Return boots 3"], 1)
    page = await client.ask(api.MEMORY_LIST, user="ann", query="boots", limit=2)
    assert ([item.request for item in page.items], page.total) == (["Return boots 4", "Return boots 3"], 5)


async def test_the_store_keeps_a_bounded_part_of_long_texts(
    client: Client, shop: ProjectedSessions, database: ProjectionDatabase
) -> None:
    await shop.request("boots " * 8_000, "y " * 20_000)
    memory = (await client.ask(api.MEMORY_LIST, user="ann")).items[0]
    assert (len(memory.request), len(memory.outcome)) == (2_000, 2_000)
    async with database.begin() as tx:
        assert len((await tx.scalar(select(t.memories.c.search_words))) or "") <= 5_000


async def test_searching_a_session_with_8000_requests_is_fast(
    client: Client, shop: ProjectedSessions, database: ProjectionDatabase
) -> None:
    """The search must not count the earlier requests of every match, which takes quadratic time."""
    story = await shop.request("Where are my boots?")
    async with database.begin() as tx:
        first = dict((await tx.execute(select(t.memories))).mappings().one())
        later = [first | {"position": first["position"] + number} for number in range(1, 8_000)]
        await tx.execute(t.memories.insert(), later)
    began = time.perf_counter()
    best = await client.ask(api.MEMORY_RECALL, user="ann", query="boots", limit=5)
    newest = await client.ask(api.MEMORY_LIST, user="ann", limit=5)
    seconds = time.perf_counter() - began
    assert {item.session_id for item in (*best.items, *newest.items)} == {story.id}
    assert [item.round for item in newest.items] == list(range(8_000, 7_995, -1))
    assert seconds < 30
