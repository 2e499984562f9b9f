"""A conversation during which kill -9 ends a process has the same events as one without.

`parley up` restarts the process. Unlike these tests, the chaos suite kills processes at random and checks invariants.
"""

from collections.abc import Awaitable, Callable

import pytest
import pytest_asyncio

from tests.e2e.parley_process import Client, Json, RunningParley

pytestmark = pytest.mark.long
SLOW = {"token_delay": 0.05, "times": 1}
TASKS = {"plan": "text_plan", "code": "code", "tests": "tests"}
PROGRAM = (
    "import time\n\n\ndef main():\n    time.sleep(1.5)\n    print('done')\n\n\nif __name__ == '__main__':\n    main()\n"
)
Disturb = Callable[[str], Awaitable[None]]

# The process to kill, and the part of the conversation during which this happens.
KILLS = [
    ("planner", "plan"),
    ("executor", "run"),
    ("gateway", "run"),
    ("nats", "code"),
    ("rehearsal", "plan"),
]


async def conversation(client: Client, disturb: Disturb) -> list[Json]:
    """Holds a conversation from request to run, with an edit of the code; returns its events.

    `disturb` gets the name of each part of the conversation when it begins.
    """
    await client.send(type="user_message", content="Help me create a simple calculator", id="m1")
    await client.wait_for_event("message.received")
    await disturb("plan")
    plan = await client.wait_for_event("plan.drafted")
    await client.send(type="approval", approved=True, version=plan["version"], id="a1")
    await client.wait_for_event("plan.approved")
    await disturb("code")
    code = await client.wait_for_event("code.drafted")
    await disturb("tests")
    await client.wait_for_event("code.verified")
    await client.send(type="edit", target="code", version=code["version"], content=PROGRAM, id="e1")
    edited = await client.wait_for_event("code.edited")
    await client.wait_for_event("code.verified")
    await client.send(type="approval", approved=True, version=edited["version"], id="a2")
    await client.wait_for_event("code.approved")
    await client.send(type="run", id="r1")
    await client.wait_for_event("actions.started")
    await disturb("run")
    (outcome,) = (await client.wait_for_event("actions.finished"))["outcomes"]
    assert outcome["ok"], outcome
    assert "done" in outcome["result"]["stdout"]
    await client.wait_for_event("turn.verified")
    return client.events


def event_types(events: list[Json]) -> list[str]:
    """The event types without usage records, which a killed model call may add twice."""
    return [event["type"] for event in events if event["type"] != "usage.recorded"]


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def baseline(stack: RunningParley) -> list[str]:
    """The event types of a run without faults."""

    async def nothing(_: str) -> None:
        pass

    async with Client(stack.socket_url) as client:
        return event_types(await conversation(client, nothing))


@pytest.mark.parametrize(("process", "part"), KILLS)
async def test_a_killed_service_does_not_change_the_outcome(
    running: RunningParley, baseline: list[str], process: str, part: str
) -> None:
    async with Client(running.socket_url) as client:

        async def disturb(now: str) -> None:
            if now == part:
                if part in TASKS:
                    await client.wait_for("delta", kind=part)
                running.kill9(process)

        if part in TASKS:
            await running.add_fault(task=TASKS[part], **SLOW)
        events = await conversation(client, disturb)
        assert event_types(events) == baseline
        assert [event["version"] for event in events] == list(range(1, len(events) + 1)), "no gap, no repetition"
        await running.wait_until_ready()
