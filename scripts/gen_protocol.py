"""docs/protocol.md."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, SecretStr

from parley.protocol import bounds, client, journal, screen, server, views
from scripts.gen_conversation import client_examples, screen_examples, server_examples
from scripts.gen_events import VALUES, subclasses
from scripts.gen_tables import fields, fill, flat, section, table
from services.gateway.access import auth, quota
from services.gateway.app import build
from shared.bus import Bus
from shared.settings import Settings
from shared.store import PlanStoreClient

VIEWS = tuple(dict.fromkeys((*subclasses(views, views.View), *subclasses(server, views.View))))
PARTS: tuple[type[BaseModel], ...] = (*VIEWS, bounds.OwnAction, bounds.OwnPlan, *VALUES)
LINES = (journal.VerdictLine, journal.SubGoalLine, journal.EntryUpdate)
ENTRIES: tuple[type[BaseModel], ...] = (*subclasses(journal, journal.JournalEntry), *LINES)
SECTIONS = tuple(kind for kind in subclasses(screen, views.View) if kind.__module__ == screen.__name__)
SCREEN = (screen.ScreenSnapshot, screen.ScreenEvent, screen.ScreenDelta)  # the messages that only protocol 2 has
CLIENT, SERVER = (get_args(get_args(union)[0]) for union in (client.AnyClientMessage, server.AnyServerMessage))


@cache
def openapi() -> dict[str, Any]:
    """The OpenAPI document of an unconnected gateway."""
    settings = Settings(parley_auth="none", agent_host="127.0.0.1", parley_secret=SecretStr("x" * 32))
    bus = Bus(settings, "docs")
    return build(settings, bus, PlanStoreClient(bus), bus.log, page=Path("/nonexistent")).openapi()


def protocol_md() -> str:
    rate = Settings.model_fields["max_requests_per_second"].default
    envelope = ("session_id", "version")
    return fill(
        "protocol",
        size=str(bounds.MAX_MESSAGE_BYTES // 1024),
        burst=f"{rate * quota.BURST_SECONDS:,}",
        rate=str(rate),
        base=fields(client.ClientMessage),
        client=_messages("client", CLIENT, client_examples(), without=("id", "session_id")),
        server=_messages("server", SERVER, server_examples(), without=envelope),
        screen=_messages("screen", SCREEN, screen_examples(), without=envelope),
        entries="\n".join(section(entry) for entry in ENTRIES),
        sections="\n".join(section(part) for part in SECTIONS),
        values="\n".join(section(value) for value in PARTS),
        days=str(auth.COOKIE_DAYS),
        rest=table(("Request", "What"), _requests()),
    )


def _messages(
    side: str, models: Iterable[type[BaseModel]], examples: Mapping[str, Any], *, without: tuple[str, ...]
) -> str:
    kinds = {model: str(get_args(model.model_fields["type"].annotation)[0]) for model in models}
    if missing := kinds.values() - examples.keys():
        raise SystemExit(f"{', '.join(sorted(missing))}: no example; add it to scripts/gen_conversation.py")
    return "\n".join(
        section(model, f"{side}: {kind}", without=without, data=examples[kind]) for model, kind in kinds.items()
    )


def _requests() -> list[tuple[str, str]]:
    return [
        (f"`{method.upper()} {path}`", flat(operation.get("description") or operation.get("summary")))
        for path, operations in openapi()["paths"].items()
        for method, operation in operations.items()
    ]
