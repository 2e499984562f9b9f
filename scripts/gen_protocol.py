"""docs/protocol.md."""

import ast
from pathlib import Path
from typing import Any, get_args

from scripts.gen_conversation import client_examples, server_examples
from scripts.gen_events import VALUES, _flat
from scripts.gen_rest import openapi
from scripts.gen_tables import NOTICE, example, fields, table
from services.gateway import auth, limits, trouble
from services.gateway.inbound import MAX_MESSAGE
from shared.domain import errors
from shared.protocol import client, server

GATEWAY = Path(__file__).resolve().parent.parent / "services" / "gateway"
VIEWS = (
    server.PlanView,
    server.CodeView,
    server.ActionView,
    server.TurnView,
    server.VerdictView,
    server.FailureView,
    server.ContinueContent,
)
ERRORS = {
    "bad_message": "no JSON, no `type`, a field missing, unknown or out of bounds, a binary frame",
    "unknown_type": "there is no message of this type",
    "too_large": "the message, or one of its fields, is too long",
    "slow_down": "too many messages at once, or too many sessions on one socket",
    "unauthorized": "log in first",
    "forbidden": "somebody else's session, a foreign Origin, or only for its owner",
    "not_found": "there is no such session, version or path",
    "nothing_shown": "an approval without a version, and nothing has been shown on this socket",
    "not_now": "the session does not allow it in its present phase; the snapshot's `can` says what it does",
    "stale_version": "it names a version, or a content, that is no longer the one in review",
    "invalid": "it could never be right: an empty text, an unknown action, an edit that changes nothing",
    "already_done": "this command was carried out before",
    "has_forks": "purging it would take from other sessions what they were forked from: say `force`",
    "not_available": "Parley cannot do that yet, or not over this way",
    "unavailable": "the log or the store is away: nothing is lost, send it again with the same `id`",
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
    "escalated": "a person must take over",
    "completed": "at rest after an answer, an approval, or `complete`",
    "stopped": "at rest after a stop",
    "failed": "a stage failed",
}


def protocol_md() -> str:
    return "\n".join(
        (
            HEAD.format(notice=NOTICE, size=MAX_MESSAGE // 1024, burst=limits.TokenBucket()._burst),
            "## What a client sends\n",
            BASE,
            fields(client.ClientMessage, "client"),
            *_messages(client.AnyClientMessage, client_examples(), "client", ("id", "session_id")),
            "## What the gateway sends\n",
            "Every message has `type`, `session_id` and `version`, which is null where it tells of no event.\n",
            *_messages(server.AnyServerMessage, server_examples(), "server", ("session_id", "version")),
            "## Values\n",
            *(f"### {v.__name__}\n\n{_flat(v.__doc__)}\n\n{fields(v, v.__name__, 'server')}" for v in (*VIEWS, *VALUES)),
            "## States\n",
            "`state` in a snapshot and in lists is a function of workflow, phase and what is in review.\n",
            table(("State", "Meaning"), [(f"`{name}`", text) for name, text in STATES.items()]),
            _errors(),
            LOGIN.format(days=auth.COOKIE_DAYS),
            _rest(),
        )
    )


def _messages(union: Any, examples: dict[str, dict[str, Any]], side: str, without: tuple[str, ...]) -> list[str]:
    parts = []
    for model in get_args(get_args(union)[0]):
        kind = get_args(model.model_fields["type"].annotation)[0]
        heading = f"### {side}: {kind}\n\n{_flat(model.__doc__)}\n"
        own = fields(model, kind, side, without=without)
        parts.append("\n".join(part for part in (heading, own, example(examples.pop(kind))) if part))
    if examples:
        raise LookupError(f"examples of messages that there are not: {', '.join(examples)}")
    return parts


def _errors() -> str:
    used = {*trouble.STATUS, *_raised(), *(kind.code for kind in _refusals())}
    if missing := used - ERRORS.keys():
        raise LookupError(f"no words for the error codes {', '.join(sorted(missing))}")
    rows = [(f"`{code}`", str(trouble.STATUS.get(code, 409)), text) for code, text in ERRORS.items()]
    return f"{ERRORS_HEAD}\n{table(('Code', 'HTTP', 'Meaning'), rows)}"


def _refusals() -> list[type[errors.Refused]]:
    return [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Refused)]


def _raised() -> set[str]:
    """The codes that the gateway's source names."""
    found = set()
    for source in GATEWAY.glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="Trouble"), args=[ast.Constant(value=str(code)), *_]):
                    found.add(code)
    return found


def _rest() -> str:
    rows = [
        (f"`{method.upper()} {path}`", _flat(operation.get("description") or operation.get("summary")))
        for path, operations in openapi()["paths"].items()
        for method, operation in operations.items()
    ]
    return f"{REST_HEAD}\n{table(('Request', 'What'), rows)}"


HEAD = """{notice}
# The protocol

Whatever the page does goes over one WebSocket, `/ws`, and a few REST endpoints; nothing is reserved for it. Messages are JSON
objects in text frames, told apart by `type`. The same as JSON Schema: [protocol.schema.json](protocol.schema.json); REST as
OpenAPI: [openapi.json](openapi.json), served as `/openapi.json`.

A message may have {size} KiB; a socket may send {burst:g} at once and 20 a second after that. A client that does not read loses its socket
(code 1013), never an event: it resumes.

## The least a client must know

Four messages are enough. Open `/ws`, and a `greeting` comes with the id of the session that your first message will begin.

```
→ {{"type": "user_message", "content": "Help me create a simple calculator"}}
← event …                     what is stored, as it is stored
← text_plan_review            the plan, with its version and hash
→ {{"type": "approval", "approved": true}}
← code_review                 the program, its checks, with its version and hash
→ {{"type": "approval", "approved": false}}
← feedback_request
→ {{"type": "feedback", "content": "Add support for floating point numbers"}}
← code_review
→ {{"type": "approval", "approved": true}}
← completion                  final_plan and final_code are what was approved
← continue                    its options, or any new request
→ {{"type": "complete"}}
← completed
```

Between these come `delta`, `event` and `usage`: a client that does not know a type leaves it aside. A `user_message` means what the moment
makes of it: a request at rest, feedback in a review, the answer to an open question, and during work a word that is noted
and taken in before anything is shown. After `completion` it goes on in the same session.

## What an approval means

An approval is bound to one version and its content. **The version of a plan or of code is the version of the event that made
it**; `number` is for people. An approval that names `version` (and `hash`) is carried out only if that is what is in review. Without a
version it means what was last shown on this socket, by a review or a snapshot; where a newer version is in review it is
refused with `stale_version`, where nothing was shown with `nothing_shown`. Feedback is never an approval, and an edit makes a new version that
needs its own.

## Leave and come back

The session does not notice whether a socket is there. On a new one, send

```json
{{"type": "resume", "session_id": "b3c1d09e5f6a7788", "after": 7}}
```

and get a `snapshot` of where things stand (the review, the question, the draft that is being written), then every event after version 7, each
exactly once and in order, then what happens live. With `after: 0` that is the whole journal. Any gateway can serve any session.
Give your messages an `id`: after a lost connection send them again with the same one, and they are done once.
"""
BASE = "Every message has `type`, and may have:\n"
ERRORS_HEAD = """## Errors

A refusal is an `error` message over `/ws`, and over REST the same `code`, `message` and `hint` with a status. Nothing has changed.
"""
LOGIN = """## Login and Origin

`PARLEY_AUTH` decides how a client says who it is: in `Authorization: Bearer …`, as `?token=…` of `/ws`, or by the cookie that `GET /?token=…`
sets for {days} days (HttpOnly, SameSite=strict) before it leads to the same URL without the token.

| `PARLEY_AUTH` | Secret | Users |
| --- | --- | --- |
| `token` | `PARLEY_TOKEN`; `parley up` makes one at every start | one, `local`, who sees every session |
| `keys` | one of `PARLEY_API_KEYS` (`alice=key1,bob=key2`) | those named; each sees their own sessions and those shared with them |
| `jwt` | an HS256 token signed with `PARLEY_SECRET`, `sub` is the user | as above |
| `none` | none; refused where `AGENT_HOST` is not a loopback address | one, `local` |

A browser's `Origin` must be the gateway's own, or in `PARLEY_ORIGINS`; else the socket is refused (403) before it opens. A change by
REST with a cookie must come from the page itself. Clients without a browser send no Origin and are not concerned.
"""
REST_HEAD = """## REST

`POST /api/sessions/{session_id}/messages` takes any client message above but `resume` and `close`; an approval names its version there.
"""
