"""docs/protocol.md."""

import ast
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from parley.protocol import bounds, client, journal, screen, server, views
from scripts.gen_conversation import client_examples, screen_examples, server_examples
from scripts.gen_events import VALUES, subclasses, value_section
from scripts.gen_rest import openapi
from scripts.gen_tables import example, fields, fill, flat, table
from services.gateway import trouble
from services.gateway.access import auth, quota
from services.gateway.inbound import MAX_MESSAGE
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
    "bad_message": "no JSON, no `type`, a field missing, unknown or out of bounds, a binary frame",
    "unknown_type": "there is no message of this type",
    "too_large": "the message, or one of its fields, is too long",
    "slow_down": "a limit of what [one user may take](settings.md#what-one-user-may-take), or too many failed logins: "
    "`retry_after`, and over REST and for a handshake `Retry-After`, says in how many seconds to send it again",
    "unauthorized": "log in first, or get another ticket",
    "forbidden": "a foreign Origin or Host, a session that you may only read, or what only the operator may see",
    "not_found": "there is no such session, version or path; somebody else's session is told of in the same words",
    "nothing_shown": "an approval without a version, and nothing has been shown on this socket",
    "not_now": "the session does not allow it in its present phase; the snapshot's `can` says what it does",
    "stale_version": "it names a version, or a content, that is no longer the one in review",
    "invalid": "it could never be right: an empty text, an unknown action, an edit that changes nothing",
    "already_done": "this command was carried out before, or another screen has approved the same",
    "not_available": "Parley cannot do that yet, or not over this way",
    "timed_out": "the session has come to nothing in the time you gave it, and goes on: `session_id` names it",
    "unavailable": "the log or the store is away: nothing is lost, send it again with the same `id`",
    "upgrade_needed": "a newer release of Parley has continued the session, and this one cannot read on: nothing is "
    "lost; send it again with the same `id` once all services are upgraded",
    "refused": "refused, for a reason in `message`",
    "failed": "a fault of ours; nothing was changed by it",
}
STATES = {
    "greeting": "nothing was asked yet",
    "text_plan_generation": "the planner is at it",
    "text_plan_approval": "a plan is in review",
    "text_plan_feedback": "the plan was refused, feedback is awaited",
    "code_generation": "the generator is at it, or the code is being checked",
    "code_approval": "code is in review",
    "code_feedback": "the code was refused, feedback is awaited",
    "question": "a question is open",
    "action_approval": "actions wait for a yes",
    "executing": "actions run",
    "verifying": "a run is judged",
    "answering": "an answer is written",
    "waiting": "steps of a plan wait for their time",
    "escalated": "a person must take over",
    "completed": "at rest after an answer, an approval, or `complete`",
    "stopped": "at rest after a stop",
    "failed": "a stage failed",
}


def protocol_md() -> str:
    rate = Settings.model_fields["max_requests_per_second"].default
    return fill(
        "protocol",
        size=str(MAX_MESSAGE // 1024),
        burst=f"{rate * quota.BURST:,}",
        rate=str(rate),
        base=fields(client.ClientMessage, "client"),
        client="\n".join(_messages(client.AnyClientMessage, client_examples(), "client", ("id", "session_id"))),
        server="\n".join(_messages(server.AnyServerMessage, server_examples(), "server", ("session_id", "version"))),
        screen="\n".join(_screen()),
        entries="\n".join(value_section(entry, "journal") for entry in ENTRIES),
        sections="\n".join(value_section(section, "screen") for section in SECTIONS),
        values="\n".join(value_section(value, "server") for value in PARTS),
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
        own = fields(model, kind, side, without=without)
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
        own = fields(model, f"screen.{kind}", kind, "server", without=("session_id", "version"))
        parts.append(f"### screen: {kind}\n\n{flat(model.__doc__)}\n\n{own}\n{example(examples[kind])}")
    return parts


def _errors() -> str:
    used = {*trouble.STATUS, *_raised(), *(kind.code for kind in _refusals())}
    if missing := used - ERRORS.keys():
        raise LookupError(f"no words for the error codes {', '.join(sorted(missing))}")
    rows = [(f"`{code}`", str(trouble.STATUS.get(code, 409)), text) for code, text in ERRORS.items()]
    return table(("Code", "HTTP", "Meaning"), rows)


def _refusals() -> list[type[errors.Refused]]:
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Refused)]


def _raised() -> set[str]:
    """The codes that the gateway's source names."""
    found = set()
    for source in GATEWAY.rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="Trouble"), args=[ast.Constant(value=str(code)), *_]):
                    found.add(code)
    return found


def _rest() -> str:
    rows = [
        (f"`{method.upper()} {path}`", flat(operation.get("description") or operation.get("summary")))
        for path, operations in openapi()["paths"].items()
        for method, operation in operations.items()
    ]
    return table(("Request", "What"), rows)
