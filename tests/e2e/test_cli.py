"""The `parley` command against a running Parley: chat, publish, sessions, tail, dead, rebuild, mcp, doctor."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client as Assistant

from shared.domain.session import SERVICE_OF
from tests.e2e.browser import Person
from tests.e2e.command import Cli, ended
from tests.e2e.running import Client, Json, Parley
from tests.integration.test_mcp_parley import program, says

pytestmark = pytest.mark.timeout(180)  # the first of them starts a Parley
REQUEST = "Help me create a simple calculator"


async def get(running: Parley, path: str) -> Any:
    async with httpx2.AsyncClient() as http:
        return (await http.get(f"{running.url.rstrip('/')}{path}")).raise_for_status().json()


async def sessions(running: Parley) -> list[Json]:
    return list((await get(running, "/api/sessions?limit=200"))["sessions"])


async def until[T](ask: Callable[[], Awaitable[T]], fits: Callable[[T], bool]) -> T:
    """Ask again until the answer fits: for what no event tells of, such as a row that follows its event."""
    async with asyncio.timeout(20):
        while True:
            if fits(found := await ask()):
                return found
            await asyncio.sleep(0.1)


async def test_chat_goes_all_the_way_by_itself(cli: Cli, running: Parley) -> None:
    talk = await ended(await cli.start("chat", "--yes", REQUEST))
    assert talk.code == 0, talk
    assert "def " in talk.out
    newest = (await sessions(running))[0]
    assert newest["state"] == "completed"
    assert f"parley chat --session {newest['id']}" in talk.err


async def test_publish_begins_a_session_that_the_page_lists(cli: Cli, person: Person) -> None:
    tab = await person.tab()
    await tab.sees("example")
    session_id = (await cli.fine("publish", "--text", "Write a program for palindromes")).strip()
    await tab("session-search").fill("palindromes")
    await tab.sees("session-item", "palindromes")
    await tab.press("session-item")
    await tab.state("text_plan_approval")
    assert tab.session_id == session_id


async def test_sessions_are_listed_shown_and_exported(cli: Cli, running: Parley) -> None:
    session_id = await planned(running, "Write a program for roman numerals")
    assert session_id in await cli.fine("sessions", "roman")
    assert session_id not in await cli.fine("sessions", "no such words")
    assert "4 steps" in await cli.fine("sessions", "show", session_id)
    assert "Write a program for roman numerals" in await cli.fine("sessions", "export", session_id)
    exported = json.loads(await cli.fine("sessions", "export", session_id, "--format", "json"))
    assert "message.received" in json.dumps(exported)
    nothing = await cli("sessions", "export", session_id, "--format", "py")
    assert nothing.code != 0
    assert "Traceback" not in nothing.err


async def planned(running: Parley, request: str) -> str:
    """The id of a new session that has its plan."""
    async with Client(running.socket_url) as client:
        await client.send(type="user_message", content=request)
        await client.event("plan.drafted")
        return client.session_id


async def tailed(cli: Cli, session_id: str) -> list[Json]:
    """The session's events up to its plan, read from `parley tail`, which is then interrupted."""
    tail = await cli.start("tail", session_id, "--json")
    assert tail.stdout
    events: list[Json] = []
    async with asyncio.timeout(40):
        async for line in tail.stdout:
            events.append(json.loads(line))
            if events[-1]["type"] == "plan.drafted":
                break
    tail.send_signal(signal.SIGINT)
    await asyncio.wait_for(tail.communicate(), 10)
    assert tail.returncode in (0, 130)
    return events


async def test_tail_tells_each_event_once(cli: Cli, running: Parley) -> None:
    async with Client(running.socket_url) as client:
        await client.send(type="user_message", content=REQUEST)
        await client.event("message.received")
        told = await tailed(cli, client.session_id)
        await client.event("plan.drafted")
        assert [event["version"] for event in told] == list(range(1, len(told) + 1))
        assert told == client.events[: len(told)]


async def test_garbage_is_put_aside_and_harms_nobody(cli: Cli, running: Parley, tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.json"
    garbage.write_text('{"type": "plan.drafted", "nonsense": true')
    async with Client(running.socket_url) as client:
        await client.send(type="user_message", content=REQUEST)
        plan = await client.event("plan.drafted")
        before = json.loads(await cli.fine("dead", "--json"))["parked_total"]
        subject = f"session.{client.session_id}.planner.plan.drafted"
        await cli.fine("publish", "--raw", subject, "--file", str(garbage))

        async def parked() -> Json:
            return dict(json.loads(await cli.fine("dead", "--json")))

        found = await until(parked, lambda page: page["parked_total"] == before + 1)
        assert subject in [message["subject"] for message in found["parked"]]
        assert subject in await cli.fine("dead")
        await client.send(type="approval", approved=True, version=plan["version"])  # even this very session goes on
        await client.event("code.drafted")
    assert await planned(running, REQUEST)


async def test_rebuild_makes_the_same_rows(cli: Cli, running: Parley) -> None:
    await planned(running, REQUEST)

    async def settled() -> list[Json]:
        return await sessions(running)

    before = await until(settled, lambda rows: not any(row["phase"] in SERVICE_OF for row in rows))
    journals = [await get(running, f"/api/sessions/{row['id']}/journal") for row in before]
    rebuilt = await ended(await cli.start("rebuild"))  # it passes the output of another process through
    assert rebuilt.code == 0, rebuilt
    assert (rebuilt.out + rebuilt.err).strip()
    after = await until(settled, lambda rows: len(rows) == len(before))
    assert after == before
    assert [await get(running, f"/api/sessions/{row['id']}/journal") for row in after] == journals


async def test_mcp_leads_an_assistant_to_approved_code(running: Parley) -> None:
    """Found through PARLEY_HOME, from the request to approved code."""
    async with Assistant(program(running.home)) as client:
        session_id = (await says(client, "start_session", request=f"{REQUEST} with a quokka on its box"))["session_id"]
        for wanted, part in (("plan_approval", "plan"), ("code_approval", "code")):
            state = await says(client, "wait", session_id=session_id, seconds=60)
            assert state["waits_for"] == wanted
            item = state[part]
            state = await says(client, "approve", session_id=session_id, version=item["version"], hash=item["hash"])
        assert state["waits_for"] == "rest"
        found = await says(client, "list_sessions", words="quokka")
        assert [one["session_id"] for one in found["sessions"]] == [session_id]


async def test_doctor_finds_nothing_wrong(cli: Cli) -> None:
    said = await cli.fine("doctor")
    assert "fail" not in said
    assert "with JetStream" in said


async def test_a_plan_is_looked_at_approved_for_later_and_started_from_a_terminal(cli: Cli, tmp_path: Path) -> None:
    write = {"id": "s1", "text": "Write", "tool": "write_file", "arguments": {"name": "a.txt", "text": "tea"}}
    copy = write | {"id": "s2", "text": "Copy", "arguments": {"name": "b.txt", "text": "{{steps.s1.output.name}}"}}
    own = tmp_path / "plan.json"
    own.write_text(json.dumps({"description": "Two files", "steps": [write, copy]}))
    stored = json.loads(await cli.fine("plan", "store", own, "--json"))
    task, version = stored["task_id"], str(stored["version"])
    shown = await cli.fine("plan", "show", task)
    assert "What would change, as of now:\n1. Write\n" in shown
    assert '(empty) → "tea"' in shown
    assert f"--version {version} --preapprove s2" in shown
    wrong = await cli("plan", "approve", task, "--version", version, "--preapprove", "s1")
    assert (wrong.code, "Step 1 (s1) has no references" in wrong.err) == (1, True)
    waits = await cli.fine("plan", "approve", task, "--version", version, "--preapprove", "s2", "--no-start")
    assert "\napproved · version" in waits
    assert f"Start it: parley plan execute {task}" in waits
    done = await cli.fine("plan", "execute", task)
    assert "\ncompleted · version" in done
    assert "allowed with whatever values it gets" in done
    at_once = json.loads(await cli.fine("plan", "store", own, "--no-plan-approval", "--json"))
    assert (at_once["status"], at_once["user_approved"]) == ("executing", False)


async def test_a_plan_is_made_approved_and_carried_out_from_a_terminal(
    cli: Cli, running: Parley, tmp_path: Path
) -> None:
    asked = await cli.fine("plan", "generate", "Paint my house")
    task = asked.split("parley plan answer ")[1].split()[0]
    shown = await cli.fine("plan", "answer", task, 'Call calculate with {"expression": "2 * 3.5"}')
    assert ' 1. Call calculate\n    calculate(expression="2 * 3.5")' in shown
    task, version = shown.split("parley plan approve ")[1].split("\n")[0].split(" --version ")
    ended = await cli("plan", "approve", task, "--version", str(int(version) + 7))
    assert (ended.code, f"Version {version} is the newest" in ended.err) == (1, True)
    done = await cli.fine("plan", "approve", task, "--version", version)
    assert f"\ncompleted · version {version}" in done
    assert "    → 7" in done
    assert "completed  1 step" in await cli.fine("plan", "list")
    assert json.loads(await cli.fine("plan", "show", task, "--json"))["status"] == "completed"
    count = 'Call calculate with {"expression": "1 + 1"}'
    only = await cli.fine("plan", "generate", count, "--tool", "calculate", "--instructions", "Be brief.", "--json")
    made = json.loads(only)
    assert ([step["tool"] for step in made["steps"]], [check["ok"] for check in made["checks"]]) == (
        ["calculate"],
        [True] * 6,
    )
    unknown = await cli("plan", "generate", count, "--tool", "calculat")
    assert (unknown.code, "Do you mean calculate" in unknown.err) == (1, True)
    strange = await cli("plan", "generate", count, "--model", "huge")
    assert (strange.code, "the model “huge” is not configured here" in strange.out) == (1, True)
    own = tmp_path / "plan.json"
    step = {"text": "Count", "tool": "calculate", "arguments": {"expression": "1 + 1"}}
    own.write_text(json.dumps({"description": "Count", "steps": [step]}))
    stored = json.loads(await cli.fine("plan", "store", own, "--json"))
    assert "\ncancelled · " in await cli.fine("plan", "cancel", stored["task_id"])
    await cli.fine("plan", "delete", stored["task_id"])
    missing = await cli("plan", "show", stored["task_id"].replace("t2", "t9"))
    assert (missing.code, "has no task t9" in missing.err) == (1, True)
    nothing = await cli("plan", "answer", task, "7")
    assert (nothing.code, "asks nothing now" in nothing.err) == (1, True)
    unknown = await cli("plan", "show", "nobody")
    assert (unknown.code, "parley plan list" in unknown.err) == (1, True)
    assert "is no plan's task" in (await cli("plan", "show", "../x")).err
    own.write_text("{}")
    assert "is no plan" in (await cli("plan", "store", own)).err


async def test_a_step_of_a_plan_is_skipped_and_versions_are_compared_from_a_terminal(
    cli: Cli, running: Parley, tmp_path: Path
) -> None:
    own = tmp_path / "plan.json"
    first = {"id": "s1", "text": "Divide", "tool": "calculate", "arguments": {"expression": "1 / 0"}}
    second = {
        "id": "s2",
        "text": "Add",
        "tool": "calculate",
        "arguments": {"expression": "{{steps.s1.output}} + 1"},
    }
    own.write_text(json.dumps({"description": "Count", "steps": [first, second]}))
    stored = json.loads(await cli.fine("plan", "store", own, "--json"))
    task = stored["task_id"]
    failed = await cli("plan", "approve", task, "--version", str(stored["version"]))
    assert (failed.code, f"parley plan skip {task} STEP" in failed.out) == (1, True)
    refused = await cli("plan", "skip", task, "s1")
    assert (refused.code, "“Add” (s2)" in refused.err, "with_dependents" in refused.err) == (1, True, True)
    done = await cli.fine("plan", "skip", task, "s1", "--output", "41")
    assert "→ 41 (output given)" in done
    assert "→ 42" in done
    compared = await cli.fine("plan", "diff", task)
    assert f"Version {stored['version']}. Edited by" in compared

    again = json.loads(await cli.fine("plan", "store", own, "--json"))
    task = again["task_id"]
    changed = await cli.fine("plan", "modify", task, 'Call calculate with {"expression": "2 * 3.5"}')
    assert "\npending approval · version" in changed
    compared = await cli.fine("plan", "diff", task)
    assert "Draft by the planner: “Call calculate with" in compared
    assert "removed" in compared
    assert "Not done: 1. " in await cli.fine("plan", "cancel", task)
