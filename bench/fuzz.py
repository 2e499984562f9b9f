"""Random frames and requests against a whole running Parley: `python -m bench.fuzz --frames 200000 --seed 1`

It must answer all of them without a fault of its own, live on, and not grow. Prints what it answered, and the memory of
each service after a tenth of it and at the end. Exit status 1 where anything was not as it must be.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.assault import Assault, Told
from bench.requests_fuzz import told_over_rest
from parley.client import Parley as Remote
from parley.protocol import client as c
from parley.protocol import server as s
from shared.services import SERVICES
from tests.e2e.running import Parley, parley

GROWTH, SLACK = 1.25, 24.0  # of a service's memory after the warm-up: by a quarter and 24 MB at most
WARM_UP = 0.1
ENVIRONMENT = {"MAX_REQUESTS_PER_SECOND": "0", "MAX_RUNNING_SESSIONS_PER_USER": "0", "ACK_WAIT": "12"}


def megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def processes(running: Parley) -> dict[str, int]:
    return {name: running.pid_of(name) for name in SERVICES}


def memory(pids: dict[str, int]) -> dict[str, float]:
    return {name: megabytes(pid) for name, pid in pids.items()}


def complaints(home: Path) -> Counter[str]:
    """What the services logged as their own fault."""
    found: Counter[str] = Counter()
    for path in sorted((home / "logs").glob("*.log")):
        for line in path.read_text(errors="replace").splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if said.get("level") in ("error", "critical"):
                last = str(said.get("exception", said.get("error", ""))).strip().splitlines()[-1:] or [""]
                found[f"{path.stem}: {said.get('event')} {last[0][:160]}"] += 1
    return found


async def talks(running: Parley) -> None:
    """A conversation up to code, as if nothing had been. Raises Refused, TimeoutError."""
    async with asyncio.timeout(240), Remote(running.url) as remote, remote.connect() as connection:
        await connection.send(c.UserMessage(type="user_message", content="Help me create a simple calculator"))
        plan = await connection.until(s.TextPlanReview)
        await connection.send(c.Approval(type="approval", approved=True, version=plan.version))
        await connection.until(s.CodeReview)


async def fuzz(frames: int, requests: int, seed: int, at_once: int) -> int:
    with tempfile.TemporaryDirectory(prefix="parley-fuzz-") as folder:
        async with parley(Path(folder), **ENVIRONMENT) as running:
            await talks(running)
            pids = processes(running)
            warm = max(int(frames * WARM_UP), 1)
            first = await _sockets(running, seed, warm, at_once)
            before = memory(pids)
            rest = await _sockets(running, seed + 1, frames - warm, at_once)
            over_rest = await asyncio.to_thread(told_over_rest, running.url, requests, seed)
            await talks(running)
            after = memory(pids)
            wrong = [*first.wrong, *rest.wrong, *over_rest.wrong, *_grown(before, after)]
            if processes(running) != pids:
                wrong.append(f"a service was started again: {pids} became {processes(running)}")
            _show(first, "warm-up")
            _show(rest, "sockets")
            print(f"REST: {over_rest.requests} requests, answered {dict(sorted(over_rest.statuses.items()))}")
            print("memory, MB after warm-up and at the end:")
            for name in SERVICES:
                print(f"  {name:11} {before[name]:7.1f} {after[name]:7.1f}")
        faults = complaints(Path(folder))
    for line, times in faults.most_common(20):
        print(f"logged {times} times: {line}")
    for line in wrong[:20]:
        print(f"WRONG: {line[:400]}")
    print(f"seed {seed}: {len(wrong)} wrong, {sum(faults.values())} faults in the logs")
    return 1 if wrong or faults else 0


async def _sockets(running: Parley, seed: int, frames: int, at_once: int) -> Told:
    began = time.monotonic()
    told = await Assault(running.socket_url, seed=seed, frames=frames, at_once=at_once).run()
    print(f"{told.frames} frames over {told.sockets} sockets in {time.monotonic() - began:.0f} s", flush=True)
    return told


def _grown(before: dict[str, float], after: dict[str, float]) -> list[str]:
    return [
        f"{name} grew from {before[name]:.0f} to {after[name]:.0f} MB"
        for name in before
        if after[name] > before[name] * GROWTH + SLACK
    ]


def _show(told: Told, name: str) -> None:
    print(f"{name}: errors {dict(told.errors.most_common())}")
    print(f"{name}: messages {dict(told.messages.most_common())}, closed {dict(told.closed)}, {told.lost} lost")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=16)
    asked = parser.parse_args()
    sys.exit(asyncio.run(fuzz(asked.frames, asked.requests, asked.seed, asked.at_once)))


if __name__ == "__main__":
    main()
