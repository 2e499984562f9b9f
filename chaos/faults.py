"""The faults, one function for each kind. Each returns whether it had a target."""

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from chaos.cluster import NatsNode
from chaos.crashing_service import CrashPoint
from chaos.deployment import Deployment
from chaos.load import Load, reconnect_storm
from chaos.poison_messages import poison_message
from chaos.postgres import PostgresProcess
from chaos.process import POLL_INTERVAL, ServiceProcess
from chaos.reconnecting_client import SocketRecord
from chaos.schedule import ScheduledFault
from chaos.storage_faults import database_locked, storage_full
from shared.services import CONSUMERS

AMBUSH_TIMEOUT = 30.0  # seconds to wait for the event or append
API_TIMEOUT = 2.0  # seconds
PULL_TIMEOUT = 5.0  # seconds
WRITER_KILL_SHARE = 0.7  # of processes that wait for a locked database
WORK_SECONDS = 1.0  # about how long a service works on an event
STREAM_CHANGES: dict[str, tuple[dict[str, object], ...]] = {  # by stream; provisioning detects and repairs each
    "SESSIONS": ({"duplicate_window": 5_000_000_000}, {"allow_direct": False}, {"republish": None}),
    "TIMERS": ({"max_msgs_per_subject": 5},),
    "DEAD_LETTERS": ({"max_age": 3_600_000_000_000},),
    "OBJ_ARTEFACTS": ({"description": "changed by hand"},),
}
STREAM_OF = {consumer.name: consumer.stream for consumer in CONSUMERS}


@dataclass
class FaultContext:
    """What faults work on. The locks allow one fault at a time, so that a majority of servers comes back."""

    deployment: Deployment
    load: Load
    injected: Counter[str] = field(default_factory=Counter)  # by kind and target
    skipped: Counter[str] = field(default_factory=Counter)  # without a target, or failed
    socket_records: list[SocketRecord] = field(default_factory=list)  # of the sockets of reconnect storms
    nats_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    database_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    crash_locks: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))  # by service
    repair_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def victim(self, fault: ScheduledFault) -> ServiceProcess | None:
        """The replica of the target to hit."""
        candidates = [process for process in self.deployment.replicas_of(fault.target) if not process.is_disturbed]
        return candidates[int(fault.choice * len(candidates))] if candidates else None

    @asynccontextmanager
    async def postgres(self) -> AsyncIterator[PostgresProcess]:
        """The PostgreSQL server, for one fault at a time."""
        assert self.deployment.postgres, "these faults are scheduled only with PostgreSQL"
        async with self.database_lock:
            yield self.deployment.postgres

    async def api(self, subject: str, request: Mapping[str, object]) -> dict[str, object]:
        """The response of JetStream."""
        body = json.dumps(request).encode()
        answer: dict[str, object] = json.loads(
            await self.deployment.bus.request(f"$JS.API.{subject}", body, timeout=API_TIMEOUT)
        )
        return answer

    async def repair_after(self, seconds: float) -> None:
        """Provision again after a while, as an operator would."""
        await asyncio.sleep(seconds)
        async with self.repair_lock:
            await self.deployment.repair()


Injector = Callable[[FaultContext, ScheduledFault], Awaitable[bool]]


# --- services


async def _kill(context: FaultContext, fault: ScheduledFault) -> bool:
    if process := context.victim(fault):
        process.kill()
    return process is not None


async def _terminate(context: FaultContext, fault: ScheduledFault) -> bool:
    if process := context.victim(fault):
        process.terminate()
    return process is not None


async def _pause(context: FaultContext, fault: ScheduledFault) -> bool:
    if process := context.victim(fault):
        await process.pause()
        await asyncio.sleep(fault.seconds)
        await process.resume()
    return process is not None


async def _kill_at_work(context: FaultContext, fault: ScheduledFault) -> bool:
    """Kill a service shortly after the event that gives it work."""
    service, _, event = fault.target.partition(" ")
    async with asyncio.timeout(AMBUSH_TIMEOUT):
        while not context.victim(fault._replace(target=service)):  # noqa: ASYNC110  processes send no notification
            await asyncio.sleep(WORK_SECONDS)
        await context.load.wait_for_event(event)
    await asyncio.sleep(fault.choice * WORK_SECONDS)
    return await _kill(context, fault._replace(target=service))


async def _crash_at_append(context: FaultContext, fault: ScheduledFault) -> bool:
    """Crash the next process that makes such an append, right before it or right after it is stored."""
    service, when, words = fault.target.split(maxsplit=2)
    armed = context.deployment.crash_file(service)
    async with context.crash_locks[service], asyncio.timeout(AMBUSH_TIMEOUT):
        CrashPoint(1, "before" if when == "before" else "after", words).arm(armed)
        try:
            while armed.exists():  # noqa: ASYNC110  processes send no notification
                await asyncio.sleep(POLL_INTERVAL)
        finally:
            armed.unlink(missing_ok=True)
    return True


# --- the broker


def _interruption(interrupt: Callable[[NatsNode], Awaitable[None]], *, of_leader: bool = False) -> Injector:
    """The fault that interrupts a server in this way for a while."""

    async def inject(context: FaultContext, fault: ScheduledFault) -> bool:
        cluster = context.deployment.cluster
        leader = await cluster.leader() if of_leader else None
        async with context.nats_lock:
            node = leader or cluster.nodes[int(fault.choice * len(cluster.nodes))]
            await interrupt(node)
            await asyncio.sleep(fault.seconds)
            await node.start()
            with suppress(Exception):
                await cluster.wait_until_healthy()
        return True

    return inject


async def _step_down(context: FaultContext, _: ScheduledFault) -> bool:
    async with context.nats_lock:
        await context.deployment.cluster.step_down()
    return True


async def _fill_storage(context: FaultContext, fault: ScheduledFault) -> bool:
    """Leave no server room for another byte for a while."""
    async with context.nats_lock, storage_full(context.deployment.cluster):
        await asyncio.sleep(fault.seconds)
    return True


async def _redeliver(context: FaultContext, fault: ScheduledFault) -> bool:
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


async def _delete_consumer(context: FaultContext, fault: ScheduledFault) -> bool:
    response = await context.api(f"CONSUMER.DELETE.{STREAM_OF[fault.target]}.{fault.target}", {})
    await context.repair_after(fault.seconds)
    return "error" not in response


async def _change_stream(context: FaultContext, fault: ScheduledFault) -> bool:
    info = await context.api(f"STREAM.INFO.{fault.target}", {})
    config, changes = info["config"], STREAM_CHANGES[fault.target]
    assert isinstance(config, dict)
    changed = config | changes[int(fault.choice * len(changes))]
    wanted = {key: value for key, value in changed.items() if value is not None}
    response = await context.api(f"STREAM.UPDATE.{fault.target}", wanted)
    await context.repair_after(fault.seconds)
    return "error" not in response


async def _send_poison_message(context: FaultContext, fault: ScheduledFault) -> bool:
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


# --- databases


async def _lock_sqlite(context: FaultContext, fault: ScheduledFault) -> bool:
    async with database_locked(context.deployment.folder / fault.target):
        await _hold_lock(context, fault)
    return True


async def _lock_table(context: FaultContext, fault: ScheduledFault) -> bool:
    async with context.postgres() as database, database.lock_table(fault.target):
        await _hold_lock(context, fault)
    return True


async def _hold_lock(context: FaultContext, fault: ScheduledFault) -> None:
    """Keep the lock, and mostly kill the service that waits for it. Its writes are redelivered."""
    await asyncio.sleep(fault.seconds / 2)
    if fault.choice < WRITER_KILL_SHARE:
        await _kill(context, fault._replace(target="executor" if fault.target.startswith("retail") else "plan_store"))
    await asyncio.sleep(fault.seconds / 2)


async def _interrupt_database(context: FaultContext, fault: ScheduledFault) -> bool:
    async with context.postgres() as database:
        interrupt = {"stopped": database.stop, "killed": database.kill, "paused": database.pause}[fault.target]
        await interrupt()
        await asyncio.sleep(fault.seconds)
        await database.start()
    return True


async def _disconnect_clients(context: FaultContext, _: ScheduledFault) -> bool:
    async with context.postgres() as database:
        return bool(await database.disconnect())


# --- users and the model


async def _reconnect_storm(context: FaultContext, fault: ScheduledFault) -> bool:
    records = await reconnect_storm(context.load, context.deployment.gateway_urls, random.Random(fault.choice))
    context.socket_records += records
    return bool(records)


async def _arm_model_fault(context: FaultContext, fault: ScheduledFault) -> bool:
    what: dict[str, object] = {"token_delay": 0.2} if fault.target == "slow" else {"fault": fault.target}
    await context.deployment.arm_model_fault(**what, times=1 + int(fault.choice * 4))
    return True


INJECTORS: Mapping[str, Injector] = {
    "kill": _kill,
    "ambush": _kill_at_work,
    "cut": _crash_at_append,
    "terminate": _terminate,
    "pause": _pause,
    "nats_kill": _interruption(NatsNode.kill),
    "nats_stop": _interruption(NatsNode.stop),
    "nats_pause": _interruption(NatsNode.pause),
    "leader_kill": _interruption(NatsNode.kill, of_leader=True),
    "leader_pause": _interruption(NatsNode.pause, of_leader=True),
    "step_down": _step_down,
    "redeliver": _redeliver,
    "consumer_deleted": _delete_consumer,
    "stream_changed": _change_stream,
    "poison": _send_poison_message,
    "no_room": _fill_storage,
    "locked": _lock_sqlite,
    "database_away": _interrupt_database,
    "disconnected": _disconnect_clients,
    "table_held": _lock_table,
    "storm": _reconnect_storm,
    "model": _arm_model_fault,
}
