"""The `parley` command against a running Parley: sessions, publish, dead, rebuild, doctor, and execution plans."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from shared.domain.kernel.session import SERVICE_OF
from tests.e2e.cli_runner import Cli, wait_for_exit
from tests.e2e.parley_process import Client, Json, RunningParley
from tests.support.http_client import http_client
from tests.support.timeouts import WAIT_TIMEOUT

REQUEST = "Help me create a simple calculator"


async def get(running: RunningParley, path: str) -> Any:
    async with http_client() as http:
        return (await http.get(f"{running.url.rstrip('/')}{path}")).raise_for_status().json()


async def sessions(running: RunningParley) -> list[Json]:
    return list((await get(running, "/api/sessions?limit=200"))["sessions"])


async def until[T](fetch: Callable[[], Awaitable[T]], matches: Callable[[T], bool]) -> T:
    """Polls until the value matches. For changes without an event, such as a database row that is written later."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while True:
            if matches(value := await fetch()):
                return value
            await asyncio.sleep(0.1)


async def test_sessions_are_listed_shown_and_exported(cli: Cli, running: RunningParley) -> None:
    session_id = await planned(running, "Write a program for roman numerals")
    assert session_id in await cli.check_output("sessions", "roman")
    assert session_id not in await cli.check_output("sessions", "no such words")
    assert "4 steps" in await cli.check_output("sessions", "show", session_id)
    assert "Write a program for roman numerals" in await cli.check_output("sessions", "export", session_id)
    exported = json.loads(await cli.check_output("sessions", "export", session_id, "--format", "json"))
    assert "message.received" in json.dumps(exported)
    no_code = await cli("sessions", "export", session_id, "--format", "py")
    assert no_code.code != 0
    assert "Traceback" not in no_code.err


async def planned(running: RunningParley, request: str) -> str:
    """Starts a session and waits for its plan; returns its id."""
    async with Client(running.socket_url) as client:
        await client.send(type="user_message", content=request)
        await client.wait_for_event("plan.drafted")
        return client.session_id


async def test_an_invalid_message_is_parked_and_its_session_continues(
    cli: Cli, running: RunningParley, tmp_path: Path
) -> None:
    garbage = tmp_path / "garbage.json"
    garbage.write_text('{"type": "plan.drafted", "nonsense": true')
    async with Client(running.socket_url) as client:
        await client.send(type="user_message", content=REQUEST)
        plan = await client.wait_for_event("plan.drafted")
        before = json.loads(await cli.check_output("dead", "--json"))["parked_total"]
        subject = f"session.{client.session_id}.planner.plan.drafted"
        await cli.check_output("publish", "--raw", subject, "--file", str(garbage))

        async def dead_letters() -> Json:
            return dict(json.loads(await cli.check_output("dead", "--json")))

        dead = await until(dead_letters, lambda page: page["parked_total"] == before + 1)
        assert subject in [message["subject"] for message in dead["parked"]]
        assert subject in await cli.check_output("dead")
        await client.send(type="approval", approved=True, version=plan["version"])
        await client.wait_for_event("code.drafted")
    assert await planned(running, REQUEST)


async def test_a_rebuild_recreates_the_same_sessions_and_journals(cli: Cli, running: RunningParley) -> None:
    await planned(running, REQUEST)

    async def list_sessions() -> list[Json]:
        return await sessions(running)

    before = await until(list_sessions, lambda rows: not any(row["phase"] in SERVICE_OF for row in rows))
    journals = [await get(running, f"/api/sessions/{row['id']}/journal") for row in before]
    rebuilt = await wait_for_exit(await cli.start("rebuild"))  # prints the output of a child process
    assert rebuilt.code == 0, rebuilt
    assert (rebuilt.out + rebuilt.err).strip()
    after = await until(list_sessions, lambda rows: len(rows) == len(before))
    assert after == before
    assert [await get(running, f"/api/sessions/{row['id']}/journal") for row in after] == journals


async def test_doctor_reports_no_problems(cli: Cli) -> None:
    output = await cli.check_output("doctor")
    assert "fail" not in output
    assert "with JetStream" in output


async def stored_plan(cli: Cli, folder: Path, *steps: Json) -> tuple[str, str]:
    """The task and the version of a plan that the user stores."""
    (file := folder / "plan.json").write_text(json.dumps({"description": "A plan of mine", "steps": steps}))
    stored = json.loads(await cli.check_output("plan", "store", file, "--json"))
    return stored["task_id"], str(stored["version"])


async def test_a_plan_is_generated_answered_approved_and_listed(cli: Cli, running: RunningParley) -> None:
    question = await cli.check_output("plan", "generate", "Paint my house")
    task = question.split("parley plan answer ")[1].split()[0]
    answered = await cli.check_output("plan", "answer", task, 'Call calculate with {"expression": "2 * 3.5"}')
    task, version = answered.split("parley plan approve ")[1].split("\n")[0].split(" --version ")
    assert (await cli("plan", "approve", task, "--version", str(int(version) + 7))).code == 1
    assert "   Output: 7" in await cli.check_output("plan", "approve", task, "--version", version)
    assert task.split(".")[0] in await cli.check_output("plan", "list")
    assert json.loads(await cli.check_output("plan", "show", task, "--json"))["status"] == "completed"
    count = 'Call calculate with {"expression": "1 + 1"}'
    plan = json.loads(await cli.check_output("plan", "generate", count, "--tool", "calculate", "--json"))
    assert [step["tool"] for step in plan["steps"]] == ["calculate"]
    assert (await cli("plan", "generate", count, "--tool", "calculat")).code == 1
    assert (await cli("plan", "show", "nobody")).code == 1


async def test_a_stored_plan_is_preapproved_and_started_later(cli: Cli, tmp_path: Path) -> None:
    write = {"id": "s1", "text": "Write", "tool": "write_file", "arguments": {"name": "a.txt", "text": "tea"}}
    copy = write | {"id": "s2", "text": "Copy", "arguments": {"name": "b.txt", "text": "{{steps.s1.output.name}}"}}
    task, version = await stored_plan(cli, tmp_path, write, copy)
    assert '(empty) → "tea"' in await cli.check_output("plan", "show", task)
    assert (await cli("plan", "approve", task, "--version", version, "--preapprove", "s1")).code == 1
    await cli.check_output("plan", "approve", task, "--version", version, "--preapprove", "s2", "--no-start")
    assert json.loads(await cli.check_output("plan", "show", task, "--json"))["status"] == "approved"
    assert json.loads(await cli.check_output("plan", "execute", task, "--json"))["status"] == "completed"


async def test_a_step_is_skipped_and_a_plan_changed_compared_cancelled_and_deleted(cli: Cli, tmp_path: Path) -> None:
    first = {"id": "s1", "text": "Divide", "tool": "calculate", "arguments": {"expression": "1 / 0"}}
    second = first | {"id": "s2", "text": "Add", "arguments": {"expression": "{{steps.s1.output}} + 1"}}
    task, version = await stored_plan(cli, tmp_path, first, second)
    assert (await cli("plan", "approve", task, "--version", version)).code == 1
    assert (await cli("plan", "skip", task, "s1")).code == 1
    assert "   Output: 42" in await cli.check_output("plan", "skip", task, "s1", "--output", "41")

    task, _ = await stored_plan(cli, tmp_path, first, second)
    await cli.check_output("plan", "modify", task, 'Call calculate with {"expression": "2 * 3.5"}')
    assert "removed" in await cli.check_output("plan", "diff", task)
    await cli.check_output("plan", "cancel", task)
    await cli.check_output("plan", "delete", task)
    assert (await cli("plan", "show", task)).code == 1
