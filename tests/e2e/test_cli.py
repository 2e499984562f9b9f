"""The `parley` command against a running Parley: chat, publish, sessions, tail, dead, rebuild, mcp, doctor, Ctrl-C."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from mcp import Client as Assistant

from tests.e2e.browser import Person
from tests.e2e.running import ROOT, Client, Json, Parley, descendants, parley
from tests.integration.test_mcp_parley import program, says

pytestmark = pytest.mark.timeout(180)  # the first of them starts a Parley
REQUEST = "Help me create a simple calculator"


class Ended(NamedTuple):
    code: int
    out: str
    err: str


class Cli:
    """`parley` with the home of a running one."""

    def __init__(self, running: Parley) -> None:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("NATS_", "OPENAI_", "AGENT_"))
        }
        self._environment = kept | {"PARLEY_HOME": str(running.home), "COLUMNS": "200"}

    async def start(self, *words: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "cli.main", *words),
            cwd=ROOT,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**20,
        )

    async def __call__(self, *words: str) -> Ended:
        """Run it to its end."""
        process = await self.start(*words)
        async with asyncio.timeout(60):
            out, err = await process.communicate()
        assert process.returncode is not None
        return Ended(process.returncode, out.decode(), err.decode())

    async def fine(self, *words: str) -> str:
        ended = await self(*words)
        assert ended.code == 0, ended
        return ended.out


@pytest.fixture
def cli(running: Parley) -> Cli:
    return Cli(running)


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
    ended = await cli("chat", "--yes", REQUEST)
    assert ended.code == 0, ended
    assert "def " in ended.out
    newest = (await sessions(running))[0]
    assert newest["state"] == "completed"
    assert f"parley chat --session {newest['id']}" in ended.err


async def test_publish_begins_a_session_that_the_page_lists(cli: Cli, person: Person) -> None:
    tab = await person.tab()
    await tab.sees("example")
    session_id = (await cli.fine("publish", "--text", "Write a program for palindromes")).strip()
    await tab("session-search").fill("palindromes")
    await tab.sees("session-item", "palindromes")
    await tab.press("session-item")
    await tab.state("text_plan_approval")
    assert tab.session_id == session_id


async def test_sessions_are_listed_shown_and_exported(cli: Cli) -> None:
    session_id = (await cli.fine("publish", "--text", "Write a program for roman numerals")).strip()
    await plan_of(cli, session_id)
    assert session_id in await cli.fine("sessions", "roman")
    assert session_id not in await cli.fine("sessions", "no such words")
    assert "4 steps" in await cli.fine("sessions", "show", session_id)
    assert "Write a program for roman numerals" in await cli.fine("sessions", "export", session_id)
    exported = json.loads(await cli.fine("sessions", "export", session_id, "--format", "json"))
    assert "message.received" in json.dumps(exported)
    nothing = await cli("sessions", "export", session_id, "--format", "py")
    assert nothing.code != 0
    assert "Traceback" not in nothing.err


async def plan_of(cli: Cli, session_id: str) -> list[Json]:
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
        told = await plan_of(cli, client.session_id)
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
    assert await plan_of(cli, (await cli.fine("publish", "--text", REQUEST)).strip())


async def test_rebuild_makes_the_same_rows(cli: Cli, running: Parley) -> None:
    async with Client(running.socket_url) as client:
        await client.send(type="user_message", content=REQUEST)
        await client.event("plan.drafted")

    async def settled() -> list[Json]:
        return await sessions(running)

    before = await until(settled, lambda rows: all(row["phase"] not in ("planning", "coding") for row in rows))
    journals = [await get(running, f"/api/sessions/{row['id']}/journal") for row in before]
    ended = await cli("rebuild")
    assert ended.code == 0, ended
    assert (ended.out + ended.err).strip()
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


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_ctrl_c_ends_what_was_started_and_nothing_else(running: Parley, tmp_path: Path) -> None:
    async with parley(tmp_path) as other:
        started = descendants(other.process.pid)
        assert len(started) >= 7
        other.process.send_signal(signal.SIGINT)
        await asyncio.wait_for(other.process.wait(), 10)
        assert list(filter(alive, started)) == []
        assert not (tmp_path / "running.json").exists()
    assert await get(running, "/readyz")
