"""Invalid input: each is a clear typed error, the socket stays open, and the session is unchanged."""

import json
from typing import Any

from parley.protocol.bounds import MAX_MESSAGE_BYTES
from services.gateway.live.http_protocol import MAX_FRAME_BYTES
from shared.domain.kernel import commands as c
from tests.support.gateway import World, client, serving

BAD: list[tuple[str, str]] = [
    ("", "bad_message"),
    ("{", "bad_message"),
    ("null", "bad_message"),
    ("[]", "bad_message"),
    ('"user_message"', "bad_message"),
    ("{}", "bad_message"),
    ('{"type": null}', "unknown_type"),
    ('{"type": "no_such_thing"}', "unknown_type"),
    ('{"type": "user_message"}', "bad_message"),
    ('{"type": "user_message", "content": ""}', "bad_message"),
    ('{"type": "user_message", "content": 5}', "bad_message"),
    ('{"type": "user_message", "content": "a\\u0000b"}', "bad_message"),
    ('{"type": "user_message", "content": "\\ud800"}', "bad_message"),
    ('{"type": "user_message", "content": "hi", "surprise": 1}', "bad_message"),
    ('{"type": "user_message", "content": "hi", "session_id": "a.b"}', "bad_message"),
    ('{"type": "user_message", "content": "hi", "session_id": "*"}', "bad_message"),
    ('{"type": "user_message", "content": "hi", "id": "no spaces"}', "bad_message"),
    ('{"type": "user_message", "content": "' + "x" * 50_001 + '"}', "too_large"),
    ('{"type": "user_message", "content": "' + "x" * MAX_MESSAGE_BYTES + '"}', "too_large"),
    ('{"type": "user_message", "content": "hi", "settings": {"max_turns": 0}}', "bad_message"),
    ('{"type": "approval"}', "bad_message"),
    ('{"type": "approval", "approved": "yes"}', "bad_message"),
    ('{"type": "approval", "approved": 1}', "bad_message"),
    ('{"type": "approval", "approved": true, "version": 0}', "bad_message"),
    ('{"type": "approval", "approved": true, "version": true}', "bad_message"),
    ('{"type": "approval", "approved": true, "version": "2"}', "bad_message"),
    ('{"type": "approval", "approved": true, "version": 1e400}', "bad_message"),
    ('{"type": "resume", "after": -1}', "bad_message"),
    ('{"type": "edit", "version": 2, "steps": []}', "bad_message"),
    ('{"type": "stop", "id": "\\ud800"}', "bad_message"),
    ('{"type": "stop", "id": "\\ud800", "x": 1}', "bad_message"),
    ("[" * 5_000, "bad_message"),
    ('{"type": "stop", "reason": "\\u0000"}', "bad_message"),
    ('{"type": "raise_budget", "cost": NaN}', "bad_message"),
]


async def test_unreadable_messages_are_refused() -> None:
    world = World(max_requests_per_second=0)
    await world.story("s").plan()
    before = list(world.log.messages)
    async with serving(world.app) as address, client(address) as her:
        await her.send("resume", session_id="s")
        await her.until("event", version=2)
        for text, code in BAD:
            await her.connection.send(text)
            error = await her.error(code)
            assert error["message"] == error["content"], text
            assert error["hint"], text
            assert world.log.messages == before, text
        await her.send("approval", approved=True)
        await her.event("plan.approved")


async def test_frames_that_are_not_messages_are_refused() -> None:
    world = World()
    async with serving(world.app) as address, client(address) as her:
        await her.connection.send(b"\x00\x01")
        await her.error("bad_message")
        await her.connection.send("x" * (MAX_FRAME_BYTES - 1000))
        await her.error("too_large")
        await her.send("user_message", content="Still here")
        await her.event("message.received")
        await her.connection.send("x" * (MAX_FRAME_BYTES + 1))
        assert await her.closed() == 1009
    assert len(world.log.messages) == 1


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"type": "approval", "approved": True, "version": 1}, "stale_version"),
    ({"type": "approval", "approved": True, "version": 99}, "stale_version"),
    ({"type": "approval", "approved": True, "version": 2, "hash": "0" * 64}, "stale_version"),
    ({"type": "approval", "approved": True, "action_id": "7.7"}, "not_now"),
    ({"type": "approval", "approved": True, "remember": True}, "invalid"),
    ({"type": "edit", "version": 1, "steps": ["x"]}, "stale_version"),
    ({"type": "edit", "version": 2}, "invalid"),
    ({"type": "edit", "version": 2, "content": "no numbered lines"}, "invalid"),
    ({"type": "edit", "version": 2, "target": "code", "content": "print()"}, "not_now"),
    ({"type": "edit", "version": 2, "target": "code"}, "invalid"),
    ({"type": "replan", "version": 1}, "stale_version"),
    ({"type": "replan", "plan_type": "code"}, "not_now"),
    ({"type": "answer", "content": "42"}, "not_now"),
    ({"type": "question", "content": "42"}, "not_now"),
    ({"type": "continue"}, "not_now"),
    ({"type": "complete"}, "not_now"),
    ({"type": "run"}, "not_now"),
    ({"type": "unpause"}, "not_now"),
    ({"type": "retry"}, "not_now"),
    ({"type": "skip", "action_id": "x"}, "not_now"),
    ({"type": "take_over", "sub_goal": "x", "actions": [{"id": "1", "tool": "x"}]}, "not_now"),
    ({"type": "hand_back", "content": "x"}, "not_now"),
    ({"type": "fork", "version": 99}, "not_found"),
    ({"type": "fork", "version": 1}, "not_now"),
]


async def test_messages_that_the_session_does_not_allow_are_refused() -> None:
    world = World()
    await world.story("s").plan()
    before = list(world.log.messages)
    async with serving(world.app) as address, client(address) as her:
        await her.send("resume", session_id="s")
        await her.until("event", version=2)
        for number, (message, code) in enumerate(REFUSED):
            await her.connection.send(json.dumps(message | {"id": f"m{number}"}))
            error = await her.error(code)
            assert error["reply_to"] == f"m{number}"
        assert world.log.messages == before


async def test_an_approval_without_a_version_means_the_version_last_shown_on_this_socket() -> None:
    world = World()
    story = world.story("s")
    await story.plan()
    async with serving(world.app) as address, client(address) as her:
        await her.send("approval", approved=True)
        await her.error("nothing_shown")
        await her.send("approval", approved=True, session_id="s")
        await her.error("nothing_shown")
        await her.send("resume", session_id="s", after=2)
        await her.until("snapshot")
        world.bus.lossy = True  # this client does not receive the newer version
        session = await story.load()
        assert session.plan is not None
        await story.commit(c.EditPlan(base=2, steps=session.plan.steps[:2]))
        await her.send("approval", approved=True)
        await her.error("stale_version")
        assert {"text_plan_review": 3}.items() <= {
            message["type"]: message["version"] for message in her.received
        }.items()
        await her.send("approval", approved=True)
        assert (await her.event("plan.approved"))["plan_version"] == 3


async def test_a_message_sent_twice_is_carried_out_once() -> None:
    world = World()
    async with serving(world.app) as address, client(address) as her:
        for _ in range(3):
            await her.send("user_message", content="A calculator", id="m1", session_id="s")
        await world.story("s").drafts() if (await her.event("message.received")) else None
        await her.until("text_plan_review")
        for _ in range(3):
            await her.send("approval", approved=True, id="a1")
        await her.event("plan.approved")
        await her.send("rename", title="Done", id="r1")
        await her.event("session.renamed")
        assert [message["type"] for message in her.received if message["type"] == "error"] == []
        assert her.versions == [1, 2, 3, 4]
        await her.send("approval", approved=True, id="a1")  # long after
        assert (await her.until("snapshot", version=4))["title"] == "Done"


async def test_a_second_approval_of_the_same_plan_is_refused() -> None:
    world = World()
    await world.story("s").plan()
    async with serving(world.app) as address, client(address) as her, client(address) as second:
        for screen in (her, second):
            await screen.send("resume", session_id="s")
            await screen.until("snapshot")
        await her.send("approval", approved=True, version=2)
        await her.event("plan.approved")
        await second.send("approval", approved=True, version=2, id="second")
        error = await second.error("already_done")
        assert (error["reply_to"], error["message"]) == (
            "second",
            "You approved the plan. Version 2 is approved already; nothing was done twice.",
        )
    assert len(world.log.messages) == 3
