"""Record logs again: `python -m tests.logs.record [PLAY]…`; without a name all plays and the random sessions.

Each play runs on a separate nats-server, with the services and the rehearsal model. README.md in this folder says when
that is allowed.
"""

import asyncio
import logging
import sys
import tempfile
from pathlib import Path

import structlog

from shared.bus import Bus
from shared.bus.provision import provision
from shared.log import StoredMessage
from shared.settings import Settings
from tests.logs.plays import PLAYS, Play
from tests.logs.random_sessions import random_sessions
from tests.logs.recorded import (
    RANDOM,
    RecordedLog,
    record_messages,
    store,
    store_random,
)
from tests.support.nats import nats_server
from tests.support.rehearsal_server import rehearsal_server
from tests.support.stack import working

PLAY_TIMEOUT = 300  # seconds for one play


async def run_play(name: str, folder: Path) -> RecordedLog:
    """Run this play and return its log. Raises ValueError if one of its messages is not an event."""
    play = next(play for play in PLAYS if play.__name__ == name)
    with nats_server(folder) as nats:
        settings = Settings(nats_url=nats.url, parley_home=folder, database_url="")
        await provision(settings)
        bus = Bus(settings, "recorder")
        await bus.connect()
        try:
            async with (
                asyncio.timeout(PLAY_TIMEOUT),
                rehearsal_server(settings) as model,
                working(model.settings, model.model),
            ):
                await play(Play(bus, model, name))
            messages: list[StoredMessage] = []
            while page := await bus.log.read(name, after=messages[-1].position if messages else 0, leader=True):
                messages += page
        finally:
            await bus.stop()
    return record_messages(name, messages)


def main(plays: list[str]) -> None:
    """Record these plays, or all plays and the random sessions if none is named."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    for name in plays or [play.__name__ for play in PLAYS]:
        with tempfile.TemporaryDirectory(prefix="parley-record-") as folder:
            log = asyncio.run(run_play(name, Path(folder)))
        store(name, log)
        print(f"{name}: {len(log.messages)} messages, {log.state['phase']}", flush=True)
    if not plays:
        store_random(random_sessions())
        print(f"random sessions: {RANDOM.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
