"""docs/events.md."""

import json
from typing import Any

from scripts.gen_reach import Reach
from scripts.gen_reactions import harness_events, reactions
from scripts.gen_story import BEGAN, ID, Told, stories
from scripts.gen_tables import NOTICE, example, fields, table
from scripts.gen_words import words
from shared.bus.topology import SESSIONS
from shared.domain import commands as c
from shared.domain.decide import due
from shared.domain.evolve import evolve
from shared.domain.people import PersonCommand
from shared.domain.session import SERVICE_OF, Session
from shared.events import EVENT_CLASSES, Event, dump_event, facts, parse_event, values
from shared.log import MAX_BODY, guard, subject_of

ENVELOPE = tuple("schema" if name == "schema_" else name for name in Event.model_fields)
VALUES = (
    values.ActionSpec,
    values.Check,
    values.Knowledge,
    values.SessionSettings,
    values.Step,
)
PERSON = {kind.__name__ for kind in PersonCommand.__args__}
KEEPER = {"Expire"}


def examples() -> dict[str, Told]:
    """One of each type; what nothing makes yet is made here."""
    found: dict[str, Told] = {}
    for told in stories():
        found.setdefault(told.event.type, told)
    before = Session(ID, version=12, phase="executing")
    reason = "The order cannot be found."
    event = facts.SessionEscalated(
        id=f"{ID}:12:session.escalated", session_id=ID, version=13, at=BEGAN, actor="verifier", reason=reason
    )
    found.setdefault(event.type, Told(before, c.Fail(reason=reason), event, evolve(before, event)))
    for told in found.values():
        if parse_event(dump_event(told.event)) != told.event:
            raise ValueError(f"{told.event.type} does not survive its JSON")
    return found


def events_md(reach: Reach) -> str:
    parts = [_head(), _first_event(), *(_section(kind, reach) for kind in EVENT_CLASSES), _values(), _reactions(reach)]
    return "\n".join(parts)


def _head() -> str:
    rows = [(f"`{name}`", words(name)) for name in (*ENVELOPE, "type")]
    headers = "\n".join(f"{name}: {value}" for name, value in guard(ID, 41, f"{ID}:3:plan.drafted").items())
    phases = table(("Phase", "Due"), [(f"`{phase}`", f"`{who}`") for phase, who in SERVICE_OF.items()])
    return HEAD.format(
        notice=NOTICE,
        stream=SESSIONS,
        kib=MAX_BODY // 1024,
        envelope=table(("Field", "Meaning"), rows),
        headers=headers,
        phases=phases,
    )


def _first_event() -> str:
    event = facts.MessageReceived(
        id=f"{ID}:first",
        session_id=ID,
        version=1,
        at=BEGAN,
        actor="user:local",
        text="Write a program that prints Roman numerals",
    )
    after = evolve(Session(ID), event)
    smallest = event.model_dump(mode="json", by_alias=True, exclude_defaults=True) | {"type": event.type}
    if parse_event(json.dumps(smallest)) != event:
        raise ValueError("the smallest first event cannot be read")
    return START.format(subject=subject_of(event, due(after)), event=example(smallest))


def _section(model: type[Event], reach: Reach) -> str:
    told = examples()[_type(model)]
    kind = told.event.type
    table_ = fields(model, _type(model), without=ENVELOPE)
    data: Any = json.loads(dump_event(told.event))
    lines = [
        f"### {kind}\n",
        f"{_flat(model.__doc__)}\n",
        f"**Made by** {_makers(kind, reach)} **Leads to** {_leads(kind, reach)}\n",
        table_,
        f"`{subject_of(told.event, told.due)}`\n",
        example(data),
    ]
    return "\n".join(line for line in lines if line)


def _type(model: type[Event]) -> str:
    return str(model.model_fields["type"].default)


def _flat(text: str | None) -> str:
    return " ".join((text or "").split())


def _makers(kind: str, reach: Reach) -> str:
    by = reach.makers.get(kind, set())
    if not by:
        return "nothing yet: it can be read, and no rule makes it."
    who = []
    if people := sorted(by & PERSON):
        who.append(f"a person ({', '.join(people)})")
    if kept := sorted(by & KEEPER):
        who.append(f"the keeper in plan_store ({', '.join(kept)})")
    if served := sorted(by - PERSON - KEEPER):
        who.append(f"a service ({', '.join(served)})")
    return f"{' or '.join(who)}."


def _leads(kind: str, reach: Reach) -> str:
    moved = sorted(reach.moved.get(kind, ()))
    told = [f"`{phase}` (due `{whose}`)" for phase, whose in moved]
    if reach.kept.get(kind):
        told.append("no other phase")
    return f"{', or '.join(told)}." if told else "`escalated` (due `user`)."


def _values() -> str:
    parts = ["## Values\n"]
    for value in VALUES:
        parts.append(f"### {value.__name__}\n\n{_flat(value.__doc__)}\n\n{fields(value, value.__name__)}")
    return "\n".join(parts)


def _reactions(reach: Reach) -> str:
    rows = [
        (
            found.service,
            f"`{found.consumer}` on `{found.stream}`",
            f"`{found.filter}`",
            found.handler,
            ", ".join(f"`{kind}`" for kind in found.events) or "rows in SQL",
        )
        for found in reactions(reach.makers)
    ]
    head = ("Service", "Durable consumer", "Filter", "Handler", "Events it can make")
    every = ", ".join(f"`{kind}`" for kind in harness_events(reach.makers))
    return REACTIONS.format(table=table(head, rows), every=every)


HEAD = """{notice}
# Events

Everything that happens in a session is an event: a fact in the past tense, stored once, never changed. All events of all
sessions are in one JetStream stream, `{stream}`, and that stream is the truth; the database is made from it. An outside
program may read all of it, and may add to it by the rules below.

## The subject says who is due

```
session.<session_id>.<due>.<type>
```

`session_id` is one subject token of at most 64 characters out of `A-Z a-z 0-9 _ -`. `due` is the one who must act because of
this event: `planner`, `generator`, `verifier`, `executor`, else `user` where a person is now asked for something, else `nobody`. It
follows from the session, not from the type: `code.verified` is due `user`, or `generator` when the code must be repaired. Each
service has one durable consumer with the filter `session.*.<service>.>`; nothing else routes work. A phase of the
session's machine belongs to a service, and the event that begins the phase is due that service:

{phases}
Of the other phases, `awaiting_approval`, `awaiting_input` and `escalated` are due `user`; `resting` and `failed` are due `nobody`. An
event that leaves the phase as it is, is due `user` or `nobody` by the same rule. While a session is paused, what would be due a service is due `nobody`; `session.resumed` then begins the work.

Stored events are republished on core NATS as `feed.<session_id>.<due>.<type>` with the same body and the header `Nats-Sequence`.
Subscribe there to watch (a message that will be parked, see below, is shown there too). A subscription on `session.>` would
also show publishes that the guard refuses, so it is of no use.

## The envelope

The body is JSON. Every event has these fields and its own; fields that are not known are refused, times have a time zone.

{envelope}
A body has at most {kib} KiB.

## The guard

Every append but the very first says which message it follows: the stream sequence of the last message under
`session.<session_id>.>`, whatever that message was.

```
{headers}
```

The second header must be this very string, for every writer: the server compares it literally. Where somebody else was
faster, the publish is refused with error code 10071 and nothing is stored; read the tail, decide again. A publish that times
out may still have been stored; read the tail before trying again. The `Nats-Msg-Id` is the event's `id`.

A message on a session's subject that breaks a rule (no guard, another version than the next, a body that is no event, a
subject that does not fit the session) is **parked**: it changes nothing and blocks nothing, and `parley dead` shows it with the reason.
"""

START = """## Start a session from outside

Publish a `message.received` with version 1 on `session.<new id>.planner.message.received`. Say that nothing is there yet, with
`Nats-Expected-Last-Subject-Sequence: 0`: then an id that is in use is refused instead of forked. (The very first message
of a session is also accepted without any guard.) This is the least it must hold; `workflow`, `settings` and `knowledge` can be added:

`{subject}`

{event}
With nothing but `nats-py`; `NATS_URL` must hold the server's token (`parley up` keeps it in `PARLEY_HOME/running.json`):

```python
# runnable: start a session, and wait for its plan
import asyncio
import json
import os
import uuid
from datetime import UTC, datetime

import nats


async def main() -> None:
    session = uuid.uuid4().hex[:16]
    event = {{
        "type": "message.received",
        "id": f"{{session}}:first",
        "session_id": session,
        "version": 1,
        "at": datetime.now(UTC).isoformat(),
        "actor": "user:local",
        "text": "Write a program that prints Roman numerals",
    }}
    headers = {{
        "Nats-Expected-Last-Subject-Sequence": "0",
        "Nats-Expected-Last-Subject-Sequence-Subject": f"session.{{session}}.>",
        "Nats-Msg-Id": event["id"],
    }}
    client = await nats.connect(os.environ["NATS_URL"])
    feed = await client.subscribe(f"feed.{{session}}.>")
    subject = f"session.{{session}}.planner.message.received"
    ack = await client.jetstream().publish(subject, json.dumps(event).encode(), headers=headers)
    print("stored at", ack.seq, "as session", session)
    async for message in feed.messages:
        stored = json.loads(message.data)
        print(stored["version"], stored["type"], "by", stored["actor"])
        if message.subject.split(".")[2] == "user":
            break
    await client.close()


asyncio.run(main())
```

The same by the command line, which also takes any event of a running session as JSON (`--file`) and guards it:

```sh
parley publish --text "Write a program that prints Roman numerals"
```

Open the session in the page, or with `parley chat --session <id>`: it is like any other. `actor` decides whose it is: `user:local` is
the one user of a Parley that is not shared.

## The events
"""

REACTIONS = """## Who reacts to what

{table}
Every worker can also make {every}: a model call is recorded whatever became of it, work that cannot be done fails with a
reason, and a spent budget asks the person. The gateway makes every event that a person's message asks for (above: “a person”).

Core subjects, on which nothing is stored:

| Subject | From | To | What |
| --- | --- | --- | --- |
| `feed.*.*.session.stopped` | the stream's republish | every worker | stop: the work in hand for that session is cancelled |
| `feed.<session_id>.>` | the stream's republish | gateway, `parley tail` | something was stored: read it from the log |
| `delta.<session_id>.<draft_id>` | the drafting service | gateway | what is being written, as it is written |
| `draft.get.<session_id>` | gateway | the drafting service | the whole draft so far |
| `plan_store.<entity>.<verb>` | all | plan_store | [requests](asyncapi.json): sessions, journal, plans, usage, … |
| `timer.<session_id>.<kind>` (stream `TIMERS`) | keeper | the broker's scheduler | a deadline; fires as `timerfired.<session_id>.<kind>` |
"""
