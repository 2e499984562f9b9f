"""A recorded session through bare nats-py: `python -m bench.overhead.bare_nats <service> <NATS url> <recording file>`.

Pull, publish, acknowledge; no framework, domain, guard or state: the limit that NATS and its client set. A header holds
the number of the recorded event. As in Parley, plan_store also consumes every event; here it only acknowledges.
"""

import asyncio
import sys
from pathlib import Path

import nats
import nats.errors
import uvloop
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from bench.overhead.recorded_events import Recording, load, stage_events
from shared.bus.topology import SESSIONS

BATCH = 32
EVENT_NUMBER_HEADER = "Line"


async def work(service: str, url: str, file: str) -> None:
    client = await nats.connect(url)
    jetstream = client.jetstream()
    subscription = await jetstream.pull_subscribe_bind(durable=service, stream=SESSIONS)
    events = load(Path(file))
    print("ready", file=sys.stderr, flush=True)
    while True:
        try:
            messages = await subscription.fetch(BATCH, timeout=5)
        except nats.errors.TimeoutError:
            continue
        async with asyncio.TaskGroup() as batch:
            for message in messages:
                batch.create_task(_publish_stage(jetstream, message, service, events))


async def _publish_stage(jetstream: JetStreamContext, message: Msg, service: str, events: Recording) -> None:
    session_id = message.subject.split(".")[1]
    number = int((message.headers or {})[EVENT_NUMBER_HEADER])
    replies = stage_events(events, number) if events[number].due == service else ()
    for reply_number, event in enumerate(replies, number + 1):
        await jetstream.publish(
            event.subject(session_id),
            event.body_of(session_id),
            stream=SESSIONS,
            headers={EVENT_NUMBER_HEADER: str(reply_number)},
        )
    await message.ack()


if __name__ == "__main__":
    uvloop.run(work(*sys.argv[1:4]))
