"""How fast does stop take effect, and does a model call begin after it? `python -m bench.stop_latency [rounds]`

Starts a whole Parley and sends stop in each phase of a conversation. Compares the time until the socket says `stopped`
with the cheapest command: the time from a rename to its event. Prints milliseconds, their ratio, and by how much the
last model call began before (-) or after (+) the stop was stored.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from parley.client import Connection
from parley.client import Parley as Remote
from parley.events import SessionEvent
from parley.protocol import client as c
from parley.protocol import server as s
from tests.e2e.parley_process import RunningParley, running_parley

ROUNDS = 10
SLOW_REPLY = {"token_delay": 0.2, "times": 1}
SLEEPING_PROGRAM = "import time\n\n\ndef main():\n    time.sleep(5)\n\n\nif __name__ == '__main__':\n    main()\n"
REQUEST = c.UserMessage(type="user_message", content="Help me create a simple calculator")
APPROVAL = c.Approval(type="approval", approved=True)
Reach = Callable[[RunningParley, Connection], Awaitable[None]]


async def next_event(connection: Connection, kind: str) -> SessionEvent:
    """The next event of this type."""
    return (await connection.until(s.EventMessage, lambda message: message.event.type == kind)).event


async def planning(running: RunningParley, connection: Connection) -> None:
    await running.add_fault(task="text_plan", **SLOW_REPLY)
    await connection.send(REQUEST)
    await connection.until(s.Delta, lambda piece: piece.kind == "plan")


async def review(_: RunningParley, connection: Connection) -> None:
    await connection.send(REQUEST)
    await connection.until(s.TextPlanReview)


async def coding(running: RunningParley, connection: Connection) -> None:
    await review(running, connection)
    await running.add_fault(task="code", **SLOW_REPLY)
    await connection.send(APPROVAL)
    await connection.until(s.Delta, lambda piece: piece.kind == "code")


async def verifying(running: RunningParley, connection: Connection) -> None:
    await review(running, connection)
    await running.add_fault(task="tests", **SLOW_REPLY)
    await connection.send(APPROVAL)
    await connection.until(s.Delta, lambda piece: piece.kind == "tests")


async def executing(running: RunningParley, connection: Connection) -> None:
    await review(running, connection)
    await connection.send(APPROVAL)
    code = await connection.until(s.CodeReview)
    await connection.send(c.Edit(type="edit", target="code", version=code.version or 0, content=SLEEPING_PROGRAM))
    await connection.until(s.CodeReview)
    await connection.send(APPROVAL)
    await connection.until(s.Continue)
    await connection.send(c.Run(type="run"))
    await next_event(connection, "actions.started")


PHASES: dict[str, Reach] = {f.__name__: f for f in (planning, review, coding, verifying, executing)}


async def time_rename(connection: Connection) -> float:
    """Milliseconds from sending a rename to its event."""
    began = time.perf_counter()
    await connection.send(c.Rename(type="rename", title="measured"))
    await next_event(connection, "session.renamed")
    return (time.perf_counter() - began) * 1000


async def time_stop(connection: Connection) -> tuple[float, SessionEvent]:
    """Milliseconds from sending stop to the message `stopped`, and the stop's event."""
    began = time.perf_counter()
    await connection.send(c.Stop(type="stop"))
    stored = await next_event(connection, "session.stopped")
    await connection.until(s.Stopped)
    return (time.perf_counter() - began) * 1000, stored


async def last_call(running: RunningParley, stored: SessionEvent) -> float:
    """Milliseconds from the stored stop to the start of the last model call; negative if none began after the stop."""
    return (max(float(call["at"]) for call in await running.model_calls()) - stored.at.timestamp()) * 1000


async def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        async with running_parley(Path(home)) as running, Remote(running.url) as remote:
            print(
                f"{'phase':<10} {'rename':>8} {'stop':>8} {'ratio':>6} {'worst':>8} {'last call':>10}   (ms, medians)"
            )
            for phase, reach in PHASES.items():
                rows = []
                for _ in range(rounds):
                    async with asyncio.timeout(60), remote.connect() as connection:
                        await reach(running, connection)
                        plain = await time_rename(connection)
                        stop, stored = await time_stop(connection)
                        rows.append((plain, stop, await last_call(running, stored)))
                plain, stop = (statistics.median(row[i] for row in rows) for i in (0, 1))
                worst, call = (max(row[i] for row in rows) for i in (1, 2))
                print(f"{phase:<10} {plain:>8.1f} {stop:>8.1f} {stop / plain:>6.2f} {worst:>8.1f} {call:>+10.1f}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS))
