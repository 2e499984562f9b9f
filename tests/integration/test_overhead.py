"""The benchmark of Parley's overhead runs, here with few sessions; the tests check no times."""

from pathlib import Path

import pytest

from bench.overhead import markdown_tables, pipeline, processes, recording
from bench.overhead.growth import measure_growth
from bench.overhead.load_generator import LoadResult, StageTime, stage_times
from bench.overhead.recorded_events import SESSION_ID_PLACEHOLDER, RecordedEvent, Recording, load, save, stage_events
from bench.overhead.workloads import CONVERSATION, WORKLOADS

EVENTS: Recording = (
    RecordedEvent(
        f"user:{SESSION_ID_PLACEHOLDER}", "planner", "message.received", b'{"session_id": "the-session-at-hand"}'
    ),
    RecordedEvent("planner", "nobody", "usage.recorded", b"{}"),
    RecordedEvent("planner", "executor", "turn.planned", b"{}"),
    RecordedEvent("executor", "nobody", "actions.started", b"{}"),
    RecordedEvent("executor", "executor", "actions.finished", b"{}"),
    RecordedEvent("executor", "user", "question.asked", b"{}"),
    RecordedEvent(f"user:{SESSION_ID_PLACEHOLDER}", "generator", "question.answered", b"{}"),
    RecordedEvent("generator", "nobody", "answer.given", b"{}"),
)
STAGES = {  # the services with work in each kind of session, in order
    "conversation": ["planner", "generator", "verifier"],
    "look-up": [*["planner", "executor", "verifier"] * 3, "generator"],
    "write": [*["planner", "executor", "verifier"] * 3, "generator"],
    "question": ["planner", *["executor"] * 11, "verifier", "generator"],
}


def test_a_stage_lasts_from_the_event_that_makes_a_service_due_to_its_last_append(tmp_path: Path) -> None:
    assert EVENTS[0].body_of("another-id") == b'{"session_id": "another-id"}'
    assert [len(stage_events(EVENTS, number)) for number in (0, 2, 4, 6)] == [2, 2, 1, 1]
    times = [f"2026-11-21T10:00:00.{100 * number:06}789Z" for number in range(len(EVENTS))]
    recorded_stages = list(stage_times(EVENTS, times))
    assert [stage_time.service for stage_time in recorded_stages] == ["planner", "executor", "executor", "generator"]
    assert [round(stage_time.first_append_ms, 6) for stage_time in recorded_stages] == [0.1] * 4
    assert [round(stage_time.total_ms, 6) for stage_time in recorded_stages] == [0.2, 0.2, 0.1, 0.1]
    save(EVENTS, tmp_path / "lines.json")
    assert load(tmp_path / "lines.json") == EVENTS


@pytest.mark.long
async def test_each_workload_runs_through_the_services_and_through_bare_nats(tmp_path: Path) -> None:
    recorded = await recording.record_sessions(tmp_path / "recorded", WORKLOADS)
    recorded_stages = {
        name: [line.due for line in events if line.due not in ("user", "nobody")] for name, events in recorded.items()
    }
    assert recorded_stages == STAGES
    measured = {}
    for name in ("write", "question"):
        events = recorded[name]
        (bare,) = await pipeline.run_pipeline(
            tmp_path / f"bare-{name}", "bare", events, sync_always=True, concurrency_plan={2: 4}
        )
        (parley,) = await pipeline.run_pipeline(
            tmp_path / f"mine-{name}", "parley", events, sync_always=True, concurrency_plan={2: 4}
        )
        assert len(bare.result.stages) == len(parley.result.stages) == 4 * len(STAGES[name])
        assert bare.cpu_seconds.keys() == parley.cpu_seconds.keys() == {"nats", "plan_store", *STAGES[name], "person"}
        measured[name] = markdown_tables.WorkloadRuns(events, [parley], [bare])
    report = markdown_tables.workload_tables(measured)
    assert f"| write | 2 | {len(STAGES['write'])} |" in report
    assert "| person approval.given | 1: " in report


@pytest.mark.long
async def test_long_conversations_and_growth_are_measured(tmp_path: Path) -> None:
    async with (
        processes.nats_server(tmp_path / "long", sync_always=False) as (place, _),
        processes.running(place, processes.service_programs(place)),
    ):
        events = await recording.record_session(place, CONVERSATION)
        long = await pipeline.run_long_sessions(place, 1, 2)
    assert [(stage_time.service, stage_time.exchange) for stage_time in long] == [
        (name, exchange) for exchange in (1, 2) for name in STAGES["conversation"]
    ]
    (grown,) = await measure_growth(tmp_path / "grown", events, (2,), 2)
    assert len(grown.stages) == 3 * 2
    run = pipeline.PipelineRun(1, 2, LoadResult(grown.stages, seconds=1), {"plan_store": 0.1}, 2)
    assert markdown_tables.stage_table([run], [run]).count("\n") == 2 + 2 * 4
    assert "| 1 | 2 |" in markdown_tables.throughput_table([run], [run])
    assert markdown_tables.growth_table([grown]).splitlines()[2].startswith("| 2 | ")


def test_a_run_too_short_for_the_clock_of_cpu_times_has_no_ratio() -> None:
    run = pipeline.PipelineRun(1, 1, LoadResult([StageTime("planner", 1, 0.5, 1.0)], seconds=1), {"nats": 0.0}, 2)
    report = markdown_tables.workload_tables({"write": markdown_tables.WorkloadRuns(EVENTS, [run], [run])})
    assert report.splitlines()[2].endswith("| 1/1.0 | 0.0 | 0.0 | – |")


def test_tables_replace_the_text_between_their_marks(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("before\n<!-- overhead -->\nold\n<!-- /overhead -->\nafter\n")
    markdown_tables.replace_section(document, "overhead", "new\n")
    assert document.read_text() == "before\n<!-- overhead -->\nnew\n<!-- /overhead -->\nafter\n"
    with pytest.raises(ValueError, match="elsewhere"):
        markdown_tables.replace_section(document, "elsewhere", "new\n")
