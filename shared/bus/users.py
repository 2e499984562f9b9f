"""Who may do what on NATS: one user for each program, and the subjects it may publish and subscribe to.

What a service may append is a list of event types: a planner cannot approve, the gateway cannot plan, and neither can
say what a tool returned. What such an event says is not checked: a reader must not believe more of it than its maker
can know, so the executor rules each call again. `parley` is the operator's user and may do everything.

Two things follow from how NATS checks. The reply subject of a request is not checked, and the server itself publishes
there what was asked for: only plan_store may have stored messages sent to a subject (DIRECT.GET), and nobody makes
consumers, or a service could have its own words stored as another's. Everybody else reads with MSG.GET, whose answer
is no event. And a service that answers may publish to whatever reply subject it was given (`ANSWERS`): `Bus.answer`
looks at it first.
"""

import json
from collections.abc import Mapping

from shared.bus.topology import ARTEFACTS, BUCKET, DEAD_LETTERS, LOGOUTS, SESSIONS, TIMERS, WATCHDOG, WORKERS

OPERATOR = "parley"
SERVICES = (*WORKERS, "plan_store", "gateway")
USERS = (*SERVICES, OPERATOR)
INBOX = "_INBOX"
PING = "ping"  # ping.<worker>: answered as long as its event loop turns

# Whatever the work is: it costs, it fails, and it asks whether the budget may be raised.
_ANY_WORKER = ("usage.recorded", "session.failed", "question.asked")

MAKES: dict[str, tuple[str, ...]] = {
    "planner": (*_ANY_WORKER, "remark.answered", "plan.drafted", "turn.planned"),
    "executor": (
        *(*_ANY_WORKER, "turn.changed"),
        *("actions.started", "actions.finished", "action.uncertain", "result.stored", "result.lost"),
    ),
    "verifier": (*_ANY_WORKER, "code.verified", "turn.verified"),
    "generator": (*_ANY_WORKER, "remark.answered", "code.drafted", "answer.given"),
    "plan_store": ("approval.expired", "session.failed", "action.uncertain", "result.lost"),  # the keeper's
    "gateway": (
        *("message.received", "question.answered", "question.asked", "answer.judged"),
        *("plan.edited", "plan.approved", "plan.rejected", "plan.cancelled"),
        *("code.edited", "code.approved", "code.rejected"),
        *("turn.requested", "turn.changed", "approval.given", "approval.denied", "action.skipped"),  # a person's own
        *("policy.set", "budget.raised", "session.stopped", "session.paused", "session.resumed"),
        *("session.retried", "session.completed", "session.forked", "session.renamed", "session.workflow_changed"),
    ),
}

# What each asks of others, by request and reply.
ASKS: dict[str, tuple[str, ...]] = {
    "planner": ("tools.list", "flows.list", *(f"plan_store.{v}" for v in ("memory.recall", "library.similar"))),
    "executor": ("plan_store.library.similar",),
    "verifier": (),
    "generator": (),
    "plan_store": (),
    "gateway": (
        *("tools.list", "tools.preview", "flows.list", "draft.get.*", *(f"{PING}.{worker}" for worker in WORKERS)),
        *("plan_store.session.list", "plan_store.session.purge"),
        *(f"plan_store.plan.{verb}" for verb in ("list", "get", "versions", "diff")),
        *("plan_store.journal.read", "plan_store.code.versions", "plan_store.usage.totals", "plan_store.memory.list"),
        *("plan_store.library.list", "plan_store.proposals.list", "plan_store.dead.list", "plan_store.service.health"),
    ),
}
LOADS = tuple(user for user in SERVICES if user != "plan_store")  # everybody else loads sessions from it

ANSWERS: dict[str, tuple[str, ...]] = {
    **{worker: ("draft.get.*", f"{PING}.{worker}") for worker in WORKERS},
    "executor": ("draft.get.*", f"{PING}.executor", "tools.list", "tools.preview", "flows.list"),
    "plan_store": ("plan_store.>",),
}
ANSWER_WITHIN = 60  # seconds; a later answer is not sent, for nobody waits so long

CONSUMES: dict[str, tuple[tuple[str, str], ...]] = {
    **{worker: ((SESSIONS, worker),) for worker in WORKERS},
    "plan_store": ((SESSIONS, "plan_store"), (DEAD_LETTERS, "dead_letters"), (TIMERS, "timers")),
}

_ELSE: dict[str, tuple[str, ...]] = {
    "executor": (f"$O.{BUCKET}.>", f"$JS.API.STREAM.INFO.{ARTEFACTS}", f"$JS.API.STREAM.MSG.GET.{ARTEFACTS}"),
    "plan_store": (
        *("timer.>", f"$JS.API.STREAM.PURGE.{TIMERS}"),
        *(f"$JS.API.CONSUMER.INFO.{SESSIONS}.{worker}" for worker in WORKERS),
        *(f"$JS.API.DIRECT.GET.{SESSIONS}", f"$JS.API.STREAM.PURGE.{SESSIONS}"),
        *(f"$JS.API.STREAM.INFO.{ARTEFACTS}", f"$JS.API.STREAM.PURGE.{ARTEFACTS}"),
        f"$JS.API.STREAM.INFO.{WATCHDOG}",
    ),
    "gateway": (
        *("ticket.*", "logout.*", f"$JS.API.STREAM.INFO.{LOGOUTS}"),
        f"$JS.API.STREAM.INFO.{ARTEFACTS}",
        f"$JS.API.STREAM.MSG.GET.{ARTEFACTS}",
    ),
}


def inbox(user: str) -> str:
    """Where answers to this user arrive; nobody else hears them. Of a server that is not ours nothing is supposed."""
    return f"{INBOX}_{user}" if user in USERS else INBOX


def permissions(user: str) -> dict[str, list[str]]:
    """The subjects a user may publish and subscribe to."""
    if user == OPERATOR:
        return {"publish": [">"], "subscribe": [">"]}
    publish = [f"session.*.*.{kind}" for kind in MAKES[user]]
    publish += ASKS[user]
    publish += ["plan_store.session.load", "plan_store.session.part"] if user in LOADS else []
    publish += [f"$JS.API.STREAM.MSG.GET.{SESSIONS}", f"$JS.API.STREAM.INFO.{SESSIONS}"]
    for stream, durable in CONSUMES.get(user, ()):
        api = "$JS.API.CONSUMER"
        publish += [f"{api}.MSG.NEXT.{stream}.{durable}", f"{api}.INFO.{stream}.{durable}"]
        publish += [f"$JS.ACK.{stream}.{durable}.>"]
        publish += [f"watchdog.strike.{stream}.{durable}.*"]
    publish += [f"$JS.API.STREAM.MSG.GET.{WATCHDOG}"] if user in CONSUMES else []
    publish += [f"watchdog.exit.{user}"]
    publish += _ELSE.get(user, ())
    subscribe = [f"{inbox(user)}.>", *ANSWERS.get(user, ())]
    if user in WORKERS:
        publish += ["delta.*.*"]
        subscribe += ["feed.*.*.session.stopped"]
    if user == "gateway":
        subscribe += ["feed.>", "delta.>", "logout.*"]
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
    if user in ANSWERS:  # once for each request, and a while after the last moment in which it is sent
        lines.append(f'      allow_responses: {{ max: 1, expires: "{2 * ANSWER_WITHIN}s" }}')
    return f"{head}, permissions: {{\n" + "\n".join(lines) + "\n    } }"


def _lines(subjects: list[str]) -> str:
    return "\n".join(f"        {json.dumps(subject)}" for subject in subjects)
