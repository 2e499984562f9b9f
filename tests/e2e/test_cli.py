"""The `parley` command against a running Parley: chat, publish, sessions, tail, dead, rebuild, mcp, doctor."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp import Client as Assistant

from shared.domain.session import SERVICE_OF
from tests.e2e.browser import Person
from tests.e2e.cli_runner import Cli, wait_for_exit
from tests.e2e.parley_process import Client, Json, RunningParley
from tests.integration.test_mcp_parley import program, says
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


async def test_chat_with_yes_completes_a_session(cli: Cli, running: RunningParley) -> None:
    chat = await wait_for_exit(await cli.start("chat", "--yes", REQUEST))
    assert chat.code == 0, chat
    assert "def " in chat.out
    newest = (await sessions(running))[0]
    assert newest["state"] == "completed"
    assert f"parley chat --session {newest['id']}" in chat.err


async def test_publish_starts_a_session_that_the_page_lists(cli: Cli, person: Person) -> None:
    tab = await person.tab()
    await tab.wait_for("example")
    session_id = (await cli.check_output("publish", "--text", "Write a program for palindromes")).strip()
    await tab("session-search").fill("palindromes")
    await tab.wait_for("session-item", "palindromes")
    await tab.click("session-item")
    await tab.wait_for_state("text_plan_approval")
    assert tab.session_id == session_id


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


async def tailed(cli: Cli, session_id: str) -> list[Json]:
    """Reads the session's events up to its plan from `parley tail`, then interrupts it."""
    tail = await cli.start("tail", session_id, "--json")
    assert tail.stdout
    events: list[Json] = []
    async with asyncio.timeout(WAIT_TIMEOUT):
        async for line in tail.stdout:
            events.append(json.loads(line))
            if events[-1]["type"] == "plan.drafted":
                break
    tail.send_signal(signal.SIGINT)
    await asyncio.wait_for(tail.communicate(), WAIT_TIMEOUT)
    assert tail.returncode in (0, 130)
    return events


async def test_tail_prints_each_event_once(cli: Cli, running: RunningParley) -> None:
    async with Client(running.socket_url) as client:
        await client.send(type="user_message", content=REQUEST)
        await client.wait_for_event("message.received")
        events = await tailed(cli, client.session_id)
        await client.wait_for_event("plan.drafted")
        assert [event["version"] for event in events] == list(range(1, len(events) + 1))
        assert events == client.events[: len(events)]


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


async def test_an_mcp_client_gets_approved_code(running: RunningParley) -> None:
    """The client finds Parley through PARLEY_HOME."""
    async with Assistant(program(running.home)) as client:
        session_id = (await says(client, "start_session", request=f"{REQUEST} with a quokka on its box"))["session_id"]
        for waits_for, part in (("plan_approval", "plan"), ("code_approval", "code")):
            state = await says(client, "wait", session_id=session_id, seconds=60)
            assert state["waits_for"] == waits_for
            item = state[part]
            state = await says(client, "approve", session_id=session_id, version=item["version"], hash=item["hash"])
        assert state["waits_for"] == "rest"
        page = await says(client, "list_sessions", words="quokka")
        assert [session["session_id"] for session in page["sessions"]] == [session_id]


async def test_doctor_reports_no_problems(cli: Cli) -> None:
    output = await cli.check_output("doctor")
    assert "fail" not in output
    assert "with JetStream" in output


async def test_a_plan_is_shown_approved_and_started_later_from_the_cli(cli: Cli, tmp_path: Path) -> None:
    write = {"id": "s1", "text": "Write", "tool": "write_file", "arguments": {"name": "a.txt", "text": "tea"}}
    copy = write | {"id": "s2", "text": "Copy", "arguments": {"name": "b.txt", "text": "{{steps.s1.output.name}}"}}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"description": "Two files", "steps": [write, copy]}))
    stored = json.loads(await cli.check_output("plan", "store", file, "--json"))
    task, version = stored["task_id"], str(stored["version"])
    output = await cli.check_output("plan", "show", task)
    assert "What would change, as of now:\n1. Write\n" in output
    assert '(empty) → "tea"' in output
    assert f"--version {version} --preapprove s2" in output
    refused = await cli("plan", "approve", task, "--version", version, "--preapprove", "s1")
    assert (refused.code, "Step 1 (s1) has no references" in refused.err) == (1, True)
    approved = await cli.check_output("plan", "approve", task, "--version", version, "--preapprove", "s2", "--no-start")
    assert "\nStatus: approved\n" in approved
    assert f"Start it: parley plan execute {task}" in approved
    executed = await cli.check_output("plan", "execute", task)
    assert "\nStatus: completed\n" in executed
    assert "Allowed with whatever values it gets" in executed
    unreviewed = json.loads(await cli.check_output("plan", "store", file, "--no-plan-approval", "--json"))
    assert (unreviewed["status"], unreviewed["user_approved"]) == ("executing", False)


async def test_a_plan_is_generated_approved_and_executed_from_the_cli(
    cli: Cli, running: RunningParley, tmp_path: Path
) -> None:
    question = await cli.check_output("plan", "generate", "Paint my house")
    task = question.split("parley plan answer ")[1].split()[0]
    answered = await cli.check_output("plan", "answer", task, 'Call calculate with {"expression": "2 * 3.5"}')
    assert "1. [planned] Call calculate\n   `calculate(expression='2 * 3.5')`" in answered
    task, version = answered.split("parley plan approve ")[1].split("\n")[0].split(" --version ")
    refused = await cli("plan", "approve", task, "--version", str(int(version) + 7))
    assert (refused.code, f"Version {version} is the newest" in refused.err) == (1, True)
    approved = await cli.check_output("plan", "approve", task, "--version", version)
    assert "\nStatus: completed\n" in approved
    assert "   Output: 7" in approved
    assert "completed  1 step" in await cli.check_output("plan", "list")
    assert json.loads(await cli.check_output("plan", "show", task, "--json"))["status"] == "completed"
    count = 'Call calculate with {"expression": "1 + 1"}'
    output = await cli.check_output(
        "plan", "generate", count, "--tool", "calculate", "--instructions", "Be brief.", "--json"
    )
    plan = json.loads(output)
    assert ([step["tool"] for step in plan["steps"]], [check["ok"] for check in plan["checks"]]) == (
        ["calculate"],
        [True] * 6,
    )
    unknown = await cli("plan", "generate", count, "--tool", "calculat")
    assert (unknown.code, "Do you mean calculate" in unknown.err) == (1, True)
    unknown_model = await cli("plan", "generate", count, "--model", "huge")
    assert (unknown_model.code, "the model “huge” is not configured here" in unknown_model.out) == (1, True)
    file = tmp_path / "plan.json"
    step = {"text": "Count", "tool": "calculate", "arguments": {"expression": "1 + 1"}}
    file.write_text(json.dumps({"description": "Count", "steps": [step]}))
    stored = json.loads(await cli.check_output("plan", "store", file, "--json"))
    assert "\nStatus: cancelled\n" in await cli.check_output("plan", "cancel", stored["task_id"])
    await cli.check_output("plan", "delete", stored["task_id"])
    missing = await cli("plan", "show", stored["task_id"].replace("t2", "t9"))
    assert (missing.code, "has no task t9" in missing.err) == (1, True)
    unasked = await cli("plan", "answer", task, "7")
    assert (unasked.code, "asks nothing now" in unasked.err) == (1, True)
    unknown = await cli("plan", "show", "nobody")
    assert (unknown.code, "parley plan list" in unknown.err) == (1, True)
    assert "is no plan's task" in (await cli("plan", "show", "../x")).err
    file.write_text("{}")
    assert "is no plan" in (await cli("plan", "store", file)).err


async def test_a_step_is_skipped_and_versions_are_compared_from_the_cli(
    cli: Cli, running: RunningParley, tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    first = {"id": "s1", "text": "Divide", "tool": "calculate", "arguments": {"expression": "1 / 0"}}
    second = {
        "id": "s2",
        "text": "Add",
        "tool": "calculate",
        "arguments": {"expression": "{{steps.s1.output}} + 1"},
    }
    file.write_text(json.dumps({"description": "Count", "steps": [first, second]}))
    stored = json.loads(await cli.check_output("plan", "store", file, "--json"))
    task = stored["task_id"]
    failed = await cli("plan", "approve", task, "--version", str(stored["version"]))
    assert (failed.code, f"parley plan skip {task} STEP" in failed.out) == (1, True)
    refused = await cli("plan", "skip", task, "s1")
    assert (refused.code, "“Add” (s2)" in refused.err, "with_dependents" in refused.err) == (1, True, True)
    skipped = await cli.check_output("plan", "skip", task, "s1", "--output", "41")
    assert "   Given output: 41" in skipped
    assert "   Output: 42" in skipped
    compared = await cli.check_output("plan", "diff", task)
    assert f"Version {stored['version']}. Edited by" in compared

    again = json.loads(await cli.check_output("plan", "store", file, "--json"))
    task = again["task_id"]
    changed = await cli.check_output("plan", "modify", task, 'Call calculate with {"expression": "2 * 3.5"}')
    assert "\nStatus: pending approval\n" in changed
    compared = await cli.check_output("plan", "diff", task)
    assert "Draft by the planner: “Call calculate with" in compared
    assert "removed" in compared
    assert "Not done: 1. " in await cli.check_output("plan", "cancel", task)
