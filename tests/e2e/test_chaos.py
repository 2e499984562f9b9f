"""kill -9 in the middle of a conversation: it ends as in an undisturbed run.

The chaos suite kills everything at any moment and looks at what must never be; here the whole way is compared, by a
client of the socket, and `parley up` starts again what was killed.
"""

from collections.abc import Awaitable, Callable

import pytest
import pytest_asyncio

from tests.e2e.running import Client, Json, Parley

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]
SLOW = {"token_delay": 0.05, "times": 1}
TASKS = {"plan": "text_plan", "code": "code", "tests": "tests"}
LONG = (
    "import time\n\n\ndef main():\n    time.sleep(1.5)\n    print('done')\n\n\nif __name__ == '__main__':\n    main()\n"
)
Disturb = Callable[[str], Awaitable[None]]

# Who is killed, and at what of the conversation.
SCENES = [
    ("planner", "plan"),
    ("executor", "run"),
    ("gateway", "run"),
    ("nats", "code"),
    ("rehearsal", "plan"),
]


async def conversation(client: Client, disturb: Disturb) -> list[Json]:
    """The whole way once: request, plan, approval, code, an edit, approval, run; its events."""
    await client.send(type="user_message", content="Help me create a simple calculator", id="m1")
    await client.event("message.received")
    await disturb("plan")
    plan = await client.event("plan.drafted")
    await client.send(type="approval", approved=True, version=plan["version"], id="a1")
    await client.event("plan.approved")
    await disturb("code")
    code = await client.event("code.drafted")
    await disturb("tests")
    await client.event("code.verified")
    await client.send(type="edit", target="code", version=code["version"], content=LONG, id="e1")
    edited = await client.event("code.edited")
    await client.event("code.verified")
    await client.send(type="approval", approved=True, version=edited["version"], id="a2")
    await client.event("code.approved")
    await client.send(type="run", id="r1")
    await client.event("actions.started")
    await disturb("run")
    (outcome,) = (await client.event("actions.finished"))["outcomes"]
    assert outcome["ok"], outcome
    assert "done" in outcome["result"]["stdout"]
    await client.event("turn.verified")
    return client.events


def told(events: list[Json]) -> list[str]:
    """What happened, without the accounts: a killed call may have been paid for twice."""
    return [event["type"] for event in events if event["type"] != "usage.recorded"]


@pytest_asyncio.fixture(scope="module", loop_scope="package")
async def undisturbed(stack: Parley) -> list[str]:
    """What happens when nobody is killed."""

    async def nothing(_: str) -> None:
        """Let it run."""

    async with Client(stack.socket_url) as client:
        return told(await conversation(client, nothing))


@pytest.mark.parametrize(("victim", "scene"), SCENES)
async def test_ends_as_an_undisturbed_run(running: Parley, undisturbed: list[str], victim: str, scene: str) -> None:
    async with Client(running.socket_url) as client:

        async def disturb(now: str) -> None:
            if now == scene:
                if scene in TASKS:
                    await client.until("delta", kind=scene)
                running.kill9(victim)

        if scene in TASKS:
            await running.fault(task=TASKS[scene], **SLOW)
        events = await conversation(client, disturb)
        assert told(events) == undisturbed
        assert [event["version"] for event in events] == list(range(1, len(events) + 1)), "each event exactly once"
        await running.restarted()
