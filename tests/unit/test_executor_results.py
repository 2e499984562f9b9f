"""What a session holds of its results, and what is kept beside the log."""

from dataclasses import replace

import pytest

from tests.unit.test_executor import Bench, act, gives, tool


async def test_what_a_session_cannot_hold_besides_the_rest_is_kept_beside_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("services.executor.keeping.MOST_RESULTS", 1_000)
    held = replace(act("talk"), status="finished", result="x" * 400)
    more = tuple(act("talk", number) for number in (2, 3))
    bench = Bench(held, *more, tools=(tool("talk", gives("y" * 500)),))
    await bench.run()
    first, second = sorted((bench.outcomes()[name] for name in ("1.2", "1.3")), key=lambda one: one.size or 0)
    assert (first.result, first.size) == ("y" * 500, None)
    assert (second.result, second.size) == ("y" * 200 + "…", 500)
    assert [body.decode() for body in bench.shelf.kept.values()] == ["y" * 500]
