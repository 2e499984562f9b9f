"""What is done to the broker, and through it: servers, consumers, streams, messages that do not belong there."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

from chaos.cluster import Node
from chaos.poison import poison
from chaos.schedule import Fault
from chaos.stage import Stage
from chaos.storage import full
from shared.services import CONSUMERS

ANSWER = 2.0  # seconds
TAKES = 5.0  # seconds that a message is waited for, to take it away
CHANGES: dict[str, tuple[dict[str, object], ...]] = {  # of streams; each is seen and mended by provisioning
    "SESSIONS": ({"duplicate_window": 5_000_000_000}, {"allow_direct": False}, {"republish": None}),
    "TIMERS": ({"max_msgs_per_subject": 5},),
    "DEAD_LETTERS": ({"max_age": 3_600_000_000_000},),
    "OBJ_ARTEFACTS": ({"description": "changed by hand"},),
}
STREAM_OF = {consumer.name: consumer.stream for consumer in CONSUMERS}


async def nats_kill(stage: Stage, fault: Fault) -> bool:
    return await _server(stage, fault, Node.kill, Node.start)


async def nats_stop(stage: Stage, fault: Fault) -> bool:
    return await _server(stage, fault, Node.stop, Node.start)


async def nats_pause(stage: Stage, fault: Fault) -> bool:
    return await _server(stage, fault, Node.pause, Node.go_on)


async def _server(
    stage: Stage,
    fault: Fault,
    away: Callable[[Node], Awaitable[None]],
    back: Callable[[Node], Awaitable[None]],
    node: Node | None = None,
) -> bool:
    async with stage.nats:
        nodes = stage.world.cluster.nodes
        node = node or nodes[int(fault.of * len(nodes))]
        await away(node)
        await asyncio.sleep(fault.seconds)
        await back(node)
        with suppress(Exception):
            await stage.world.cluster.healthy()
    return True


async def leader_kill(stage: Stage, fault: Fault) -> bool:
    return await _server(stage, fault, Node.kill, Node.start, await stage.world.cluster.leader())


async def leader_pause(stage: Stage, fault: Fault) -> bool:
    return await _server(stage, fault, Node.pause, Node.go_on, await stage.world.cluster.leader())


async def step_down(stage: Stage, _: Fault) -> bool:
    async with stage.nats:
        await stage.world.cluster.step_down()
    return True


async def redeliver(stage: Stage, fault: Fault) -> bool:
    """Take a message away from a consumer, and give it back: its worker gets it as the second delivery."""
    client, stream = stage.world.bus.client, STREAM_OF[fault.target]
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox)
    try:
        request = json.dumps({"batch": 1, "expires": int(TAKES * 1e9)}).encode()
        await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{fault.target}", request, reply=inbox)
        message = await subscription.next_msg(timeout=TAKES + ANSWER)
    finally:
        await subscription.unsubscribe()
    if message.reply:  # else it is a status: there was none
        await asyncio.sleep(fault.of)
        await client.publish(message.reply, b"-NAK")
    return bool(message.reply)


async def consumer_deleted(stage: Stage, fault: Fault) -> bool:
    stream = STREAM_OF[fault.target]
    done = await _api(stage, f"CONSUMER.DELETE.{stream}.{fault.target}", {})
    await _mend(stage, fault)
    return done


async def stream_changed(stage: Stage, fault: Fault) -> bool:
    found = json.loads(await stage.world.bus.request(f"$JS.API.STREAM.INFO.{fault.target}", b"", timeout=ANSWER))
    changes = CHANGES[fault.target]
    wanted = found["config"] | changes[int(fault.of * len(changes))]
    given = {key: value for key, value in wanted.items() if value is not None}
    done = await _api(stage, f"STREAM.UPDATE.{fault.target}", given)
    await _mend(stage, fault)
    return done


async def _mend(stage: Stage, fault: Fault) -> None:
    """After a while an operator sees it, and does what the manual says."""
    await asyncio.sleep(fault.seconds)
    async with stage.mending:
        await stage.world.mend()


async def _api(stage: Stage, subject: str, request: dict[str, object]) -> bool:
    answer = await stage.world.bus.request(f"$JS.API.{subject}", json.dumps(request).encode(), timeout=ANSWER)
    return "error" not in json.loads(answer)


async def poisoned(stage: Stage, fault: Fault) -> bool:
    people = [person for person in stage.load.people if not person.ending] or stage.load.people
    if not people:
        return False
    session_id = people[int(fault.of * len(people))].script.session_id
    raws = await stage.world.bus.log.read(session_id)
    message = poison(fault.target, session_id, raws[-1] if raws else None)
    if message is None:
        return False
    jetstream = stage.world.bus.client.jetstream(timeout=ANSWER)
    await jetstream.publish(message.subject, message.data, headers=dict(message.headers), stream="SESSIONS")
    return True


async def no_room(stage: Stage, fault: Fault) -> bool:
    """No server has room for another byte."""
    async with stage.nats, full(stage.world.cluster):
        await asyncio.sleep(fault.seconds)
    return True
