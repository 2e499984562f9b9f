"""Transcripts: the messages of protocol 1 about the recorded logs, after each event, and the snapshot of each state.

    python -m tests.protocol1.transcripts     records them again

A transcript holds the messages as sent, in order: a client of version 1 must not notice a newer release.

They were recorded again with format 2 of the log, whose recorded sessions are others. About the sessions that were
recorded before, the messages were the same but for the renamed fields of events, and but for turns that ended by rules
that are gone.
"""

import json
import lzma
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from parley.protocol.server import Delta, ServerMessage
from services.gateway.views import protocol1
from shared.domain.kernel.session import Session
from shared.log import SessionAtPosition, accept
from tests.logs.recorded import RecordedLog, load, load_random, names

FILE = Path(__file__).parent / "transcripts.jsonl.xz"
EVERY = 20  # every 20th random session is recorded
DRAFT = "Goal: a draft"


def recorded() -> Iterator[tuple[str, RecordedLog]]:
    yield from ((name, load(name)) for name in names())
    for number, log in enumerate(islice(load_random(), 0, None, EVERY)):
        yield f"random {number}", log


def messages_of(log: RecordedLog) -> Iterator[str]:
    """The messages of one session as JSON, in order."""
    loaded = SessionAtPosition(Session(log.session_id), 0)
    for stored in log.messages:
        after, event, _ = accept(loaded, stored)
        if event:
            outgoing: list[ServerMessage] = list(protocol1.messages_for(loaded.session, event, after.session))
            draft = Delta(session_id=log.session_id, draft_id="1-plan-0", kind="plan", offset=0, text=DRAFT)
            outgoing.append(protocol1.snapshot(after.session, draft))
            yield from (message.model_dump_json(by_alias=True) for message in outgoing)
        loaded = after


def transcripts() -> dict[str, list[str]]:
    return {name: list(messages_of(log)) for name, log in recorded()}


def read() -> dict[str, list[str]]:
    """The recorded transcripts."""
    with lzma.open(FILE, "rt", encoding="utf-8") as lines:
        return dict(map(json.loads, lines))


def main() -> None:
    with lzma.open(FILE, "wt", encoding="utf-8", preset=9) as file:
        for name, messages in transcripts().items():
            file.write(json.dumps([name, messages], ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
