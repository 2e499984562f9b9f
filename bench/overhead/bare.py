"""The same events through bare nats-py: `python -m bench.overhead.bare <service> <NATS url>`, a process for each stage.

Pull, publish, acknowledge; no framework, no domain, no guard, no state: what NATS and its client allow. As in Parley
there is one consumer besides that takes every event: plan_store, which here does nothing with it.
"""

import asyncio
import sys

import nats
import nats.errors
import uvloop
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from bench.overhead.conversation import Line, played
from shared.bus.topology import SESSIONS

BATCH = 32


def answers(service: str) -> tuple[Line, ...]:
    return tuple(line for line in played()[1] if line.by == service)


async def work(service: str, url: str) -> None:
    client = await nats.connect(url)
    jetstream = client.jetstream()
    subscription = await jetstream.pull_subscribe_bind(durable=service, stream=SESSIONS)
    lines = answers(service)
    print("ready", file=sys.stderr, flush=True)
    while True:
        try:
            messages = await subscription.fetch(BATCH, timeout=5)
        except nats.errors.TimeoutError:
            continue
        async with asyncio.TaskGroup() as batch:
            for message in messages:
                batch.create_task(_stage(jetstream, message, lines))


async def _stage(jetstream: JetStreamContext, message: Msg, lines: tuple[Line, ...]) -> None:
    session_id = message.subject.split(".")[1]
    for line in lines:
        await jetstream.publish(line.subject(session_id), line.told(session_id), stream=SESSIONS)
    await message.ack()


if __name__ == "__main__":
    uvloop.run(work(*sys.argv[1:3]))
