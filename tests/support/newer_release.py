"""Messages of a newer release, for tests of this release's reaction."""

import json
from datetime import UTC, datetime
from typing import Any

from parley.events import dump_event, envelope
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.evolve import evolve
from shared.domain.rules.decide import AnyCommand, decide, due
from shared.log import SessionAtPosition, guard_headers, subject_of

NEEDS: dict[str, Any] = {"needs": envelope.FORMAT + 1}


def newer_message(
    loaded: SessionAtPosition, command: AnyCommand | None = None, *, changes: dict[str, Any] = NEEDS
) -> tuple[str, bytes, dict[str, str]]:
    """Subject, body and headers of the session's next event, with these changes.

    The event is the due service's for this command, or a user's message.
    """
    session, now = loaded.session, datetime.now(UTC)
    if command is None:
        event = decide(
            session, c.Say(text="Hello"), CommandMeta(f"user:{session.owner}", now, f"newer-{session.version}")
        )
    else:
        event = decide(
            session, command, CommandMeta(session.work.service if session.work else "", now, None, None, session.work)
        )
    body = json.loads(dump_event(event)) | changes
    subject = subject_of(event, due(evolve(session, event)))
    return subject, json.dumps(body).encode(), guard_headers(session.id, loaded.position, event.id)
