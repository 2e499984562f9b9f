"""Tests docker-compose.yml for real: build, start, run a conversation, scale, break, check, and remove everything.

Run by `scripts/try-containers`, which finds a Docker engine.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from scripts import containers_checks as checks
from scripts.containers_attacks import run_attacks
from scripts.containers_conversation import run_conversation, run_disturbed_conversation, stack_client
from scripts.containers_stack import IMAGE, CheckFailed, Stack, require

BEGAN = time.monotonic()
MODEL_PORT = f"{23333:04X}"  # the port in the format of /proc/net/tcp
ESTABLISHED = "01"
IDLE_SECONDS = 6.0  # after which idle connections to the model are closed
SLOW_MODEL_SCRIPT = (
    "import json, urllib.request as r; r.urlopen(r.Request('http://127.0.0.1:23333/faults', method='POST', "
    "headers={'Content-Type': 'application/json'}, data=json.dumps("
    "{'task': 'text_plan', 'token_delay': 0.25, 'times': 1}).encode()))"
)


def log(text: str) -> None:
    sys.stdout.write(f"containers {time.monotonic() - BEGAN:4.0f} s  {text}\n")
    sys.stdout.flush()


@contextmanager
def step(what: str) -> Iterator[None]:
    """Prefix failures inside the block with the name of the step."""
    try:
        yield
    except CheckFailed as failed:
        raise CheckFailed(f"{what}: {failed}") from failed


def main() -> int:
    stack = Stack()
    try:
        with stack.cleaned_up():
            _start(stack)
            asyncio.run(_conversation(stack))
            for check in (checks.check_hardening, checks.check_published_ports, checks.check_secret_isolation):
                log(check(stack))
            asyncio.run(_scale_and_break(stack))
            log(checks.check_secrets_undisclosed(stack, stack.secrets()))
            log(checks.check_logs(stack))
            for line in run_attacks(stack):
                log(line)
    except CheckFailed as failed:
        log(f"FAILED: {failed}")
        return 1
    log("all removed")
    return 0


def _start(stack: Stack) -> None:
    with step("docker-compose up --build"):
        stack.compose("up", "--build", "-d")
        log("built and started")
        stack.wait_until_healthy()
    size = int(stack.docker("inspect", "-f", "{{.Size}}", IMAGE))
    base = int(stack.docker("inspect", "-f", "{{.Size}}", "python:3.13-slim"))
    log(f"healthy; the image is {(size - base) / 1e6:.0f} MB on top of its base")


async def _conversation(stack: Stack) -> None:
    with step("the conversation"):
        async with stack_client(stack.url, await asyncio.to_thread(stack.token)) as client:
            log(await run_conversation(client))


async def _scale_and_break(stack: Stack) -> None:
    """Scale to three planners, kill the busy one, and crash the executor while a program runs."""
    killed: list[str] = []

    def kill_planner() -> None:
        busy = [container.name for container in stack.containers("planner") if _is_calling_model(stack, container.name)]
        require(len(busy) == 1, f"planners at work: {busy}")
        stack.docker("kill", busy[0])
        killed.append(busy[0])
        log(f"{busy[0]} killed while it was planning")

    def crash_executor() -> None:
        name = stack.container_of("executor").name
        stack.succeeds(name, "kill -9 -1")  # all processes but the container's first, which then ends
        log(f"{name} crashed while a program ran")

    with step("scaled and broken"):
        stack.compose("up", "-d", "--scale", "planner=3", "--scale", "plan_store=2")
        stack.wait_until_healthy(planner=3, plan_store=2)
        log("3 planners and 2 plan_stores are healthy")
        await asyncio.sleep(IDLE_SECONDS)
        stack.execute(stack.container_of("rehearsal").name, "python", "-c", SLOW_MODEL_SCRIPT)
        async with stack_client(stack.url, stack.token()) as client:
            breaking = (lambda: asyncio.to_thread(kill_planner), lambda: asyncio.to_thread(crash_executor))
            log(await run_disturbed_conversation(client, planning=breaking[0], running=breaking[1]))
        stack.docker("start", *killed)
        stack.wait_until_healthy(planner=3, plan_store=2)
        restarts = stack.container_of("executor").details["RestartCount"]
        require(restarts == 1, f"the executor was restarted {restarts} times")
        log("the executor was restarted by Docker, and all are healthy again")


def _is_calling_model(stack: Stack, container: str) -> bool:
    """Whether the container has an open connection to the model."""
    lines = stack.execute(container, "cat", "/proc/net/tcp").splitlines()[1:]
    return any(line.split()[2].endswith(f":{MODEL_PORT}") and line.split()[3] == ESTABLISHED for line in lines)


if __name__ == "__main__":
    sys.exit(main())
