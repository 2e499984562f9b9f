"""Faults of the broker: servers, consumers, streams, redeliveries and poison messages."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

from chaos.cluster import NatsNode
from chaos.fault_context import FaultContext
from chaos.poison_messages import poison_message
from chaos.schedule import ScheduledFault
from chaos.storage_faults import storage_full
from shared.services import CONSUMERS

API_TIMEOUT = 2.0  # seconds
PULL_TIMEOUT = 5.0  # seconds
STREAM_CHANGES: dict[str, tuple[dict[str, object], ...]] = {  # by stream; provisioning detects and repairs each
    "SESSIONS": ({"duplicate_window": 5_000_000_000}, {"allow_direct": False}, {"republish": None}),
    "TIMERS": ({"max_msgs_per_subject": 5},),
    "DEAD_LETTERS": ({"max_age": 3_600_000_000_000},),
    "OBJ_ARTEFACTS": ({"description": "changed by hand"},),
}
STREAM_OF = {consumer.name: consumer.stream for consumer in CONSUMERS}


async def nats_kill(context: FaultContext, fault: ScheduledFault) -> bool:
    return await _interrupt_server(context, fault, NatsNode.kill, NatsNode.start)


async def nats_stop(context: FaultContext, fault: ScheduledFault) -> bool:
    return await _interrupt_server(context, fault, NatsNode.stop, NatsNode.start)


async def nats_pause(context: FaultContext, fault: ScheduledFault) -> bool:
    return await _interrupt_server(context, fault, NatsNode.pause, NatsNode.resume)


async def _interrupt_server(
    context: FaultContext,
    fault: ScheduledFault,
    interrupt: Callable[[NatsNode], Awaitable[None]],
    restore: Callable[[NatsNode], Awaitable[None]],
    node: NatsNode | None = None,
) -> bool:
    async with context.nats_lock:
        nodes = context.deployment.cluster.nodes
        node = node or nodes[int(fault.choice * len(nodes))]
        await interrupt(node)
        await asyncio.sleep(fault.seconds)
        await restore(node)
        with suppress(Exception):
            await context.deployment.cluster.wait_until_healthy()
    return True


async def leader_kill(context: FaultContext, fault: ScheduledFault) -> bool:
    return await _interrupt_server(
        context, fault, NatsNode.kill, NatsNode.start, await context.deployment.cluster.leader()
    )


async def leader_pause(context: FaultContext, fault: ScheduledFault) -> bool:
    return await _interrupt_server(
        context, fault, NatsNode.pause, NatsNode.resume, await context.deployment.cluster.leader()
    )


async def step_down(context: FaultContext, _: ScheduledFault) -> bool:
    async with context.nats_lock:
        await context.deployment.cluster.step_down()
    return True


async def redeliver(context: FaultContext, fault: ScheduledFault) -> bool:
    """Pull a message and reject it, so that the consumer's worker gets it as a redelivery."""
    client, stream = context.deployment.bus.client, STREAM_OF[fault.target]
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox)
    try:
        request = json.dumps({"batch": 1, "expires": int(PULL_TIMEOUT * 1e9)}).encode()
        await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{fault.target}", request, reply=inbox)
        message = await subscription.next_msg(timeout=PULL_TIMEOUT + API_TIMEOUT)
    finally:
        await subscription.unsubscribe()
    if message.reply:  # a status reply has none: there was no message
        await asyncio.sleep(fault.choice)
        await client.publish(message.reply, b"-NAK")
    return bool(message.reply)


async def delete_consumer(context: FaultContext, fault: ScheduledFault) -> bool:
    stream = STREAM_OF[fault.target]
    done = await _api(context, f"CONSUMER.DELETE.{stream}.{fault.target}", {})
    await _repair_later(context, fault)
    return done


async def change_stream(context: FaultContext, fault: ScheduledFault) -> bool:
    info = json.loads(
        await context.deployment.bus.request(f"$JS.API.STREAM.INFO.{fault.target}", b"", timeout=API_TIMEOUT)
    )
    changes = STREAM_CHANGES[fault.target]
    changed = info["config"] | changes[int(fault.choice * len(changes))]
    config = {key: value for key, value in changed.items() if value is not None}
    done = await _api(context, f"STREAM.UPDATE.{fault.target}", config)
    await _repair_later(context, fault)
    return done


async def _repair_later(context: FaultContext, fault: ScheduledFault) -> None:
    """Provision again after a while, as an operator would."""
    await asyncio.sleep(fault.seconds)
    async with context.repair_lock:
        await context.deployment.repair()


async def _api(context: FaultContext, subject: str, request: dict[str, object]) -> bool:
    response = await context.deployment.bus.request(
        f"$JS.API.{subject}", json.dumps(request).encode(), timeout=API_TIMEOUT
    )
    return "error" not in json.loads(response)


async def send_poison_message(context: FaultContext, fault: ScheduledFault) -> bool:
    users = [user for user in context.load.users if not user.ending] or context.load.users
    if not users:
        return False
    session_id = users[int(fault.choice * len(users))].script.session_id
    raws = await context.deployment.bus.log.read(session_id)
    message = poison_message(fault.target, session_id, raws[-1] if raws else None)
    if message is None:
        return False
    jetstream = context.deployment.bus.client.jetstream(timeout=API_TIMEOUT)
    await jetstream.publish(message.subject, message.data, headers=dict(message.headers), stream="SESSIONS")
    return True


async def fill_storage(context: FaultContext, fault: ScheduledFault) -> bool:
    """Leave no server room for another byte for a while."""
    async with context.nats_lock, storage_full(context.deployment.cluster):
        await asyncio.sleep(fault.seconds)
    return True
