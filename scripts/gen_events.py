"""docs/events.md."""

import json
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from parley.events import EVENT_CLASSES, Event, carried, dump_event, facts, parse_event, values
from scripts.gen_reactions import harness_events, reactions
from scripts.gen_story import BEGAN, ID
from scripts.gen_tables import example, fields, fill, flat, meanings, table
from scripts.reachability import Reachability
from shared.bus.topology import SESSIONS
from shared.domain.decide import due
from shared.domain.evolve import evolve
from shared.domain.session import SERVICE_OF, Session
from shared.domain.user_commands import UserCommand
from shared.log import MAX_BODY, MAX_FORK, guard_headers, subject_of
from shared.story import Transition

ENVELOPE = tuple(Event.model_fields)


def subclasses[Kind: BaseModel](module: ModuleType, of: type[Kind]) -> tuple[type[Kind], ...]:
    """The subclasses of this model in a module, in order of definition."""
    kinds = (kind for kind in vars(module).values() if isinstance(kind, type) and kind is not of)
    return tuple(kind for kind in kinds if issubclass(kind, of))


VALUES = tuple(dict.fromkeys(kind for module in (values, carried) for kind in subclasses(module, values.Stored)))
PERSON = {kind.__name__ for kind in UserCommand.__args__}
KEEPER = {"BeginFor", "Expire", "RecordLook", "Wake"}


def example_of(model: type[Event], reach: Reachability) -> Transition:
    """An event of this type from an example session, or else from the search."""
    transition = reach.examples[type_of(model)]
    if parse_event(dump_event(transition.event)) != transition.event:
        raise ValueError(f"{transition.event.type} does not survive its JSON")
    return transition


def events_md(reach: Reachability) -> str:
    session = Session(ID)
    first = _first_event()
    return fill(
        "events",
        stream=SESSIONS,
        kib=str(MAX_BODY // 1024),
        fork=str(MAX_FORK // 1024),
        envelope=table(
            ("Field", "Meaning"),
            [(f"`{name}`", meaning) for name, meaning in meanings(Event).items()] + [("`type`", "what happened")],
        ),
        headers="\n".join(f"{name}: {value}" for name, value in guard_headers(ID, 41, f"{ID}:3:plan.drafted").items()),
        phases=table(("Phase", "Due"), [(f"`{phase}`", f"`{who}`") for phase, who in SERVICE_OF.items()]),
        subject=subject_of(first, due(evolve(session, first))),
        event=example(_smallest(first)),
        events="\n".join(_section(kind, reach) for kind in EVENT_CLASSES),
        values="\n".join(value_section(value) for value in VALUES),
        table=_reactions(reach),
        every=", ".join(f"`{kind}`" for kind in harness_events(reach.makers)),
    )


def _first_event() -> facts.MessageReceived:
    words_ = "Write a program that prints Roman numerals"
    return facts.MessageReceived(id=f"{ID}:first", session_id=ID, version=1, at=BEGAN, actor="user:local", text=words_)


def _smallest(event: facts.MessageReceived) -> dict[str, Any]:
    """Without whatever has a default."""
    data = {"type": event.type} | event.model_dump(mode="json", exclude_defaults=True)
    if parse_event(json.dumps(data)) != event:
        raise ValueError("the smallest first event cannot be read")
    return data


def _section(model: type[Event], reach: Reachability) -> str:
    transition = example_of(model, reach)
    kind = transition.event.type
    table_ = fields(model, without=ENVELOPE)
    data: Any = json.loads(dump_event(transition.event))
    lines = [
        f"### {kind}\n",
        f"{flat(model.__doc__)}\n",
        f"**Made by** {_makers(kind, reach)} **Leads to** {_phases_after(kind, reach)}\n",
        table_,
        f"`{subject_of(transition.event, transition.due)}`\n",
        example(data),
    ]
    return "\n".join(line for line in lines if line)


def type_of(model: type[Event]) -> str:
    return str(model.model_fields["type"].default)


def _makers(kind: str, reach: Reachability) -> str:
    by = reach.makers.get(kind, set())
    if not by:
        raise LookupError(f"no rule makes {kind}")
    who = []
    if people := sorted(by & PERSON):
        who.append(f"a person ({', '.join(people)})")
    if by_keeper := sorted(by & KEEPER):
        who.append(f"the keeper in plan_store ({', '.join(by_keeper)})")
    if served := sorted(by - PERSON - KEEPER):
        who.append(f"a service ({', '.join(served)})")
    return f"{' or '.join(who)}."


def _phases_after(kind: str, reach: Reachability) -> str:
    moved = sorted(reach.moved.get(kind, ()))
    phases = [f"`{phase}` (due `{whose}`)" for phase, whose in moved]
    if reach.stayed.get(kind):
        phases.append("no other phase")
    if not phases:
        raise LookupError(f"nothing is known of what {kind} leads to")
    return f"{', or '.join(phases)}."


def value_section(model: type[BaseModel]) -> str:
    """A value's heading, its meaning and its fields."""
    return f"### {model.__name__}\n\n{flat(model.__doc__)}\n\n{fields(model)}"


def _reactions(reach: Reachability) -> str:
    rows = [
        (
            reaction.service,
            f"`{reaction.consumer}` on `{reaction.stream}`",
            f"`{reaction.filter}`",
            reaction.handler,
            ", ".join(f"`{kind}`" for kind in reaction.events) or "rows in SQL",
        )
        for reaction in reactions(reach.makers)
    ]
    return table(("Service", "Durable consumer", "Filter", "Handler", "Events it can make"), rows)
