"""docker-compose.yml tried for real: built, started, talked to, scaled, broken, looked at, and removed again.

Run by `scripts/try-containers`, which finds a Docker engine.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from scripts import containers_checks as checks
from scripts.containers_attacks import attacked
from scripts.containers_stack import IMAGE, Failed, Stack, must
from scripts.containers_talk import disturbed, plainly, talk

BEGAN = time.monotonic()
MODEL_PORT = f"{23333:04X}"  # as /proc/net/tcp writes it
ESTABLISHED = "01"
IDLE = 6.0  # seconds after which no connection to the model is left that nothing is asked over
SLOWLY = (
    "import json, urllib.request as r; r.urlopen(r.Request('http://127.0.0.1:23333/faults', method='POST', "
    "headers={'Content-Type': 'application/json'}, data=json.dumps("
    "{'task': 'text_plan', 'token_delay': 0.25, 'times': 1}).encode()))"
)


def say(text: str) -> None:
    sys.stdout.write(f"containers {time.monotonic() - BEGAN:4.0f} s  {text}\n")
    sys.stdout.flush()


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Failures say what was being done."""
    try:
        yield
    except Failed as failed:
        raise Failed(f"{what}: {failed}") from failed


def main() -> int:
    stack = Stack()
    try:
        with stack.gone_at_the_end():
            _from_nothing(stack)
            asyncio.run(_conversation(stack))
            for check in (checks.hardened, checks.published, checks.kept_apart):
                say(check(stack))
            asyncio.run(_broken(stack))
            say(checks.undisclosed(stack, stack.secrets()))
            say(checks.at_peace(stack))
            for line in attacked(stack):
                say(line)
    except Failed as failed:
        say(f"FAILED: {failed}")
        return 1
    say("all removed")
    return 0


def _from_nothing(stack: Stack) -> None:
    with naming("docker-compose up --build"):
        stack.compose("up", "--build", "-d")
        say("built and started")
        stack.healthy()
    size = int(stack.docker("inspect", "-f", "{{.Size}}", IMAGE))
    base = int(stack.docker("inspect", "-f", "{{.Size}}", "python:3.13-slim"))
    say(f"healthy; the image is {(size - base) / 1e6:.0f} MB on top of its base")


async def _conversation(stack: Stack) -> None:
    with naming("the conversation"):
        async with talk(stack.url, await asyncio.to_thread(stack.token)) as here:
            say(await plainly(here))


async def _broken(stack: Stack) -> None:
    """Three planners, of which the busy one is killed; an executor whose process is killed while a program runs."""
    killed: list[str] = []

    def kill_planner() -> None:
        busy = [one.name for one in stack.containers("planner") if _asks_the_model(stack, one.name)]
        must(len(busy) == 1, f"planners at work: {busy}")
        stack.docker("kill", busy[0])
        killed.append(busy[0])
        say(f"{busy[0]} killed while it was planning")

    def crash_executor() -> None:
        name = stack.one("executor").name
        stack.works(name, "kill -9 -1")  # all but the first process of the container, which then ends
        say(f"{name} crashed while a program ran")

    with naming("scaled and broken"):
        stack.compose("up", "-d", "--scale", "planner=3", "--scale", "plan_store=2")
        stack.healthy(planner=3, plan_store=2)
        say("3 planners and 2 plan_stores are healthy")
        await asyncio.sleep(IDLE)
        stack.inside(stack.one("rehearsal").name, "python", "-c", SLOWLY)
        async with talk(stack.url, stack.token()) as here:
            breaking = (lambda: asyncio.to_thread(kill_planner), lambda: asyncio.to_thread(crash_executor))
            say(await disturbed(here, planning=breaking[0], running=breaking[1]))
        stack.docker("start", *killed)
        stack.healthy(planner=3, plan_store=2)
        restarts = stack.one("executor").told["RestartCount"]
        must(restarts == 1, f"the executor was restarted {restarts} times")
        say("the executor was restarted by Docker, and all are healthy again")


def _asks_the_model(stack: Stack, container: str) -> bool:
    """Whether it has a connection to the model."""
    lines = stack.inside(container, "cat", "/proc/net/tcp").splitlines()[1:]
    return any(line.split()[2].endswith(f":{MODEL_PORT}") and line.split()[3] == ESTABLISHED for line in lines)


if __name__ == "__main__":
    sys.exit(main())
