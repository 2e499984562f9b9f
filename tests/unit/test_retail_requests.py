"""The 180 retail requests in plain English: the expected writes and the expected words in the answer are right.

The writes succeed in a fresh world, on records of the customer who makes the request. The words occur in the
customer's documents or in the catalogue, or are computed from them.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from packs.retail.specs import SPECS
from packs.retail.store import World, Worlds
from tests.support.store import STORE

REQUESTS = Path(__file__).parents[1] / "requests"
KEYS = ["id", "q", "replies", "agt", "ogt", "outcome", "kind", "set"]
KINDS = {"cancel": 12, "return": 12, "exchange": 12, "modify_items": 12, "payment": 10, "address": 10, "lookup": 15}
KINDS |= {"several": 10, "forbidden": 4, "human": 2, "ask": 1}
WRITES = {spec.name for spec in SPECS if spec.effect == "write"}
MORE_KINDS = {"cancel": 8, "return": 8, "exchange": 8, "modify_items": 8, "payment": 7, "address": 7, "lookup": 15}
MORE_KINDS |= {"several": 8, "forbidden": 6, "human": 1, "ask": 4}
COMPUTED = {"87.86": "44.71 + 43.15", "19.2": "289.03 - 269.83", "97.82": "46.02 + 51.8"}
COMPUTED |= {"100.58": "54.56 + 46.02", "118.62": "36.35 + 82.27"}


def read(name: str) -> list[Any]:
    return [json.loads(line) for line in (REQUESTS / f"retail_{name}.jsonl").read_text(encoding="utf-8").splitlines()]


USERS: dict[str, dict[str, Any]] = STORE["users"]
OPEN, HELD, MORE = read("open"), read("held"), read("more")
HUNDRED = sorted(OPEN + HELD, key=lambda request: str(request["id"]))
ALL = HUNDRED + MORE


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worlds() -> AsyncIterator[Worlds]:
    worlds = Worlds("sqlite+aiosqlite://", lambda: STORE)
    await worlds.open()
    yield worlds
    await worlds.close()


def owner(request: Any) -> tuple[str, dict[str, Any]]:
    """The id and document of the customer that the request or its replies identify, by e-mail or by name and zip."""
    text = " ".join([request["q"], *request["replies"]]).lower()
    matches = []
    for user_id, user in USERS.items():
        name = " ".join(user["name"].values()).lower()
        if user["email"] in text or (name in text and user["address"]["zip"] in text):
            matches.append((user_id, user))
    assert len(matches) == 1
    return matches[0]


async def replay(world: World, request: Any) -> list[str]:
    return [await world.call(step["name"], step["arguments"]) for step in request["agt"]]


def test_the_request_sets_match_their_description() -> None:
    assert [request["id"] for request in HUNDRED] == [f"r{number:03}" for number in range(1, 101)]
    assert [request["id"] for request in MORE] == [f"m{number:03}" for number in range(1, 81)]
    assert all(list(request) == KEYS and request["q"].isascii() for request in ALL)
    assert len({request["q"] for request in ALL}) == 180
    assert Counter(request["kind"] for request in HUNDRED) == KINDS
    assert Counter(request["kind"] for request in MORE) == MORE_KINDS
    assert (len(OPEN), len(HELD)) == (40, 60)
    for name, requests in {"open": OPEN, "held": HELD, "more": MORE}.items():
        assert {request["set"] for request in requests} == {name}
    assert {request["kind"] for request in OPEN} >= KINDS.keys() - {"ask"}


@pytest.mark.parametrize("requests", [HUNDRED, MORE], ids=["hundred", "more"])
def test_only_requests_with_outcome_done_expect_writes(requests: list[Any]) -> None:
    assert {request["outcome"] for request in requests} == {"done", "refused", "human"}
    assert all(
        request["agt"] == [] for request in requests if request["outcome"] != "done" or request["kind"] == "lookup"
    )
    assert all(request["agt"] or request["ogt"] for request in requests if request["outcome"] == "done")
    assert {step["name"] for request in requests for step in request["agt"]} == WRITES


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("request_", ALL, ids=lambda request: str(request["id"]))
async def test_the_expected_writes_succeed_on_records_of_the_customer(worlds: Worlds, request_: Any) -> None:
    world, (user_id, user) = worlds.world(request_["id"]), owner(request_)
    results = await replay(world, request_)
    assert [result for result in results if result.startswith(("Error", "Unknown"))] == []
    for arguments in (step["arguments"] for step in request_["agt"]):
        assert arguments.get("user_id", user_id) == user_id
        assert arguments.get("order_id") in [*user["orders"], None]
        assert arguments.get("payment_method_id") in [*user["payment_methods"], None]
    changed = await world.changes()
    assert bool(changed["orders"] or changed["users"]) == bool(request_["agt"])


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "request_", [request for request in ALL if request["ogt"]], ids=lambda request: str(request["id"])
)
async def test_the_expected_words_of_the_answer_are_true(worlds: Worlds, request_: Any) -> None:
    world, (user_id, user) = worlds.world(f"{request_['id']} said"), owner(request_)
    await replay(world, request_)
    data = await world.dump()
    orders = [data["orders"][order_id] for order_id in user["orders"]]
    visible = json.dumps([data["users"][user_id], orders, data["products"]])
    for words in request_["ogt"]:
        if words not in visible:
            assert words == str(round(float(await world.call("calculate", {"expression": COMPUTED[words]})), 2))
            assert all(operand in visible for operand in COMPUTED[words].split(" ")[::2])
