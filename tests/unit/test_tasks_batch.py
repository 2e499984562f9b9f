"""Batches of tasks: order of results, replaced candidates, resuming after an interruption, and traces of runs."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.tasks.candidate import TaskResult
from cli.tasks.generator import Batch
from cli.tasks.run_trace import RunTrace
from parley.client.errors import ParleyUnavailable, RequestRefused
from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt, ActionSpec, ModelCall, Outcome

SETTINGS = {"seed": 1}


def good(index: int, attempt: int) -> TaskResult:
    return {"success": True, "task": {"q": f"{index}.{attempt}", "agt": [], "ogt": []}, "spent": {}}


def bad(why: str) -> TaskResult:
    return {"success": False, "error": why, "rejected": why, "spent": {}}


async def always_good(index: int, attempt: int) -> TaskResult:
    return good(index, attempt)


def texts(results: list[TaskResult]) -> list[str]:
    return [result["task"]["q"] for result in results]


async def test_results_are_in_order_whichever_ends_first() -> None:
    gates = [asyncio.Event() for _ in range(3)]
    progress_calls: list[tuple[int, int, str]] = []

    async def make(index: int, attempt: int) -> TaskResult:
        if index < 2:
            await gates[index + 1].wait()
        gates[index].set()
        return good(index, attempt)

    def progress(done: int, total: int, result: TaskResult) -> None:
        progress_calls.append((done, total, result["task"]["q"]))

    results = await Batch(3, SETTINGS, None).run(make, attempts=1, concurrency=3, progress=progress)
    assert texts(results) == ["0.0", "1.0", "2.0"]
    assert progress_calls == [(1, 3, "2.0"), (2, 3, "1.0"), (3, 3, "0.0")]


async def test_a_rejected_candidate_is_replaced_and_counted() -> None:
    async def make(index: int, attempt: int) -> TaskResult:
        return bad("not solvable") if (index, attempt) in ((0, 0), (0, 1)) or index == 2 else good(index, attempt)

    batch = Batch(3, SETTINGS, None)
    assert texts(await batch.run(make, attempts=3, concurrency=2)) == ["0.2", "1.0"]
    assert batch.state.rejections == {"not solvable": 5}


async def test_an_interrupted_batch_resumes(tmp_path: Path) -> None:
    state = tmp_path / "out.state"
    calls: list[tuple[str, int, int]] = []

    async def fails_at_2(index: int, attempt: int) -> TaskResult:
        calls.append(("first", index, attempt))
        if index == 1 and attempt == 0:
            return bad("draft failed")
        if index == 2:
            raise ParleyUnavailable("gone")
        return good(index, attempt)

    first = Batch(4, SETTINGS, state)
    with pytest.raises(ParleyUnavailable, match="gone"):
        await first.run(fails_at_2, attempts=3, concurrency=1)

    async def succeeds(index: int, attempt: int) -> TaskResult:
        calls.append(("second", index, attempt))
        return good(index, attempt)

    second = Batch(4, SETTINGS, state)
    assert second.state.name == first.state.name
    assert texts(second.results) == ["0.0", "1.1"]
    assert texts(await second.run(succeeds, attempts=3, concurrency=1)) == ["0.0", "1.1", "2.0", "3.0"]
    assert second.state.rejections == {"draft failed": 1}
    assert calls[-2:] == [("second", 2, 0), ("second", 3, 0)]
    assert texts(await Batch(4, SETTINGS, state).run(succeeds, attempts=3, concurrency=1)) == [
        "0.0",
        "1.1",
        "2.0",
        "3.0",
    ]


async def test_a_state_file_of_another_batch_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state"
    await Batch(1, SETTINGS, state).run(always_good, attempts=1, concurrency=1)
    with pytest.raises(RequestRefused, match="another batch"):
        Batch(1, {"seed": 2}, state)
    for text in ("", "[]", '{"told": {"seed": 1}}', '{"told": {"seed": 1}, "name": "x", "lasted": 1}'):
        state.write_text(text)
        with pytest.raises(RequestRefused, match="cannot be read"):
            Batch(1, SETTINGS, state)


# --- the journal of a run


def event(kind: type[Any], /, version: int, actor: str = "planner", **fields: Any) -> SessionEvent:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=version)
    made: SessionEvent = kind(id=f"e{version}", session_id="s", version=version, at=at, actor=actor, **fields)
    return made


def test_a_run_is_traced_from_its_journal() -> None:
    cancel = ActionSpec(id="1.2", tool="cancel_pending_order", arguments={"order_id": "#W1"}, effect="write")
    read = ActionSpec(id="1.1", tool="get_order_details", arguments={"order_id": "#W1"})
    failing = ActionSpec(id="1.3", tool="cancel_pending_order", arguments={"order_id": "#W2"}, effect="write")
    fields: dict[str, Any] = {"model": "m", "role": "planner", "cached_tokens": 0, "cost": 0, "latency": 1}
    calls = [ModelCall(**fields, prompt_tokens=10, completion_tokens=n, attempt=1) for n in (1, 2, 3)]
    trace = RunTrace(
        "s",
        [
            event(facts.MessageReceived, 1, "user:ann", text="Cancel it", intent="request", workflow="agentflow"),
            event(facts.UsageRecorded, 2, usage=calls[:1]),
            event(
                facts.TurnPlanned,
                3,
                turn=1,
                sub_goal="Cancel",
                actions=(read, cancel, failing),
                final=True,
                usage=calls[1:],
            ),
            event(
                facts.ActionsStarted,
                4,
                "executor",
                actions=tuple(ActionAttempt(action_id=spec.id) for spec in (read, cancel, failing)),
            ),
            event(
                facts.ActionsFinished,
                5,
                "executor",
                outcomes=(Outcome(action_id="1.2", ok=True, result='{"status": "cancelled"}'),),
            ),
            event(facts.ActionsFinished, 6, "executor", outcomes=(Outcome(action_id="1.1", ok=True, result="{}"),)),
            event(
                facts.ActionsFinished,
                7,
                "executor",
                outcomes=(Outcome(action_id="1.3", ok=True, result="Error: order not found"),),
            ),
            event(facts.TurnVerified, 8, "verifier", turn=1, status="success", next_action="complete", reasoning="r"),
            event(facts.AnswerGiven, 9, "generator", text="Cancelled.", confidence=0.5, evidence=("1.2",)),
        ],
    )
    assert [(spec.tool, ok) for spec, ok in trace.executed] == [
        ("cancel_pending_order", True),
        ("get_order_details", True),
        ("cancel_pending_order", False),
    ]
    assert [call.arguments for call in trace.writes] == [{"order_id": "#W1"}]
    assert trace.is_answered
    assert trace.is_complete
    metadata = trace.metadata()
    assert (metadata["turns"], metadata["planned_actions_count"], metadata["executed_actions_count"]) == (1, 3, 3)
    assert metadata["sub_goals"] == [{"goal": "Cancel", "status": "completed"}]
    assert metadata["verifications"] == [{"turn": 1, "status": "success", "next_action": "complete", "reasoning": "r"}]
    assert (metadata["confidence"], metadata["seconds"], metadata["model_calls"], metadata["tokens"]) == (
        0.5,
        8.0,
        3,
        36,
    )


def test_a_trace_without_an_answer_describes_its_end() -> None:
    first = event(facts.MessageReceived, 1, "user:ann", text="Cancel it", intent="request", workflow="agentflow")
    asked = event(facts.QuestionAsked, 2, question_id="q", kind="request", text="Who are you?")
    failed = event(facts.SessionFailed, 2, phase="planning", reason="no reply")
    assert RunTrace("s", [first, asked]).end_description == "asked"
    assert RunTrace("s", [first, failed]).end_description == "failed: no reply"
    assert RunTrace("s", [first]).end_description == "planning"
    assert not RunTrace("s", [first]).is_answered
