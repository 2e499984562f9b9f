"""Test tasks made by a whole Parley with the rehearsal model: singly, in batches, cut off and gone on with."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from cli.tasks.generator import TaskGenerator
from cli.tasks.stages import QUESTIONS, Candidate, Options, Result
from packs.retail.generate import generate
from packs.retail.tasks.briefs import DEALT, Deck
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.validate import validate_all
from parley.client import Parley, ParleyDown, Refused
from parley.events.values import SessionSettings
from tests.e2e.command import Cli, ended
from tests.e2e.running import Parley as Running
from tests.support.store import STORE

pytestmark = pytest.mark.timeout(180)
SHOP = Shop(STORE)
OWN = SessionSettings(world="own", recall=False)


async def count_of_sessions(running: Running) -> int:
    async with Parley(running.url) as parley:
        return (await parley.sessions(limit=1)).total


def tasks_in(state: Path) -> int:
    return len(json.loads(state.read_text())["done"]) if state.exists() else 0


async def first_task_in(state: Path) -> None:
    async with asyncio.timeout(60):
        while True:
            if tasks_in(state):
                return
            await asyncio.sleep(0.05)


def valid(results: list[Any]) -> None:
    reports = validate_all([result["task"] for result in results], SHOP)
    assert [report.wrong for report in reports] == [()] * len(results)


async def test_one_task_directly_and_one_by_the_loop(running: Running) -> None:
    async with Parley(running.url) as parley:
        generator = TaskGenerator(parley, SHOP.data, seed=3, kinds=("exchange", "cancel"))
        direct = await generator.generate_direct()
        looped = await generator.generate_task(max_turns=6)
    valid([direct, looped])
    assert direct["spent"]["model_calls"] == 1
    assert "agentflow_metadata" not in direct
    told = looped["agentflow_metadata"]
    assert told["turns"] == len(told["verifications"]) >= 2
    assert told["executed_actions_count"] >= len(looped["task"]["agt"]) > 0
    assert told["verifications"][-1]["next_action"] == "complete"
    assert 0 < told["confidence"] <= 1
    assert len(told["session_ids"]) == 3
    checks = {check["name"]: check["ok"] for check in looped["validation_report"]["checks"]}
    assert checks["solvable"] is True
    assert looped["corrections_applied"]["differences"] == []
    json.dumps(looped)


async def test_a_task_for_one_customer(running: Running) -> None:
    user_id = next(iter(SHOP.data["users"]))
    async with Parley(running.url) as parley:
        result = await TaskGenerator(parley, SHOP.data).generate_task(user_id, include_metadata=False)
        email = SHOP.data["users"][user_id]["email"]
        assert result["success"]
        assert "agentflow_metadata" not in result
        assert email in result["task"]["q"] or SHOP.data["users"][user_id]["address"]["zip"] in result["task"]["q"]
        with pytest.raises(Refused, match="other data"):
            await TaskGenerator(parley, generate(8)).generate_direct()


async def test_a_draft_that_cannot_be_used_is_replaced_and_counted(running: Running) -> None:
    await running.fault(fault="garbled", task="task", times=3)
    async with Parley(running.url) as parley:
        generator = TaskGenerator(parley, SHOP.data, seed=6, kinds=("return",))
        results = await generator.generate_diverse(2, use_agentflow=False, concurrency=1)
    valid(results)
    assert len(results) == 2
    assert generator.rejections == {"draft failed": 1}
    assert generator.examples["draft failed"].startswith("the draft failed: ")


async def test_a_batch_whose_runner_is_killed_goes_on_and_makes_nothing_twice(running: Running, cli: Cli) -> None:
    out = running.home / "tasks.json"
    sessions = await count_of_sessions(running)
    words = ("tasks", "generate", "-n", "3", "--out", out, "--concurrency", "2", "--seed", "4")
    first = await cli.start(*words)
    state = out.with_name("tasks.json.state")
    await first_task_in(state)
    first.send_signal(signal.SIGKILL)
    await first.wait()
    before = json.loads(state.read_text())
    assert 0 < len(before["done"]) < 3
    assert not out.exists()

    other = await cli(*words[:-1], "5")
    assert (other.code, "another batch" in other.err) == (1, True)

    again = await cli(*words)
    assert again.code == 0, again
    assert "Going on with" in again.err
    results = json.loads(out.read_text())
    valid(results)
    assert len(results) == 3
    assert [results[int(index)] for index in before["done"]] == list(before["done"].values())
    assert not state.exists()
    assert len({session for result in results for session in result["spent"]["session_ids"]}) == 9
    assert await count_of_sessions(running) == sessions + 9
    for figure in ("customers", "model calls a task", "tokens a task"):
        assert figure in again.out


async def test_services_killed_in_the_middle_of_a_batch(running: Running) -> None:
    names = [("gateway", "planner"), ("executor", "generator")]
    done: list[Result] = []

    def progress(count: int, total: int, result: Result) -> None:
        done.append(result)
        for name in names.pop(0) if names else ():
            running.kill9(name)

    async with Parley(running.url) as parley:
        generator = TaskGenerator(parley, SHOP.data, seed=5, kinds=DEALT)
        results = await generator.generate_diverse(4, progress_callback=progress, concurrency=2)
    valid(results)
    assert len(results) == len(done) == 4


async def test_scenarios_write_their_three_files(running: Running, cli: Cli) -> None:
    await cli.fine("tasks", "scenarios", "-n", "1", "--out", running.home / "made")
    basic = json.loads((running.home / "made" / "agentflow_test_task.json").read_text())
    compared = json.loads((running.home / "made" / "agentflow_comparison.json").read_text())
    batch = json.loads((running.home / "made" / "agentflow_batch_tasks.json").read_text())
    valid([basic, *batch])
    valid([compared["direct"]])
    valid([compared["agentflow"]])
    assert compared["direct"]["spent"]["model_calls"] < compared["agentflow"]["spent"]["model_calls"]
    assert len(batch) == 1


async def test_questions_are_answered_for_the_customer_and_not_for_ever(running: Running) -> None:
    brief = Deck(SHOP.data, 8, kinds=["cancel"])[0]
    words = f"Please cancel order {brief.orders[0]['order_id']}, it is no longer needed."
    async with Parley(running.url) as parley:
        candidate = Candidate(parley, SHOP, brief, "asked", Options())
        helped = await candidate._run("loop", words, candidate._customer)
        assert helped.answered
        assert len(helped.session.words.dialogue) == 1
        assert [call.tool for call in helped.writes] == ["cancel_pending_order"]
        silent = await candidate._run("again", words, lambda _: "I do not say.")
        assert silent.writes == ()
        assert 0 < len(silent.session.words.dialogue) <= QUESTIONS
        assert (await parley.session(silent.session.id).snapshot()).phase == "resting"


async def test_on_a_terminal_it_asks(running: Running, cli: Cli) -> None:
    keyboard, terminal = os.openpty()
    try:
        process = await cli.start("tasks", stdin=terminal, cwd=running.home)
        os.write(keyboard, b"y\ny\n0\n2\nn\n")  # the loop, several, none, two, not for all
        asked = await ended(process)
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert asked.code == 0, asked
    assert "A number from 1 to" in asked.out + asked.err
    results = json.loads((running.home / "tasks.json").read_text())
    valid(results)
    assert [result["spent"]["model_calls"] for result in results] == [1, 1]


async def test_the_client_does_what_a_person_can_do(running: Running) -> None:
    async with Parley(running.url) as parley:
        session = await parley.start("Help me create a simple calculator", id="sdk-1", settings={"max_turns": 3})
        assert (await parley.start("Help me create a simple calculator", id="sdk-1")).id == session.id
        shown = await session.wait()
        assert shown.settings.max_turns == 3
        assert shown.plan is not None
        await session.feedback("Add support for floating point numbers")
        shown = await session.wait()
        assert shown.plan is not None
        assert shown.plan.number == 2
        await session.approve()
        shown = await session.wait()
        assert shown.state == "code_approval"
        await session.reject()
        await session.wait()
        await session.stop("enough")
        assert (await session.wait()).phase == "resting"
        with pytest.raises(Refused) as refused:
            await session.approve()
        assert refused.value.code == "not_now"
        journal = await session.journal()
        assert [event.version for event in journal] == list(range(1, len(journal) + 1))
        with pytest.raises(Refused, match="no session"):
            await parley.session("nothing").snapshot()


async def test_events_come_once_and_in_order_over_a_gateway_that_dies(running: Running) -> None:
    order_id, order = next((key, one) for key, one in SHOP.data["orders"].items() if one["status"] == "pending")
    email = SHOP.data["users"][order["user_id"]]["email"]
    async with Parley(running.url) as parley:
        session = await parley.start(f"Please cancel order {order_id}.", workflow="agentflow", settings=OWN)
        seen: list[int] = []

        async def follow() -> None:
            async for event in session.events():
                seen.append(event.version)
                if event.type == "answer.given":
                    return

        following = asyncio.create_task(follow())
        shown = await session.wait()
        assert shown.question is not None
        running.kill9("gateway")
        await session.answer(f"My e-mail is {email}.")
        shown = await session.wait()
        while shown.phase == "awaiting_input":
            await session.answer("No longer needed.")
            shown = await session.wait()
        assert shown.approval_request is not None
        [action] = shown.approval_request.actions
        assert action.tool == "cancel_pending_order"
        await session.approve(action.action_id)
        shown = await session.wait()
        await asyncio.wait_for(following, 30)
        assert shown.answer
        assert seen == list(range(1, len(seen) + 1))


async def test_a_parley_that_is_not_there() -> None:
    async with Parley("http://127.0.0.1:9", patience=0.2) as parley:
        with pytest.raises(ParleyDown, match="Is it up"):
            await parley.tools()
