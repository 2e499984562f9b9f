"""The bench of Parley's own cost runs: with a few of each, and without a look at its times."""

from pathlib import Path

import pytest

from bench.overhead import pipeline, tables
from bench.overhead.conversation import EXCHANGE, played
from bench.overhead.growth import growth
from bench.overhead.person import Played, stages
from shared.domain.session import Session


def test_the_conversation_comes_to_its_end_as_often_as_it_is_held() -> None:
    session, lines = played(2)
    assert isinstance(session, Session)
    assert (session.phase, session.version, len(session.rounds)) == ("resting", 2 * EXCHANGE, 1)
    assert [line.due for line in lines if line.due not in ("user", "nobody")] == [
        "planner",
        "generator",
        "verifier",
    ] * 2
    assert b"another-id" in lines[0].told("another-id")


def test_a_stage_is_from_what_makes_it_due_to_its_own_appends() -> None:
    lines = played()[1]
    times = [f"2026-11-21T10:00:00.{100 * number:06}789Z" for number in range(len(lines))]
    found = list(stages(lines, times))
    assert [one.service for one in found] == ["planner", "generator", "verifier"]
    assert [round(one.first, 6) for one in found] == [0.1] * 3
    assert [round(one.whole, 6) for one in found] == [0.2] * 3


@pytest.mark.long
@pytest.mark.timeout(180)  # four processes and a server, three times
async def test_conversations_through_the_services_and_through_bare_nats(tmp_path: Path) -> None:
    (bare,) = await pipeline.runs(tmp_path / "bare", "bare", always=True, plan={2: 4})
    (grown,) = await growth(tmp_path / "grown", (2,), 2)
    assert [len(stages) for stages in (bare.played.stages, grown.stages)] == [3 * 4, 3 * 2]
    assert bare.cpu.keys() == {"nats", "plan_store", "planner", "generator", "verifier", "person"}
    mine = pipeline.Run(1, 2, Played(grown.stages, seconds=1), bare.cpu)
    assert tables.per_stage([mine], [bare]).count("\n") == 2 + 2 * 4
    assert "| 1 | 2 |" in tables.throughput([mine], [bare])
    assert tables.grown([grown]).splitlines()[2].startswith("| 2 | ")


def test_tables_are_put_where_their_marks_are(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("before\n<!-- overhead -->\nold\n<!-- /overhead -->\nafter\n")
    tables.put(document, "overhead", "new\n")
    assert document.read_text() == "before\n<!-- overhead -->\nnew\n<!-- /overhead -->\nafter\n"
    with pytest.raises(ValueError, match="elsewhere"):
        tables.put(document, "elsewhere", "new\n")
