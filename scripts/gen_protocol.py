"""docs/protocol.md."""

import ast
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from parley.protocol import bounds, client, journal, screen, server, views
from parley.protocol.bounds import MAX_MESSAGE_BYTES
from scripts.gen_conversation import client_examples, screen_examples, server_examples
from scripts.gen_events import VALUES, subclasses, value_section
from scripts.gen_openapi import openapi
from scripts.gen_tables import example, fields, fill, flat, table
from services.gateway import api_errors
from services.gateway.access import auth, quota
from shared.domain import errors
from shared.settings import Settings

GATEWAY = Path(__file__).resolve().parent.parent / "services" / "gateway"
VIEWS = tuple(dict.fromkeys((*subclasses(views, views.View), *subclasses(server, views.View))))
PARTS: tuple[type[BaseModel], ...] = (*VIEWS, bounds.OwnAction, bounds.OwnPlan, *VALUES)
ENTRIES: tuple[type[BaseModel], ...] = (
    *subclasses(journal, journal.JournalEntry),
    journal.VerdictLine,
    journal.SubGoalLine,
    journal.EntryUpdate,
)
SECTIONS = tuple(kind for kind in subclasses(screen, views.View) if kind.__module__ == screen.__name__)
ERRORS = {
    "bad_message": "not JSON, no `type`, a missing, unknown or out-of-range field, or a binary frame",
    "unknown_type": "there is no message of this type",
    "too_large": "the message, or one of its fields, is too long",
    "slow_down": "a [limit for one user](settings.md#what-one-user-may-take) is reached, or too many logins failed: "
    "`retry_after` (over REST and for a handshake also `Retry-After`) says after how many seconds to send it again",
    "unauthorized": "log in first, or get another ticket",
    "forbidden": "a foreign Origin or Host, a session that you may only read, or data for the operator only",
    "not_found": "there is no such session, version or path; another user's session gets the same answer",
    "nothing_shown": "an approval without a version, before this socket has shown anything to approve",
    "not_now": "the session does not allow it in its present phase; the snapshot's `can` lists what it allows",
    "stale_version": "it names a version or content that is no longer in review",
    "invalid": "it can never be valid: an empty text, an unknown action, an edit that changes nothing",
    "already_done": "this command was carried out before, or another client has approved the same item",
    "not_available": "Parley does not support this, or not over this interface",
    "timed_out": "the session did not finish within your `timeout`, and continues: `session_id` names it",
    "unavailable": "the log or the store is down: nothing is lost, send it again with the same `id`",
    "upgrade_needed": "a newer release of Parley has continued the session, and this one cannot read it: nothing is "
    "lost; send it again with the same `id` once all services are upgraded",
    "refused": "refused, for the reason in `message`",
    "failed": "an internal error; nothing was changed",
}
STATES = {
    "greeting": "no request yet",
    "text_plan_generation": "the planner writes a plan",
    "text_plan_approval": "a plan is in review",
    "text_plan_feedback": "the plan was rejected, and feedback is awaited",
    "code_generation": "the generator writes code, or the verifier checks it",
    "code_approval": "code is in review",
    "code_feedback": "the code was rejected, and feedback is awaited",
    "question": "a question is open",
    "action_approval": "actions wait for approval",
    "executing": "actions run",
    "verifying": "a run is judged",
    "answering": "an answer is written",
    "waiting": "steps of a plan wait for their time",
    "escalated": "a person must take over",
    "completed": "at rest after an answer, an approval, or `complete`",
    "stopped": "at rest after a stop",
    "failed": "a stage failed",
    "offer": "an offer is open, whatever else waits or runs (lists and protocol 2)",
    "replying": "at rest, and a message is being answered (lists and protocol 2)",
}


def protocol_md() -> str:
    rate = Settings.model_fields["max_requests_per_second"].default
    return fill(
        "protocol",
        size=str(MAX_MESSAGE_BYTES // 1024),
        burst=f"{rate * quota.BURST_SECONDS:,}",
        rate=str(rate),
        base=fields(client.ClientMessage),
        client="\n".join(_messages(client.AnyClientMessage, client_examples(), "client", ("id", "session_id"))),
        server="\n".join(_messages(server.AnyServerMessage, server_examples(), "server", ("session_id", "version"))),
        screen="\n".join(_screen()),
        entries="\n".join(value_section(entry) for entry in ENTRIES),
        sections="\n".join(value_section(section) for section in SECTIONS),
        values="\n".join(value_section(value) for value in PARTS),
        states=table(("State", "Meaning"), [(f"`{name}`", text) for name, text in STATES.items()]),
        errors=_errors(),
        days=str(auth.COOKIE_DAYS),
        rest=_rest(),
    )


def _messages(union: Any, examples: dict[str, dict[str, Any]], side: str, without: tuple[str, ...]) -> list[str]:
    parts = []
    for model in get_args(get_args(union)[0]):
        kind = get_args(model.model_fields["type"].annotation)[0]
        heading = f"### {side}: {kind}\n\n{flat(model.__doc__)}\n"
        own = fields(model, without=without)
        parts.append("\n".join(part for part in (heading, own, example(examples.pop(kind))) if part))
    if examples:
        raise LookupError(f"examples of messages that there are not: {', '.join(examples)}")
    return parts


def _screen() -> list[str]:
    """The messages that only protocol 2 has."""
    parts = []
    examples = screen_examples()
    for model in (screen.ScreenSnapshot, screen.ScreenEvent, screen.ScreenDelta):
        kind = model.model_fields["type"].default
        own = fields(model, without=("session_id", "version"))
        parts.append(f"### screen: {kind}\n\n{flat(model.__doc__)}\n\n{own}\n{example(examples[kind])}")
    return parts


def _errors() -> str:
    used = {*api_errors.STATUS, *_raised(), *(kind.code for kind in _refusals())}
    if missing := used - ERRORS.keys():
        raise LookupError(f"no words for the error codes {', '.join(sorted(missing))}")
    rows = [(f"`{code}`", str(api_errors.STATUS.get(code, 409)), text) for code, text in ERRORS.items()]
    return table(("Code", "HTTP", "Meaning"), rows)


def _refusals() -> list[type[errors.CommandRefused]]:
    return [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.CommandRefused)
    ]


def _raised() -> set[str]:
    """The codes that the gateway's source names."""
    codes = set()
    for source in GATEWAY.rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="ApiError"), args=[ast.Constant(value=str(code)), *_]):
                    codes.add(code)
    return codes


def _rest() -> str:
    rows = [
        (f"`{method.upper()} {path}`", flat(operation.get("description") or operation.get("summary")))
        for path, operations in openapi()["paths"].items()
        for method, operation in operations.items()
    ]
    return table(("Request", "What"), rows)
