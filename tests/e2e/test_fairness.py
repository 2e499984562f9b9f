"""A greedy user does not slow another user down. The test prints its measurements."""

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from tests.e2e.parley_process import ROOT, RunningParley, running_parley
from tests.support import greedy
from tests.support.http_client import http_client

pytestmark = pytest.mark.long
SECONDS = 6.0  # duration of each attack
# Limits in seconds while other tests run; on two idle cores the times are at most a fifth of these.
MAX_ANSWER_TIME, MAX_PLAN_TIME = 5.0, 15.0
MAX_MEMORY = 400  # MB of the gateway
KEYS = {"greedy": "key-of-the-greedy-user", "other": "key-of-the-other-user"}


class OtherUser:
    """Another user, and the times in seconds of their requests for /api/me and for plans."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http
        self.answers: list[float] = []
        self.plans: list[float] = []

    async def request_continuously(self) -> None:
        while True:
            began = time.perf_counter()
            (await self._http.get("/api/me")).raise_for_status()
            self.answers.append(time.perf_counter() - began)
            await asyncio.sleep(0.05)

    async def plan(self) -> None:
        began = time.perf_counter()
        answer = await self._http.post("/api/sessions", json={"request": greedy.REQUEST})
        session_id = answer.raise_for_status().json()["session_id"]
        while (await self._http.get(f"/api/sessions/{session_id}")).json()["phase"] != "awaiting_approval":  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        self.plans.append(time.perf_counter() - began)

    @property
    def slowest(self) -> float:
        """The 95th percentile of the answer times."""
        return statistics.quantiles(self.answers, n=20)[-1]


@asynccontextmanager
async def other_user(running: RunningParley) -> AsyncIterator[OtherUser]:
    headers = {"Authorization": f"Bearer {KEYS['other']}"}
    async with http_client(base_url=running.url, headers=headers) as http:
        yield OtherUser(http)


def memory(running: RunningParley) -> int:
    """The gateway's memory in MB."""
    status = Path(f"/proc/{running.pid_of('gateway')}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) // 1024


async def watch_memory(running: RunningParley, largest: list[int]) -> None:
    while True:
        largest.append(memory(running))
        await asyncio.sleep(0.5)


async def baseline_time(other: OtherUser) -> float:
    """The 95th percentile of the answer times while no other user is active."""
    task = asyncio.create_task(other.request_continuously())
    await asyncio.sleep(3)
    task.cancel()
    slowest, other.answers = other.slowest, []
    return slowest


@pytest.mark.parametrize("attack", greedy.WAYS)
async def test_other_users_are_served_during_an_attack(attack: str, tmp_path: Path) -> None:
    keys = ",".join(f"{name}={key}" for name, key in KEYS.items())
    async with (
        running_parley(tmp_path, PARLEY_AUTH="keys", PARLEY_API_KEYS=keys) as running,
        other_user(running) as other,
    ):
        await other.plan()
        baseline, sizes = await baseline_time(other), [memory(running)]
        program = ("-m", "tests.support.greedy", attack, running.url, KEYS["greedy"], str(SECONDS))
        process = await asyncio.create_subprocess_exec(sys.executable, *program, cwd=ROOT)
        tasks = [asyncio.create_task(other.request_continuously()), asyncio.create_task(watch_memory(running, sizes))]
        while process.returncode is None and len(other.plans) < 6:
            await asyncio.sleep(2)
            await other.plan()
        await process.wait()
        await other.plan()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    plans = ", ".join(f"{seconds:.1f}" for seconds in other.plans)
    answers = f"/api/me {1000 * other.slowest:.0f} ms ({1000 * baseline:.0f} ms before)"
    print(f"\n{attack}: {answers}; plans after {plans} s; {sizes[0]} to {max(sizes)} MB")
    assert process.returncode == 0
    assert other.slowest < MAX_ANSWER_TIME
    assert max(other.plans) < MAX_PLAN_TIME
    assert max(sizes) < MAX_MEMORY


SLOW_TOOL = '''
import asyncio
from pathlib import Path

from pydantic import BaseModel

from parley import Context, Pack, tool


class Nothing(BaseModel):
    pass


class Wait(BaseModel):
    path: str


@tool(seconds=120)
async def wait_for_file(call: Wait, context: Context) -> str:
    """Waits until a file exists."""
    while not Path(call.path).exists():
        await asyncio.sleep(0.1)
    return "there"


@tool()
async def answer_at_once(call: Nothing, context: Context) -> str:
    """Answers at once."""
    return "done"


pack = Pack("slow", [wait_for_file, answer_at_once])
'''


async def start_plan(http: httpx2.AsyncClient, tool: str, **arguments: str) -> str:
    """Start a plan of one call, and return its task id."""
    step = {"id": "s1", "tool": tool, "text": "Call it", "arguments": arguments}
    stored = await http.post("/api/execution-plans/store", json={"description": "d", "steps": [step]})
    plan = stored.raise_for_status().json()
    approval = {"version": plan["version"], "hash": plan["hash"], "timeout": 0}
    (await http.post(f"/api/execution-plans/{plan['task_id']}/approve", json=approval)).raise_for_status()
    return str(plan["task_id"])


@pytest.mark.races
async def test_a_call_is_made_while_another_users_slow_calls_run(tmp_path: Path) -> None:
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "slow.py").write_text(SLOW_TOOL)
    end = tmp_path / "end"
    keys = ",".join(f"{name}={key}" for name, key in KEYS.items())
    settings = {"PARLEY_AUTH": "keys", "PARLEY_API_KEYS": keys, "PARLEY_PACKS_DIR": str(tmp_path / "packs")}
    async with running_parley(tmp_path, **settings) as running:
        clients = [
            http_client(base_url=running.url, headers={"Authorization": f"Bearer {key}"}) for key in KEYS.values()
        ]
        greedy_user, other = clients
        slow = [await start_plan(greedy_user, "wait_for_file", path=str(end)) for _ in range(8)]
        quick = await start_plan(other, "answer_at_once")
        while (await other.get(f"/api/execution-plans/{quick}/status")).json()["status"] != "completed":  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        statuses = [(await greedy_user.get(f"/api/execution-plans/{task}/status")).json()["status"] for task in slow]
        assert set(statuses) == {"executing"}
        end.touch()
        for task in slow:  # each of them gets its turn
            while (await greedy_user.get(f"/api/execution-plans/{task}/status")).json()["status"] != "completed":  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        for client in clients:
            await client.aclose()
