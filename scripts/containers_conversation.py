"""The README's conversation over `/ws` of a running stack, optionally disturbed at chosen moments."""

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
from scripts.containers_stack import CheckFailed, require

ANSWER_TIMEOUT = 90.0  # seconds: a killed container's message is redelivered after 12
REQUEST = "Help me create a simple calculator"
LONG = (
    "import time\n\n\ndef main():\n    time.sleep(4)\n    print('done')\n\n\nif __name__ == '__main__':\n    main()\n"
)
Disturb = Callable[[], Awaitable[None]]


class StackClient:
    """A reconnecting WebSocket client that keeps all events it received."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._received: asyncio.Queue[Received] = asyncio.Queue()
        self.events: list[SessionEvent] = []

    async def listen(self) -> None:
        async for message in self._connection:
            if isinstance(message, Link):
                continue  # the link is down, or up again
            if isinstance(message, s.EventMessage):
                self.events.append(message.event)
            await self._received.put(message)

    async def send(self, message: c.ClientMessage) -> None:
        await self._connection.send(message)

    async def wait_for(self, matches: Callable[[Received], Any], description: str) -> Any:
        """The next matching message. Raises CheckFailed for an error message or after a timeout."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT):
                while True:
                    message = await self._received.get()
                    require(not isinstance(message, s.Error), f"waiting for {description}: {message}")
                    if matches(message):
                        return message
        except TimeoutError:
            raise CheckFailed(
                f"no {description} within {ANSWER_TIMEOUT:.0f} s; so far: {[event.type for event in self.events]}"
            ) from None

    async def next_event(self, kind: str) -> Any:
        """The next event of this type."""
        return (
            await self.wait_for(
                lambda message: isinstance(message, s.EventMessage) and message.event.type == kind, kind
            )
        ).event

    async def next_message[M](self, kind: type[M]) -> M:
        """The next message of this class."""
        received: M = await self.wait_for(lambda message: isinstance(message, kind), kind.__name__)
        return received

    async def approve(self, review: s.TextPlanReview | s.CodeReview) -> None:
        await self.send(c.Approval(type="approval", approved=True, version=review.version, hash=review.hash))

    def check_event_order(self) -> int:
        """The number of events. Raises CheckFailed unless each arrived once and in order."""
        versions = [event.version for event in self.events]
        require(versions == list(range(1, len(versions) + 1)), f"the events' versions were {versions}")
        return len(versions)


@asynccontextmanager
async def stack_client(url: str, token: str) -> AsyncIterator[StackClient]:
    """A new session on the gateway at this URL."""
    async with Parley(url, token=token) as parley, parley.connect() as connection:
        client = StackClient(connection)
        reading = asyncio.create_task(client.listen())
        try:
            yield client
        finally:
            reading.cancel()


async def run_conversation(client: StackClient) -> str:
    """Plan, feedback, approval, code, approval, run."""
    greeting = await client.next_message(s.Greeting)
    require(greeting.can_run_code, "the gateway says that code cannot be run here")
    await client.send(c.UserMessage(type="user_message", content=REQUEST))
    first = await client.next_message(s.TextPlanReview)
    await client.send(c.Feedback(type="feedback", content="Add a step to write a short help text"))
    second = await client.next_message(s.TextPlanReview)
    require(len(second.steps) == len(first.steps) + 1, "the feedback changed nothing")
    await client.approve(second)
    code = await client.next_message(s.CodeReview)
    require(all(check.ok for check in code.checks) and len(code.checks) > 2, f"the checks of the code: {code.checks}")
    await client.approve(code)
    await client.next_event("code.approved")
    await client.send(c.Run(type="run", stdin="1 + 2\n"))
    (ran,) = (await client.next_event("actions.finished")).outcomes
    require(ran.ok, f"the run ended with {ran.result}")
    await client.next_event("turn.verified")
    return f"plan, feedback, approval, code, approval, run: {client.check_event_order()} events"


async def run_disturbed_conversation(client: StackClient, *, planning: Disturb, running: Disturb) -> str:
    """The same with slow code, while `planning` and `running` break the stack at two moments."""
    await client.send(c.UserMessage(type="user_message", content=REQUEST))
    await client.wait_for(lambda one: isinstance(one, s.Delta) and one.kind == "plan", "piece of a plan")
    await planning()
    await client.approve(await client.next_message(s.TextPlanReview))
    code = await client.next_message(s.CodeReview)
    await client.send(c.Edit(type="edit", target="code", version=code.version or 0, content=LONG))
    await client.approve(await client.next_message(s.CodeReview))
    await client.next_event("code.approved")
    await client.send(c.Run(type="run"))
    await client.next_event("actions.started")
    await running()
    (ran,) = (await client.next_event("actions.finished")).outcomes
    require(ran.ok and ran.result["stdout"] == "done\n", f"the run ended with {ran.result}")
    await client.next_event("turn.verified")
    types = [one.type for one in client.events]
    require(types.count("plan.drafted") == types.count("actions.finished") == 1, f"something was done twice: {types}")
    return f"the conversation ended as if nothing had happened: {client.check_event_order()} events"
