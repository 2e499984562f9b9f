"""The benchmark of Parley's overhead runs, here with few sessions; the tests check no times."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.overhead import markdown_tables, pipeline, processes, recording
from bench.overhead.growth import measure_growth
from bench.overhead.load_generator import LoadResult
from bench.overhead.workloads import CONVERSATION, WORKLOADS
from tests.support.timeouts import WAIT_TIMEOUT

ROOT = Path(__file__).resolve().parents[2]

STAGES = {  # the services with work in each kind of session, in order
    "conversation": ["planner", "generator", "verifier"],
    "look-up": [*["planner", "executor", "verifier"] * 3, "generator"],
    "write": [*["planner", "executor", "verifier"] * 3, "generator"],
    "question": ["planner", *["executor"] * 11, "verifier", "generator"],
}


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


@pytest.mark.long
def test_the_command_prints_its_tables() -> None:
    command = (sys.executable, "-m", "bench.overhead", "--tiny", "--only", "durable")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=WAIT_TIMEOUT, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "| conversations at once |" in done.stdout
