"""How soon is stop on the screen, and does a model call begin after it? `python -m bench.stop [rounds]`

A whole Parley is started; in each phase of a conversation stop is sent, and the time until the socket says `stopped`
is compared with the plainest thing a client can do: rename the session and see the event. Prints milliseconds, their
ratio, and by how much the last begun model call precedes (-) or follows (+) the stored stop.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from tests.e2e.running import Client, Parley, parley

ROUNDS = 10
SLOW = {"token_delay": 0.2, "times": 1}
SLEEPS = "import time\n\n\ndef main():\n    time.sleep(5)\n\n\nif __name__ == '__main__':\n    main()\n"
Reach = Callable[[Parley, Client], Awaitable[None]]


async def planning(running: Parley, client: Client) -> None:
    await running.fault(task="text_plan", **SLOW)
    await client.send(type="user_message", content="Help me create a simple calculator")
    await client.until("delta", kind="plan")


async def review(_: Parley, client: Client) -> None:
    await client.send(type="user_message", content="Help me create a simple calculator")
    await client.until("text_plan_review")


async def coding(running: Parley, client: Client) -> None:
    await review(running, client)
    await running.fault(task="code", **SLOW)
    await client.send(type="approval", approved=True)
    await client.until("delta", kind="code")


async def verifying(running: Parley, client: Client) -> None:
    await review(running, client)
    await running.fault(task="tests", **SLOW)
    await client.send(type="approval", approved=True)
    await client.until("delta", kind="tests")


async def executing(running: Parley, client: Client) -> None:
    await review(running, client)
    await client.send(type="approval", approved=True)
    code = await client.until("code_review")
    await client.send(type="edit", target="code", version=code["version"], content=SLEEPS)
    await client.until("code_review")
    await client.send(type="approval", approved=True)
    await client.until("continue")
    await client.send(type="run")
    await client.event("actions.started")


PHASES: dict[str, Reach] = {f.__name__: f for f in (planning, review, coding, verifying, executing)}


@asynccontextmanager
async def in_phase(running: Parley, reach: Reach) -> AsyncIterator[Client]:
    async with Client(running.socket_url) as client:
        await reach(running, client)
        yield client


async def timed(client: Client, wanted: str, **message: str) -> float:
    """Milliseconds from sending the message to hearing of it."""
    began = time.perf_counter()
    await client.send(**message)
    await (client.event(wanted) if "." in wanted else client.until(wanted))
    return (time.perf_counter() - began) * 1000


async def last_call(running: Parley, client: Client) -> float:
    """Milliseconds from the stored stop to the begin of the last model call: below 0 where none began after it."""
    stopped = next(event for event in client.events if event["type"] == "session.stopped")
    at = datetime.fromisoformat(stopped["at"]).timestamp()
    return (max(float(call["at"]) for call in await running.calls()) - at) * 1000


async def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        async with parley(Path(home)) as running:
            print(
                f"{'phase':<10} {'rename':>8} {'stop':>8} {'ratio':>6} {'worst':>8} {'last call':>10}   (ms, medians)"
            )
            for phase, reach in PHASES.items():
                rows = []
                for _ in range(rounds):
                    async with in_phase(running, reach) as client:
                        plain = await timed(client, "session.renamed", type="rename", title="measured")
                        stop = await timed(client, "stopped", type="stop")
                        rows.append((plain, stop, await last_call(running, client)))
                plain, stop = (statistics.median(row[i] for row in rows) for i in (0, 1))
                worst, call = (max(row[i] for row in rows) for i in (1, 2))
                print(f"{phase:<10} {plain:>8.1f} {stop:>8.1f} {stop / plain:>6.2f} {worst:>8.1f} {call:>+10.1f}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS))
