"""The bench of Parley's own cost runs: with a few of each, and without a look at its times."""

from pathlib import Path

import pytest

from bench.overhead import pipeline, recording, tables, world
from bench.overhead.growth import growth
from bench.overhead.kinds import CONVERSATION, KINDS
from bench.overhead.lines import ID, Line, Lines, load, save, stage
from bench.overhead.person import Played, stages

LINES: Lines = (
    Line(f"user:{ID}", "planner", "message.received", b'{"session_id": "the-session-at-hand"}'),
    Line("planner", "nobody", "usage.recorded", b"{}"),
    Line("planner", "executor", "turn.planned", b"{}"),
    Line("executor", "nobody", "actions.started", b"{}"),
    Line("executor", "executor", "actions.finished", b"{}"),
    Line("executor", "user", "question.asked", b"{}"),
    Line(f"user:{ID}", "generator", "question.answered", b"{}"),
    Line("generator", "nobody", "answer.given", b"{}"),
)
STAGES = {  # of each kind of session, in order
    "conversation": ["planner", "generator", "verifier"],
    "look-up": [*["planner", "executor", "verifier"] * 3, "generator"],
    "write": [*["planner", "executor", "verifier"] * 3, "generator"],
    "question": ["planner", *["executor"] * 11, "verifier", "generator"],
}


def test_a_stage_is_from_what_makes_it_due_to_the_end_of_its_turn(tmp_path: Path) -> None:
    assert LINES[0].body_of("another-id") == b'{"session_id": "another-id"}'
    assert [len(stage(LINES, number)) for number in (0, 2, 4, 6)] == [2, 2, 1, 1]
    times = [f"2026-11-21T10:00:00.{100 * number:06}789Z" for number in range(len(LINES))]
    found = list(stages(LINES, times))
    assert [one.service for one in found] == ["planner", "executor", "executor", "generator"]
    assert [round(one.first, 6) for one in found] == [0.1] * 4
    assert [round(one.whole, 6) for one in found] == [0.2, 0.2, 0.1, 0.1]
    save(LINES, tmp_path / "lines.json")
    assert load(tmp_path / "lines.json") == LINES


@pytest.mark.long
@pytest.mark.timeout(300)  # five processes and a server, four times
async def test_sessions_of_each_kind_through_the_services_and_through_bare_nats(tmp_path: Path) -> None:
    recorded = await recording.sessions(tmp_path / "recorded", KINDS)
    found = {
        name: [line.due for line in lines if line.due not in ("user", "nobody")] for name, lines in recorded.items()
    }
    assert found == STAGES
    measured = {}
    for name in ("write", "question"):
        lines = recorded[name]
        (bare,) = await pipeline.runs(tmp_path / f"bare-{name}", "bare", lines, always=True, plan={2: 4})
        (mine,) = await pipeline.runs(tmp_path / f"mine-{name}", "parley", lines, always=True, plan={2: 4})
        assert len(bare.played.stages) == len(mine.played.stages) == 4 * len(STAGES[name])
        assert bare.cpu.keys() == mine.cpu.keys() == {"nats", "plan_store", *STAGES[name], "person"}
        measured[name] = tables.Measured(lines, [mine], [bare])
    shown = tables.kinds(measured)
    assert f"| write | 2 | {len(STAGES['write'])} |" in shown
    assert "| person approval.given | 1: " in shown


@pytest.mark.long
@pytest.mark.timeout(300)  # four processes and a server, four times
async def test_long_conversations_and_conversations_beside_stored_ones(tmp_path: Path) -> None:
    async with world.server(tmp_path / "long", always=False) as (place, _), world.running(world.services(place)):
        lines = await recording.recorded(place, CONVERSATION)
        long = await pipeline.long_sessions(place, 1, 2)
    assert [(one.service, one.exchange) for one in long] == [
        (name, exchange) for exchange in (1, 2) for name in STAGES["conversation"]
    ]
    (grown,) = await growth(tmp_path / "grown", lines, (2,), 2)
    assert len(grown.stages) == 3 * 2
    run = pipeline.Run(1, 2, Played(grown.stages, seconds=1), {"plan_store": 0.1}, 2)
    assert tables.per_stage([run], [run]).count("\n") == 2 + 2 * 4
    assert "| 1 | 2 |" in tables.throughput([run], [run])
    assert tables.grown([grown]).splitlines()[2].startswith("| 2 | ")


def test_tables_are_put_where_their_marks_are(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("before\n<!-- overhead -->\nold\n<!-- /overhead -->\nafter\n")
    tables.put(document, "overhead", "new\n")
    assert document.read_text() == "before\n<!-- overhead -->\nnew\n<!-- /overhead -->\nafter\n"
    with pytest.raises(ValueError, match="elsewhere"):
        tables.put(document, "elsewhere", "new\n")
