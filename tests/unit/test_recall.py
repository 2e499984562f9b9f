"""Recall: which earlier outcomes the planner gets, and that a failing recall never stops a plan."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from parley.events.values import SessionSettings
from services.planner.recall import rank, recall, recalls_now
from shared.domain.kernel.session import Session, with_counts, with_words
from shared.domain.transcript.memory import Memory
from shared.llm.embeddings import Embeddings
from shared.settings import Settings
from shared.store import StoreUnavailable
from shared.store_api import MemoryRecord


def record(request: str, outcome: str = "answered: done", lesson: str = "", score: float = 1.0) -> MemoryRecord:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return MemoryRecord(
        session_id="s1", round=1, version=1, request=request, outcome=outcome, lesson=lesson, at=at, score=score
    )


BOOTS = record("Return the hiking boots of my order")
LAMP = record("Which desk lamps do you have?", score=0.2)
PHONE = record("My new telephone is broken", score=0)
OFF = Embeddings(Settings(parley_embedding_model=""))


class Store:
    """A store that answers with these records, or raises this exception."""

    def __init__(self, *records: MemoryRecord, fails: Exception | None = None, answers: Any = None) -> None:
        self._answers = answers or {"items": [record.model_dump(mode="json") for record in records]}
        self._fails = fails
        self.requests: list[dict[str, Any]] = []

    async def ask(self, verb: str, **arguments: Any) -> Any:
        self.requests.append({"verb": verb} | arguments)
        if self._fails:
            raise self._fails
        return self._answers


def beginning(request: str = "I want to return hiking boots", **changes: Any) -> Session:
    return replace(
        with_counts(with_words(Session("now"), request=request), turns=2, turns_before=2), owner="ann", **changes
    )


# --- ranking


def test_without_vectors_records_with_shared_words_keep_the_order_of_the_store() -> None:
    boots = record("Returning the boots I bought for hiking", score=0.5)
    assert rank("I want to return hiking boots", [BOOTS, LAMP, boots, PHONE], None) == [BOOTS, boots]


@pytest.mark.parametrize(
    ("request_", "memory", "is_recalled"),
    [
        # They share only the common word "order".
        ("Cancel my order of a lamp", "Exchange the boots in my order", False),
        ("Cancel order 4711", "What about order 4711?", True),
        ("Help", "Help", True),
        ("写一个计算器", "请写一个计算器程序", True),
        ("写一个计算器", "今天天气怎么样", False),
        ("", "Return the boots", False),
        ("?!", "?!", False),
    ],
)
def test_a_shared_common_word_is_not_enough(request_: str, memory: str, is_recalled: bool) -> None:
    assert bool(rank(request_, [record(memory)], None)) is is_recalled


def test_with_vectors_records_rank_by_similarity_and_unrelated_ones_are_left_out() -> None:
    request, unrelated = [1.0, 0.0], [0.5, math.sqrt(0.75)]
    at_threshold = [2 / 3, math.sqrt(1 - 4 / 9)]  # a third of the way from 0.5 to 1
    vectors = [request, unrelated, [0.6, 0.8], at_threshold, [0.9, 0.43]]
    assert rank("a handset does not work", [LAMP, BOOTS, PHONE], vectors) == [PHONE, BOOTS]


# --- recalling from the store


async def test_the_first_turn_of_a_request_recalls_at_most_three() -> None:
    store = Store(*[record(f"Return hiking boots number {n}", "x" * 2_000, "y" * 600) for n in range(5)])
    result = await recall(store, OFF, beginning())
    assert [item.request for item in result] == [f"Return hiking boots number {n}" for n in range(3)]
    assert [(len(item.outcome), len(item.lesson)) for item in result] == [(500, 500)] * 3
    expected = {"user": "ann", "query": "I want to return hiking boots", "exclude": "now", "limit": 5, "recent": 0}
    expected["subject"] = ""
    assert store.requests == [{"verb": "memory.recall"} | expected]


async def test_no_recall_if_switched_off() -> None:
    store = Store(BOOTS)
    assert await recall(store, OFF, beginning(settings=SessionSettings(recall=False))) == ()
    assert store.requests == []


def test_a_later_turn_recalls_once_the_subject_is_known() -> None:
    later = with_counts(beginning(), turns=3)
    known = replace(later, subject="retail:ann", subjects="possible")
    recalled = replace(known, memory=Memory(recalled_for="retail:ann"))
    several = replace(known, subjects="several")
    assert [recalls_now(session) for session in (beginning(), later, known, recalled, several)] == [
        True,
        False,
        True,
        False,
        False,
    ]


async def test_recall_is_for_the_subject_and_repeats_nothing() -> None:
    lamp = record("Return the lamp I want", "done")
    first = await recall(Store(BOOTS), OFF, beginning())
    session = replace(beginning(), subject="retail:ann", subjects="possible", memory=Memory(recalled=first))
    store = Store(BOOTS, lamp)
    assert [memory.request for memory in await recall(store, OFF, session)] == [lamp.request]
    assert store.requests[0]["subject"] == "retail:ann"


@pytest.mark.parametrize(
    "store",
    [
        Store(fails=StoreUnavailable("away")),
        Store(fails=RuntimeError("odd")),
        Store(answers={"items": "no list"}),
        Store(answers=[1]),
    ],
)
async def test_a_failing_recall_gives_no_records(store: Store) -> None:
    assert await recall(store, OFF, beginning()) == ()
    assert len(store.requests) == 1


# --- with embeddings


def embeddings(respond: Any, **settings: Any) -> Embeddings:
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(respond))
    expected = {"openai_base_url": "http://model.test/v1", "parley_embedding_model": "vectors"} | settings
    return Embeddings(Settings(**expected), client)


def vectors(*rows: Sequence[float]) -> httpx2.Response:
    data = [{"object": "embedding", "index": n, "embedding": list(row)} for n, row in enumerate(rows)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return httpx2.Response(200, json={"object": "list", "model": "vectors", "data": data[::-1], "usage": usage})


async def test_the_newest_records_are_compared_by_meaning() -> None:
    store = Store(LAMP, PHONE)
    client = embeddings(lambda _: vectors((1, 0), (0, 1), (0.1, 1), (1, 0.1)))
    result = await recall(store, client, beginning("The handset I bought does not work"))
    assert [item.request for item in result] == [PHONE.request]
    assert store.requests[0]["recent"] == 20


async def test_without_an_embeddings_endpoint_records_are_compared_by_words() -> None:
    result = await recall(Store(BOOTS, LAMP), embeddings(lambda _: httpx2.Response(404)), beginning())
    assert [item.request for item in result] == [BOOTS.request]
