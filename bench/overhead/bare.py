"""A recorded session through bare nats-py: `python -m bench.overhead.bare <service> <NATS url> <file of lines>`.

Pull, publish, acknowledge; no framework, no domain, no guard, no state: what NATS and its client allow. A header holds
the number of the recorded line. As in Parley one more consumer, plan_store, takes every event; here it only
acknowledges.
"""

import asyncio
import sys
from pathlib import Path

import nats
import nats.errors
import uvloop
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from bench.overhead.lines import Lines, load, stage
from shared.bus.topology import SESSIONS

BATCH = 32
LINE = "Line"


async def work(service: str, url: str, file: str) -> None:
    client = await nats.connect(url)
    jetstream = client.jetstream()
    subscription = await jetstream.pull_subscribe_bind(durable=service, stream=SESSIONS)
    lines = load(Path(file))
    print("ready", file=sys.stderr, flush=True)
    while True:
        try:
            messages = await subscription.fetch(BATCH, timeout=5)
        except nats.errors.TimeoutError:
            continue
        async with asyncio.TaskGroup() as batch:
            for message in messages:
                batch.create_task(_stage(jetstream, message, service, lines))


async def _stage(jetstream: JetStreamContext, message: Msg, service: str, lines: Lines) -> None:
    session_id = message.subject.split(".")[1]
    number = int((message.headers or {})[LINE])
    replies = stage(lines, number) if lines[number].due == service else ()
    for at, line in enumerate(replies, number + 1):
        await jetstream.publish(
            line.subject(session_id), line.body_of(session_id), stream=SESSIONS, headers={LINE: str(at)}
        )
    await message.ack()


if __name__ == "__main__":
    uvloop.run(work(*sys.argv[1:4]))
