"""What the transcript says about the current request, for planners, prompts and views. Pure."""

import json
from collections.abc import Iterator
from typing import Any

from shared.domain.kernel.session import Session
from shared.domain.transcript.dialogue import TranscriptEntry
from shared.domain.transcript.messages import drafting_session


def _reply_fields(entry: TranscriptEntry) -> dict[str, Any]:
    """The fields of a service's reply."""
    reply: dict[str, Any] = json.loads(entry.text)["reply"]
    return reply


def since_request(session: Session) -> tuple[TranscriptEntry, ...]:
    """The entries after the current request, or after the message that begins the next one."""
    said = drafting_session(session).words.request_version
    entries = tuple(entry for entry in session.transcript if entry.version > said)
    last = max((place for place, entry in enumerate(entries, 1) if entry.kind == "request"), default=0)  # of a fork
    return entries[last:]


def questions(session: Session) -> tuple[tuple[str, ...], ...]:
    """What services asked about the current request: each time one question, or several together."""
    asked = (_reply_fields(entry) for entry in since_request(session) if entry.kind == "question" and entry.is_reply)
    return tuple((first["text"], *(more["text"] for more in first.get("more", ()))) for first in asked)


def turned_down(session: Session) -> Iterator[str]:
    """What turns were offered for, since the current request, and turned down."""
    kept = {decision.about for decision in session.decisions if decision.type == "offer.kept"}
    for entry in since_request(session):
        if entry.kind == "draft" and f"v{entry.version}" in kept and (goal := _reply_fields(entry).get("sub_goal")):
            yield str(goal)


def last_exchange(session: Session) -> str:
    """The last question that was answered in words, and its answer, as `role: text`; "" if none was."""
    told = session.transcript
    place = max((place for place, entry in enumerate(told) if entry.kind == "answer"), default=0)
    asked = [entry.text for entry in told[:place] if entry.kind in ("request", "message", "answered")]
    return f"user: {asked[-1]}\n\nassistant: {_reply_fields(told[place])['text']}" if asked else ""


def said_with(entries: tuple[TranscriptEntry, ...], version: int) -> str:
    """What the service said to the person with the draft of this version; "" if that is not in the transcript."""
    said = next((entry for entry in entries if entry.version == version and entry.kind == "draft"), None)
    return str(_reply_fields(said).get("say", "")) if said and said.is_reply else ""


def said_since_request(session: Session) -> tuple[str, ...]:
    """What the person has said since the current request, without the request and the answers to questions of steps."""
    texts: list[str] = []
    of_step = False
    for entry in since_request(session):
        of_step = entry.by == "tool" if entry.kind == "question" else of_step
        if entry.kind == "message" or (entry.kind == "answered" and not of_step):
            texts.append(entry.text)
    return tuple(texts)
