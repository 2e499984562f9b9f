"""Fuzzes a whole running Parley over WebSocket and REST: `python -m bench.fuzz --frames 200000 --seed 1`

Parley must answer everything without an internal error, keep running and not leak memory. Prints the answers, and each
service's memory after the warm-up and at the end. Exit status 1 on any violation.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.rest_fuzz import fuzz_rest
from bench.websocket_fuzz import WebSocketFuzzer, WebSocketResult
from parley.client import Parley as Remote
from parley.protocol import client as c
from parley.protocol import server as s
from shared.services import SERVICES
from tests.e2e.parley_process import RunningParley, running_parley

MAX_GROWTH, GROWTH_MARGIN_MB = (
    1.25,
    24.0,
)  # allowed growth of a service's memory after the warm-up: a quarter plus 24 MB
WARM_UP_SHARE = 0.1
ENVIRONMENT = {"MAX_REQUESTS_PER_SECOND": "0", "MAX_RUNNING_SESSIONS_PER_USER": "0", "ACK_WAIT": "12"}


def megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def processes(running: RunningParley) -> dict[str, int]:
    return {name: running.pid_of(name) for name in SERVICES}


def memory(pids: dict[str, int]) -> dict[str, float]:
    return {name: megabytes(pid) for name, pid in pids.items()}


def logged_errors(home: Path) -> Counter[str]:
    """Errors in the services' logs, with how often each occurred."""
    counts: Counter[str] = Counter()
    for path in sorted((home / "logs").glob("*.log")):
        for line in path.read_text(errors="replace").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record.get("level") in ("error", "critical"):
                last = str(record.get("exception", record.get("error", ""))).strip().splitlines()[-1:] or [""]
                counts[f"{path.stem}: {record.get('event')} {last[0][:160]}"] += 1
    return counts


async def check_conversation(running: RunningParley) -> None:
    """Check that a conversation still reaches its code review. Raises Refused, TimeoutError."""
    async with asyncio.timeout(240), Remote(running.url) as remote, remote.connect() as connection:
        await connection.send(c.UserMessage(type="user_message", content="Help me create a simple calculator"))
        plan = await connection.until(s.TextPlanReview)
        await connection.send(c.Approval(type="approval", approved=True, version=plan.version))
        await connection.until(s.CodeReview)


async def fuzz(frames: int, requests: int, seed: int, concurrency: int) -> int:
    with tempfile.TemporaryDirectory(prefix="parley-fuzz-") as folder:
        async with running_parley(Path(folder), **ENVIRONMENT) as running:
            await check_conversation(running)
            pids = processes(running)
            warm = max(int(frames * WARM_UP_SHARE), 1)
            first = await _fuzz_sockets(running, seed, warm, concurrency)
            before = memory(pids)
            rest = await _fuzz_sockets(running, seed + 1, frames - warm, concurrency)
            over_rest = await asyncio.to_thread(fuzz_rest, running.url, requests, seed)
            await check_conversation(running)
            after = memory(pids)
            wrong = [*first.violations, *rest.violations, *over_rest.violations, *_memory_violations(before, after)]
            if processes(running) != pids:
                wrong.append(f"a service was started again: {pids} became {processes(running)}")
            _print_result(first, "warm-up")
            _print_result(rest, "sockets")
            print(f"REST: {over_rest.requests} requests, answered {dict(sorted(over_rest.statuses.items()))}")
            print("memory, MB after warm-up and at the end:")
            for name in SERVICES:
                print(f"  {name:11} {before[name]:7.1f} {after[name]:7.1f}")
        faults = logged_errors(Path(folder))
    for line, times in faults.most_common(20):
        print(f"logged {times} times: {line}")
    for line in wrong[:20]:
        print(f"WRONG: {line[:400]}")
    print(f"seed {seed}: {len(wrong)} wrong, {sum(faults.values())} faults in the logs")
    return 1 if wrong or faults else 0


async def _fuzz_sockets(running: RunningParley, seed: int, frames: int, concurrency: int) -> WebSocketResult:
    began = time.monotonic()
    result = await WebSocketFuzzer(running.socket_url, seed=seed, frames=frames, concurrency=concurrency).run()
    print(f"{result.frames} frames over {result.sockets} sockets in {time.monotonic() - began:.0f} s", flush=True)
    return result


def _memory_violations(before: dict[str, float], after: dict[str, float]) -> list[str]:
    return [
        f"{name} grew from {before[name]:.0f} to {after[name]:.0f} MB"
        for name in before
        if after[name] > before[name] * MAX_GROWTH + GROWTH_MARGIN_MB
    ]


def _print_result(result: WebSocketResult, name: str) -> None:
    print(f"{name}: errors {dict(result.errors.most_common())}")
    print(f"{name}: messages {dict(result.messages.most_common())}")
    print(f"{name}: closed {dict(result.close_codes)}, {result.lost_connections} lost")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=200_000)
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=16)
    args = parser.parse_args()
    sys.exit(asyncio.run(fuzz(args.frames, args.requests, args.seed, args.at_once)))


if __name__ == "__main__":
    main()
