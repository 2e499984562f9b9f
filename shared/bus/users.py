"""The NATS users: one per program, with the subjects that it may publish and subscribe to.

An event class names the services that may append it (`made_by`); `shared.services` says what each of them may request
and answer. A planner cannot approve, the gateway cannot plan, and neither can report the result of a tool. NATS does
not check the contents of an event, so a reader must not believe more of it than its author can know: the executor
rules each call again. The operator's user may do everything.

Two rules follow from how NATS checks permissions. NATS does not check the reply subject of a request, and the server
itself publishes the answer there. So only plan_store may have stored messages sent to a subject (DIRECT.GET), and no
service creates consumers: either would let a service have its own words stored as another's. All others read with
MSG.GET, whose answer is not an event. A service that answers may publish to whatever reply subject it was given, so
`Bus.answer` checks that subject first.
"""

import json
from collections.abc import Mapping

from parley.events import types_made_by
from shared.bus.topology import ATTEMPTS, SESSIONS
from shared.services import OPERATOR, SERVICES

USERS = (*SERVICES, OPERATOR)
INBOX = "_INBOX"
ANSWER_TIMEOUT = 60  # seconds; no requester waits longer, so later answers are not sent


def inbox(user: str) -> str:
    """The inbox prefix of this user, which no other user may read; the default for users that are not Parley's."""
    return f"{INBOX}_{user}" if user in USERS else INBOX


def permissions(user: str) -> dict[str, list[str]]:
    """The subjects a user may publish and subscribe to."""
    if user == OPERATOR:
        return {"publish": [">"], "subscribe": [">"]}
    spec = SERVICES[user]
    publish = [f"session.*.*.{kind}" for kind in types_made_by(user)]
    publish += spec.requests
    publish += [f"$JS.API.STREAM.MSG.GET.{SESSIONS}", f"$JS.API.STREAM.INFO.{SESSIONS}"]
    for stream, durable, _ in spec.consumers:
        api = "$JS.API.CONSUMER"
        publish += [f"{api}.MSG.NEXT.{stream}.{durable}", f"{api}.INFO.{stream}.{durable}"]
        publish += [f"$JS.ACK.{stream}.{durable}.>"]
        publish += [f"attempt.{stream}.{durable}.*"]
    publish += [f"$JS.API.STREAM.MSG.GET.{ATTEMPTS}"] if spec.consumers else []
    publish += spec.publishes
    subscribe = [f"{inbox(user)}.>", *spec.answers, *spec.subscribes]
    return {"publish": publish, "subscribe": subscribe}


def server_configuration(passwords: Mapping[str, str]) -> str:
    """The server configuration of the users. A password that starts with $ names a variable."""
    users = ",\n".join(_entry(user, passwords[user]) for user in USERS)
    return f"authorization {{\n  users: [\n{users}\n  ]\n}}\n"


def _entry(user: str, password: str) -> str:
    shown = password if password.startswith("$") else json.dumps(password)
    head = f"    {{ user: {user}, password: {shown}"
    if user == OPERATOR:
        return f"{head} }}"
    allowed = permissions(user)
    lines = [f"      {what}: {{ allow: [\n{_lines(allowed[what])}\n      ] }}" for what in ("publish", "subscribe")]
    if SERVICES[user].answers:  # one answer per request, and some time beyond ANSWER_TIMEOUT
        lines.append(f'      allow_responses: {{ max: 1, expires: "{2 * ANSWER_TIMEOUT}s" }}')
    return f"{head}, permissions: {{\n" + "\n".join(lines) + "\n    } }"


def _lines(subjects: list[str]) -> str:
    return "\n".join(f"        {json.dumps(subject)}" for subject in subjects)
