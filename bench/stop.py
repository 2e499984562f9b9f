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
from collections.abc import Awaitable, Callable
from pathlib import Path

from parley.client import Connection
from parley.client import Parley as Remote
from parley.events import SessionEvent
from parley.protocol import client as c
from parley.protocol import server as s
from tests.e2e.running import Parley, parley

ROUNDS = 10
SLOW = {"token_delay": 0.2, "times": 1}
SLEEPS = "import time\n\n\ndef main():\n    time.sleep(5)\n\n\nif __name__ == '__main__':\n    main()\n"
REQUEST = c.UserMessage(type="user_message", content="Help me create a simple calculator")
YES = c.Approval(type="approval", approved=True)
Reach = Callable[[Parley, Connection], Awaitable[None]]


async def event(connection: Connection, kind: str) -> SessionEvent:
    """The next event of this type."""
    return (await connection.until(s.Event, lambda message: message.event.type == kind)).event


async def planning(running: Parley, connection: Connection) -> None:
    await running.fault(task="text_plan", **SLOW)
    await connection.send(REQUEST)
    await connection.until(s.Delta, lambda piece: piece.kind == "plan")


async def review(_: Parley, connection: Connection) -> None:
    await connection.send(REQUEST)
    await connection.until(s.TextPlanReview)


async def coding(running: Parley, connection: Connection) -> None:
    await review(running, connection)
    await running.fault(task="code", **SLOW)
    await connection.send(YES)
    await connection.until(s.Delta, lambda piece: piece.kind == "code")


async def verifying(running: Parley, connection: Connection) -> None:
    await review(running, connection)
    await running.fault(task="tests", **SLOW)
    await connection.send(YES)
    await connection.until(s.Delta, lambda piece: piece.kind == "tests")


async def executing(running: Parley, connection: Connection) -> None:
    await review(running, connection)
    await connection.send(YES)
    code = await connection.until(s.CodeReview)
    await connection.send(c.Edit(type="edit", target="code", version=code.version or 0, content=SLEEPS))
    await connection.until(s.CodeReview)
    await connection.send(YES)
    await connection.until(s.Continue)
    await connection.send(c.Run(type="run"))
    await event(connection, "actions.started")


PHASES: dict[str, Reach] = {f.__name__: f for f in (planning, review, coding, verifying, executing)}


async def renamed(connection: Connection) -> float:
    """Milliseconds from sending a rename to its event."""
    began = time.perf_counter()
    await connection.send(c.Rename(type="rename", title="measured"))
    await event(connection, "session.renamed")
    return (time.perf_counter() - began) * 1000


async def stopped(connection: Connection) -> tuple[float, SessionEvent]:
    """Milliseconds from sending stop to hearing that it is done; its event."""
    began = time.perf_counter()
    await connection.send(c.Stop(type="stop"))
    stored = await event(connection, "session.stopped")
    await connection.until(s.Stopped)
    return (time.perf_counter() - began) * 1000, stored


async def last_call(running: Parley, stored: SessionEvent) -> float:
    """Milliseconds from the stored stop to the begin of the last model call: below 0 where none began after it."""
    return (max(float(call["at"]) for call in await running.calls()) - stored.at.timestamp()) * 1000


async def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        async with parley(Path(home)) as running, Remote(running.url) as remote:
            print(
                f"{'phase':<10} {'rename':>8} {'stop':>8} {'ratio':>6} {'worst':>8} {'last call':>10}   (ms, medians)"
            )
            for phase, reach in PHASES.items():
                rows = []
                for _ in range(rounds):
                    async with asyncio.timeout(60), remote.connect() as connection:
                        await reach(running, connection)
                        plain = await renamed(connection)
                        stop, stored = await stopped(connection)
                        rows.append((plain, stop, await last_call(running, stored)))
                plain, stop = (statistics.median(row[i] for row in rows) for i in (0, 1))
                worst, call = (max(row[i] for row in rows) for i in (1, 2))
                print(f"{phase:<10} {plain:>8.1f} {stop:>8.1f} {stop / plain:>6.2f} {worst:>8.1f} {call:>+10.1f}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS))
