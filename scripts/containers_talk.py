"""The conversation of the README over `/ws` of a running stack, told what to do at its moments."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from parley.client import Connection, Parley
from parley.client.connection import Received
from parley.client.socket import Link
from parley.events import SessionEvent
from parley.protocol import client as c
from parley.protocol import server as s
from scripts.containers_stack import Failed, must

PATIENCE = 90.0  # seconds for one answer: a message of a killed container is delivered again after 12
REQUEST = "Help me create a simple calculator"
LONG = (
    "import time\n\n\ndef main():\n    time.sleep(4)\n    print('done')\n\n\nif __name__ == '__main__':\n    main()\n"
)
Disturb = Callable[[], Awaitable[None]]


class Talk:
    """A socket that comes back by itself, and all that it was sent."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._came: asyncio.Queue[Received] = asyncio.Queue()
        self.events: list[SessionEvent] = []

    async def listen(self) -> None:
        async for message in self._connection:
            if isinstance(message, Link):
                continue  # the link is down, or up again
            if isinstance(message, s.Event):
                self.events.append(message.event)
            await self._came.put(message)

    async def says(self, message: c.ClientMessage) -> None:
        await self._connection.send(message)

    async def until(self, fits: Callable[[Received], Any], what: str) -> Any:
        """The next message that fits. Raises Failed for an error, and when it takes too long."""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    message = await self._came.get()
                    must(not isinstance(message, s.Error), f"waiting for {what}: {message}")
                    if fits(message):
                        return message
        except TimeoutError:
            raise Failed(f"no {what} within {PATIENCE:.0f} s; so far: {[one.type for one in self.events]}") from None

    async def event(self, kind: str) -> Any:
        """The next event of this type."""
        return (await self.until(lambda one: isinstance(one, s.Event) and one.event.type == kind, kind)).event

    async def kind[M](self, kind: type[M]) -> M:
        """The next message of this class."""
        found: M = await self.until(lambda one: isinstance(one, kind), kind.__name__)
        return found

    async def approves(self, shown: s.TextPlanReview | s.CodeReview) -> None:
        await self.says(c.Approval(type="approval", approved=True, version=shown.version, hash=shown.hash))

    def whole(self) -> int:
        """How many events there were. Raises Failed unless each came once and in order."""
        versions = [event.version for event in self.events]
        must(versions == list(range(1, len(versions) + 1)), f"the events' versions were {versions}")
        return len(versions)


@asynccontextmanager
async def talk(url: str, token: str) -> AsyncIterator[Talk]:
    """A new session with whoever is behind this URL."""
    async with Parley(url, token=token) as parley, parley.connect() as connection:
        here = Talk(connection)
        reading = asyncio.create_task(here.listen())
        try:
            yield here
        finally:
            reading.cancel()


async def plainly(here: Talk) -> str:
    """Plan, feedback, approval, code, approval, run."""
    greeting = await here.kind(s.Greeting)
    must(greeting.can_run_code, "the gateway says that code cannot be run here")
    await here.says(c.UserMessage(type="user_message", content=REQUEST))
    first = await here.kind(s.TextPlanReview)
    await here.says(c.Feedback(type="feedback", content="Add a step to write a short help text"))
    second = await here.kind(s.TextPlanReview)
    must(len(second.steps) == len(first.steps) + 1, "the feedback changed nothing")
    await here.approves(second)
    code = await here.kind(s.CodeReview)
    must(all(check.ok for check in code.checks) and len(code.checks) > 2, f"the checks of the code: {code.checks}")
    await here.approves(code)
    await here.event("code.approved")
    await here.says(c.Run(type="run", stdin="1 + 2\n"))
    (ran,) = (await here.event("actions.finished")).outcomes
    must(ran.ok, f"the run ended with {ran.result}")
    await here.event("turn.verified")
    return f"plan, feedback, approval, code, approval, run: {here.whole()} events"


async def disturbed(here: Talk, *, planning: Disturb, running: Disturb) -> str:
    """The same with code of one's own that takes its time, and somebody who breaks things at two moments."""
    await here.says(c.UserMessage(type="user_message", content=REQUEST))
    await here.until(lambda one: isinstance(one, s.Delta) and one.kind == "plan", "piece of a plan")
    await planning()
    await here.approves(await here.kind(s.TextPlanReview))
    code = await here.kind(s.CodeReview)
    await here.says(c.Edit(type="edit", target="code", version=code.version or 0, content=LONG))
    await here.approves(await here.kind(s.CodeReview))
    await here.event("code.approved")
    await here.says(c.Run(type="run"))
    await here.event("actions.started")
    await running()
    (ran,) = (await here.event("actions.finished")).outcomes
    must(ran.ok and ran.result["stdout"] == "done\n", f"the run ended with {ran.result}")
    await here.event("turn.verified")
    told = [one.type for one in here.events]
    must(told.count("plan.drafted") == told.count("actions.finished") == 1, f"something was done twice: {told}")
    return f"the conversation ended as if nothing had happened: {here.whole()} events"
