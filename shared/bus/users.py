"""Who may do what on NATS: one user for each program, and the subjects it may publish and subscribe to.

What each service may append, ask and answer is in `shared.services`: a planner cannot approve, the gateway cannot plan,
and neither can say what a tool returned. What such an event says is not checked: a reader must not believe more of it
than its author can know, so the executor rules each call again. The operator's user may do everything.

Two things follow from how NATS checks. The reply subject of a request is not checked, and the server itself publishes
there what was asked for: only plan_store may have stored messages sent to a subject (DIRECT.GET), and nobody makes
consumers, or a service could have its own words stored as another's. Everybody else reads with MSG.GET, whose answer
is no event. And a service that answers may publish to whatever reply subject it was given: `Bus.answer` looks at it
first.
"""

import json
from collections.abc import Mapping

from shared.bus.topology import SESSIONS, WATCHDOG
from shared.services import OPERATOR, SERVICES

USERS = (*SERVICES, OPERATOR)
INBOX = "_INBOX"
ANSWER_WITHIN = 60  # seconds; a later answer is not sent, for nobody waits so long


def inbox(user: str) -> str:
    """Where answers to this user arrive; nobody else hears them. Of a server that is not ours nothing is supposed."""
    return f"{INBOX}_{user}" if user in USERS else INBOX


def permissions(user: str) -> dict[str, list[str]]:
    """The subjects a user may publish and subscribe to."""
    if user == OPERATOR:
        return {"publish": [">"], "subscribe": [">"]}
    spec = SERVICES[user]
    publish = [f"session.*.*.{kind}" for kind in spec.appends]
    publish += spec.requests
    publish += [f"$JS.API.STREAM.MSG.GET.{SESSIONS}", f"$JS.API.STREAM.INFO.{SESSIONS}"]
    for stream, durable, _ in spec.consumers:
        api = "$JS.API.CONSUMER"
        publish += [f"{api}.MSG.NEXT.{stream}.{durable}", f"{api}.INFO.{stream}.{durable}"]
        publish += [f"$JS.ACK.{stream}.{durable}.>"]
        publish += [f"watchdog.strike.{stream}.{durable}.*"]
    publish += [f"$JS.API.STREAM.MSG.GET.{WATCHDOG}"] if spec.consumers else []
    publish += [f"watchdog.exit.{user}"]
    publish += spec.publishes
    subscribe = [f"{inbox(user)}.>", *spec.answers, *spec.subscribes]
    return {"publish": publish, "subscribe": subscribe}


def configuration(passwords: Mapping[str, str]) -> str:
    """The part of a server's configuration that knows the users. A password that begins with $ names a variable."""
    users = ",\n".join(_entry(user, passwords[user]) for user in USERS)
    return f"authorization {{\n  users: [\n{users}\n  ]\n}}\n"


def _entry(user: str, password: str) -> str:
    shown = password if password.startswith("$") else json.dumps(password)
    head = f"    {{ user: {user}, password: {shown}"
    if user == OPERATOR:
        return f"{head} }}"
    allowed = permissions(user)
    lines = [f"      {what}: {{ allow: [\n{_lines(allowed[what])}\n      ] }}" for what in ("publish", "subscribe")]
    if SERVICES[user].answers:  # once for each request, and a while after the last moment in which it is sent
        lines.append(f'      allow_responses: {{ max: 1, expires: "{2 * ANSWER_WITHIN}s" }}')
    return f"{head}, permissions: {{\n" + "\n".join(lines) + "\n    } }"


def _lines(subjects: list[str]) -> str:
    return "\n".join(f"        {json.dumps(subject)}" for subject in subjects)
