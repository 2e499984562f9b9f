"""Worlds over SQLite (a file, and in memory) and PostgreSQL: copies, idempotency keys, previews, several processes."""

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import create_async_engine

from packs.retail import relations
from packs.retail.records import Data, fingerprint
from packs.retail.store import World, Worlds, WorldsUnavailable, WrongBase
from tests.support.retail import BLUE, CARD, GIFT, NEW_HOME, RED, Shop, small

pytest_plugins = ("tests.support.postgres",)

ROOT = Path(__file__).parents[2]
CANCEL: dict[str, Any] = {"order_id": "#W2", "reason": "no longer needed"}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database that several processes can open."""
    return empty_database_url(request, tmp_path)


def empty_database_url(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == "memory":
        return "sqlite+aiosqlite://"
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{folder}/new/retail.db"
    postgres_url: str = request.getfixturevalue("postgres_url")
    return postgres_url.replace("postgresql://", "postgresql+asyncpg://", 1)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def single_process_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database that one process opens."""
    return empty_database_url(request, tmp_path)


@pytest.fixture
async def worlds(single_process_url: str) -> AsyncIterator[Worlds]:
    worlds = Worlds(single_process_url, small)
    await worlds.open()
    yield worlds
    await worlds.close()


def text(data: Data) -> str:
    """The data as JSON, which also compares the order of documents and fields."""
    return json.dumps([data["users"], data["products"], data["orders"]])


async def test_a_world_begins_as_the_base(worlds: Worlds) -> None:
    world = worlds.world("shared")
    assert text(await world.dump()) == text(small())
    assert await world.changes() == {"users": {}, "products": {}, "orders": {}}
    assert worlds.fingerprint == fingerprint(small())


async def test_calls_give_the_same_results_and_data_as_on_a_dictionary(worlds: Worlds) -> None:
    world, shop = worlds.world("story"), Shop()
    story: list[tuple[str, dict[str, Any]]] = [
        ("find_user_id_by_email", {"email": "ann@example.com"}),
        ("list_all_product_types", {}),
        ("get_product_details", {"product_id": "10"}),
        ("get_product_details", {"product_id": "\ud800\x00"}),
        ("modify_pending_order_payment", {"order_id": "#W2", "payment_method_id": CARD}),
        ("cancel_pending_order", CANCEL),
        ("cancel_pending_order", CANCEL),
        ("modify_user_address", {"user_id": "ann_lee_1", **NEW_HOME, "zip": 5}),
        ("modify_user_address", {"user_id": "bob_ray_3", **NEW_HOME, "city": "\x00\ud800é"}),
        ("find_user_id_by_name_zip", {"first_name": "ann", "last_name": "lee", "zip": 5}),
        ("get_user_details", {"user_id": "ann_lee_1"}),
        ("return_delivered_order_items", {"order_id": "#W4", "item_ids": [RED], "payment_method_id": GIFT}),
        ("get_order_details", {"order_id": "#W4"}),
        ("no_tool", {}),
    ]
    for number, (tool, arguments) in enumerate(story):
        assert await world.call(tool, arguments, key=f"k{number}") == shop.call(tool, **arguments)
    assert text(await world.dump()) == text(shop.data)


async def test_worlds_do_not_see_each_other(worlds: Worlds) -> None:
    world, unchanged = worlds.world("one"), worlds.world("other")
    await world.call("cancel_pending_order", CANCEL)
    assert text(await unchanged.dump()) == text(small())
    changed = await worlds.world("one").changes()
    assert (list(changed["orders"]), list(changed["users"])) == (["#W2"], ["ann_lee_1"])
    assert changed["users"]["ann_lee_1"]["payment_methods"][GIFT]["balance"] == 120.2
    await world.reset()
    assert text(await world.dump()) == text(small())


async def test_a_repeated_idempotency_key_gives_the_first_result(worlds: Worlds) -> None:
    world = worlds.world("w")
    result = await world.call("cancel_pending_order", CANCEL, key="k")
    assert await world.call("cancel_pending_order", dict(reversed(CANCEL.items())), key="k") == result
    assert "non-pending" in await world.call("cancel_pending_order", CANCEL, key="k2")
    assert "non-pending" in await world.call("cancel_pending_order", CANCEL, key="k2")
    for tool, arguments in (("cancel_pending_order", CANCEL | {"order_id": "#W1"}), ("modify_user_address", CANCEL)):
        with pytest.raises(ValueError, match="key k belongs to another call"):
            await world.call(tool, arguments, key="k")
    assert await worlds.world("another").call("cancel_pending_order", CANCEL, key="k") == result
    await world.reset()
    assert await world.call("cancel_pending_order", CANCEL | {"order_id": "#W1"}, key="k") != result


async def test_a_repeated_key_gives_the_first_refusal_again(worlds: Worlds) -> None:
    world = worlds.world("w")
    invalid: dict[str, Any] = {"order_id": "#W1", "item_ids": "\ud800", "new_item_ids": [], "payment_method_id": "x"}
    refusal = await world.call("modify_pending_order_items", invalid, key="k")
    assert refusal == "Error: \ud800 not found"
    await world.call("cancel_pending_order", CANCEL | {"order_id": "#W1"})
    assert await world.call("modify_pending_order_items", invalid, key="k") == refusal


async def test_a_read_with_a_repeated_key_reads_again(worlds: Worlds) -> None:
    world = worlds.world("w")
    before = await world.call("get_order_details", {"order_id": "#W2"}, key="r")
    after = await world.call("cancel_pending_order", CANCEL)
    assert before != after == await world.call("get_order_details", {"order_id": "#W2"}, key="r")


async def test_concurrent_calls_change_an_order_once(worlds: Worlds) -> None:
    world = worlds.world("w")
    same = await asyncio.gather(*(world.call("cancel_pending_order", CANCEL, key="k") for _ in range(8)))
    assert len(set(same)) == 1
    pair: dict[str, Any] = {"order_id": "#W1", "item_ids": [RED], "new_item_ids": [BLUE], "payment_method_id": CARD}
    results = await asyncio.gather(*(world.call("modify_pending_order_items", pair, key=f"m{n}") for n in range(8)))
    assert sorted(result.startswith("Error: non-pending") for result in results) == [False] + [True] * 7
    assert len((await world.dump())["orders"]["#W1"]["payment_history"]) == 2


async def test_a_preview_lists_the_changes_and_makes_none(worlds: Worlds) -> None:
    world = worlds.world("w")
    preview = await world.preview("cancel_pending_order", CANCEL)
    refund = {"transaction_type": "refund", "amount": 20.2, "payment_method_id": GIFT}
    assert (preview.known, preview.error) == (True, "")
    assert [(change.path, change.label, change.before, change.after) for change in preview.changes] == [
        ("orders/#W2/status", "", "pending", "cancelled"),
        ("orders/#W2/payment_history/1", "Refund", None, refund),
        ("orders/#W2/cancel_reason", "", None, "no longer needed"),
        ("users/ann_lee_1/payment_methods/gift_card_1/balance", "", 100, 120.2),
    ]
    assert text(await world.dump()) == text(small())
    refused = await world.preview("cancel_pending_order", CANCEL | {"order_id": "#W5"})
    assert (refused.known, refused.error) == (True, "Error: non-pending order cannot be cancelled")
    read = await world.preview("get_order_details", {"order_id": "#W1"})
    assert (read.known, read.error, read.changes) == (True, "", ())
    assert not (await world.preview("destroy", {})).known


async def test_reopening_keeps_changes_and_refuses_different_base_data(url: str) -> None:
    first = Worlds(url, small)
    await first.open()
    await first.world("shared").call("cancel_pending_order", CANCEL)
    changed = text(await first.world("shared").dump())
    await first.close()

    again = Worlds(url, small)
    await again.open()
    assert text(await again.world("shared").dump()) == changed
    await again.close()

    def without_orders() -> Data:
        return small() | {"orders": {}}

    with pytest.raises(WrongBase, match="another database"):
        await Worlds(url, without_orders).open()


async def _tables(url: str, data: Data | None = None) -> tuple[list[Any], list[Any]]:
    """The stored rows of all tables, and the rows that an empty database would get from `data`."""
    engine = create_async_engine(url)
    async with engine.connect() as connection:
        stored = [sorted(map(tuple, await connection.execute(select(table)))) for table in relations.TABLES]
        if data is not None:
            await connection.run_sync(relations.fill, data)
        created = [sorted(map(tuple, await connection.execute(select(table)))) for table in relations.TABLES]
        await connection.rollback()
    await engine.dispose()
    return stored, created


async def test_the_shared_world_is_also_stored_as_relational_tables(url: str) -> None:
    worlds = Worlds(url, small)
    await worlds.open()
    shared, base = worlds.world("shared"), (await _tables(url, small()))[0]
    assert [len(table) for table in base] == [3, 6, 2, 5, 7, 11, 7]
    story: list[tuple[str, dict[str, Any]]] = [
        ("modify_pending_order_payment", {"order_id": "#W1", "payment_method_id": GIFT}),
        ("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"}),
        ("modify_user_address", {"user_id": "bob_ray_3", **NEW_HOME, "zip": 5, "city": "\x00\ud800"}),
        ("return_delivered_order_items", {"order_id": "#W3", "item_ids": [RED], "payment_method_id": CARD}),
    ]
    pair = {"item_ids": [RED], "new_item_ids": [BLUE], "payment_method_id": GIFT}
    story += [("modify_pending_order_items", {"order_id": "#W2", **pair})]
    story += [("exchange_delivered_order_items", {"order_id": "#W4", **pair})]
    for tool, arguments in story:
        assert not (await shared.call(tool, arguments)).startswith("Error: ")
        await worlds.world("another").call(tool, arguments)
        stored, created = await _tables(url, await shared.dump())
        assert stored == created != base
    await shared.reset()
    assert (await _tables(url))[0] == base
    await worlds.close()


async def test_data_with_a_dangling_reference_are_refused_and_leave_nothing_behind(url: str) -> None:
    def broken() -> Data:
        data = small()
        data["orders"]["#W1"]["user_id"] = "nobody"
        return data

    with pytest.raises(WrongBase, match="not among them"):
        await Worlds(url, broken).open()
    worlds = Worlds(url, small)
    await worlds.open()
    await worlds.close()


async def test_a_world_needs_a_name_and_an_open_database() -> None:
    worlds = Worlds("sqlite+aiosqlite://", small)
    with pytest.raises(RuntimeError, match="open"):
        worlds.world("w")
    await worlds.open()
    for name in ("", "x" * 201):
        with pytest.raises(ValueError, match="name"):
            worlds.world(name)
    await worlds.close()


async def test_a_database_failure_raises_instead_of_becoming_a_tool_result(tmp_path: Path) -> None:
    with pytest.raises(WorldsUnavailable):
        await Worlds("postgresql+asyncpg://parley@127.0.0.1:9/none", small).open()
    worlds = Worlds(f"sqlite+aiosqlite:///{tmp_path}/retail.db", small)
    await worlds.open()
    with closing(sqlite3.connect(tmp_path / "retail.db")) as connection:
        connection.execute("DROP TABLE retail_documents")
    for tool, arguments in (("get_order_details", {"order_id": "#W1"}), ("cancel_pending_order", CANCEL)):
        with pytest.raises(WorldsUnavailable):
            await worlds.world("w").call(tool, arguments, key="k")
    await worlds.close()


async def test_a_cancelled_call_changes_order_and_customer_together_or_not_at_all(worlds: Worlds) -> None:
    world = worlds.world("w")
    for pauses in range(30):
        call = asyncio.create_task(world.call("cancel_pending_order", CANCEL, key="k"))
        for _ in range(pauses):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await _consistent_balance(world)
    await world.call("cancel_pending_order", CANCEL, key="k")
    assert await _consistent_balance(world) == 120.2


async def _consistent_balance(world: World) -> Any:
    """The customer's balance, after a check that order and customer changed together or not at all."""
    data = await world.dump()
    balance = data["users"]["ann_lee_1"]["payment_methods"][GIFT]["balance"]
    assert (data["orders"]["#W2"]["status"], balance) in (("pending", 100), ("cancelled", 120.2))
    return balance


PROGRAM = """
import asyncio, sys
from packs.retail.store import Worlds
from tests.support.retail import *

async def write(worlds, writer):
    world = worlds.world("shared")
    for n in range(20):
        key = f"{n}"
        order = ["#W2", "#W6"][n % 2]
        await world.call("modify_pending_order_address", {"order_id": order, **NEW_HOME, "city": key}, key=key)
    results = []
    for tool, arguments in (("modify_pending_order_payment", {"payment_method_id": GIFT}),
                            ("cancel_pending_order", {"reason": "no longer needed"})):
        results.append(await world.call(tool, {"order_id": "#W1", **arguments}, key=f"{tool} {writer}"))
    return sum(not result.startswith("Error: ") for result in results)

async def main(url, *names):
    writers = [Worlds(url, small) for _ in names]
    await asyncio.gather(*(worlds.open() for worlds in writers))
    print("open", flush=True)
    sys.stdin.readline()
    print(sum(await asyncio.gather(*map(write, writers, names))), flush=True)
    for worlds in writers:
        await worlds.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_several_processes_open_and_write_at_once(url: str) -> None:
    """Two processes have two writers each, because starting a process takes longer than all its writes."""
    pipe = asyncio.subprocess.PIPE
    start = [
        asyncio.create_subprocess_exec(sys.executable, "-c", PROGRAM, url, *names, stdin=pipe, stdout=pipe, cwd=ROOT)
        for names in ("ab", "cd")
    ]
    programs = await asyncio.gather(*start)
    for program in programs:
        assert program.stdout is not None
        assert await program.stdout.readline() == b"open\n"
    outputs = await asyncio.gather(*(program.communicate(b"\n") for program in programs))
    assert [program.returncode for program in programs] == [0, 0]
    assert 1 <= sum(int(out) for out, _ in outputs) <= 2, (
        "either a payment and then a cancellation, or only a cancellation"
    )

    worlds = Worlds(url, small)
    await worlds.open()
    data = await worlds.world("shared").dump()
    await worlds.close()
    order = data["orders"]["#W1"]
    assert order["status"] == "cancelled"
    assert len(order["payment_history"]) in (2, 6)
    # Whether or not the gift card paid first, its balance is the original one: each payment is refunded once.
    assert data["users"]["ann_lee_1"]["payment_methods"][GIFT]["balance"] == 100
    assert data["orders"]["#W6"]["address"]["city"] == "19"
