"""The chaos suite's evidence: how a process ended, and the results of the retail store's effects when replayed."""

from pathlib import Path

import pytest

from chaos.collect import read_effects, read_worlds
from packs.retail.pack import result_of
from packs.retail.store import Worlds
from tests.support.store import STORE

pytest_plugins = ("tests.support.postgres",)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/retail.db"
    postgres_url: str = request.getfixturevalue("postgres_url")
    return postgres_url.replace("postgresql://", "postgresql+asyncpg://", 1)


async def test_replayed_effects_are_compared_with_their_recorded_results(url: str) -> None:
    order = next(name for name, document in STORE["orders"].items() if document["status"] == "pending")
    worlds = Worlds(url, lambda: STORE)
    await worlds.open()
    cancel = {"order_id": order, "reason": "no longer needed"}
    cancelled = result_of(await worlds.world("shared").call("cancel_pending_order", cancel, key="s1/9/9.1"))
    refused = result_of(await worlds.world("shared").call("cancel_pending_order", cancel, key="s1/10/10.1"))
    await worlds.close()
    effects = await read_effects(url)
    current, replayed, results = await read_worlds(url, effects)
    assert current == replayed != {}
    assert results == {"s1/9/9.1": cancelled, "s1/10/10.1": refused}
    assert [effect.result for effect in effects] == [cancelled, refused] != [cancelled, cancelled]
    _, _, only_second = await read_worlds(url, effects[1:])
    assert only_second == {"s1/10/10.1": cancelled}, "the refused call succeeds if it is replayed alone"
