"""docs/events.md."""

import json
from types import ModuleType

from pydantic import BaseModel

from parley.events import EVENT_CLASSES, Event, carried, dump_event, facts, parse_event, types_made_by, values
from scripts.gen_story import BEGAN, ID
from scripts.gen_tables import example, fields, fill, section, table
from scripts.reachability import Reachability
from shared.bus.topology import SESSIONS
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import SERVICE_OF, Session
from shared.domain.rules.decide import due
from shared.domain.rules.user_commands import UserCommand
from shared.log import MAX_BODY, MAX_FORK, guard_headers, subject_of
from shared.services import SERVICES
from shared.story import Transition


def subclasses[Kind: BaseModel](module: ModuleType, of: type[Kind]) -> tuple[type[Kind], ...]:
    """The subclasses of this model in a module, in order of definition."""
    kinds = (kind for kind in vars(module).values() if isinstance(kind, type) and kind is not of)
    return tuple(kind for kind in kinds if issubclass(kind, of))


VALUES = tuple(dict.fromkeys(kind for module in (values, carried) for kind in subclasses(module, values.Stored)))
PERSON = {kind.__name__ for kind in UserCommand.__args__}
KEEPER = {"BeginFor", "Expire", "RecordPoll", "Wake"}
FIRST = facts.MessageReceived(
    id=f"{ID}:first",
    session_id=ID,
    version=1,
    at=BEGAN,
    actor="user:local",
    text="Write a program that prints Roman numerals",
)


def example_of(model: type[Event], reach: Reachability) -> Transition:
    """An event of this type from an example session, or else from the search."""
    transition = reach.examples[model.type_name()]
    if parse_event(dump_event(transition.event)) != transition.event:
        raise ValueError(f"{transition.event.type} does not survive its JSON")
    return transition


def events_md(reach: Reachability) -> str:
    return fill(
        "events",
        stream=SESSIONS,
        kib=str(MAX_BODY // 1024),
        fork=str(MAX_FORK // 1024),
        envelope=fields(Event),
        headers="\n".join(f"{name}: {value}" for name, value in guard_headers(ID, 41, f"{ID}:3:plan.drafted").items()),
        phases=table(("Phase", "Due"), [(f"`{phase}`", f"`{who}`") for phase, who in SERVICE_OF.items()]),
        subject=subject_of(FIRST, due(evolve(Session(ID), FIRST))),
        event=example({"type": FIRST.type} | FIRST.model_dump(mode="json", exclude_defaults=True)),
        events="\n".join(_section(model, reach) for model in EVENT_CLASSES),
        values="\n".join(section(value) for value in VALUES),
        table=table(("Service", "Durable consumers", "Events it can append"), _reactions()),
    )


def _section(model: type[Event], reach: Reachability) -> str:
    transition = example_of(model, reach)
    kind, event = model.type_name(), transition.event
    subject = f"`{subject_of(event, transition.due)}`"
    about = f"**Made by** {_makers(reach.makers[kind])} **Leads to** {_phases_after(kind, reach)}\n\n{subject}"
    return section(model, kind, about=about, without=Event.model_fields, data=json.loads(dump_event(event)))


def _makers(commands: set[str]) -> str:
    groups = {
        "a person": commands & PERSON,
        "the keeper in plan_store": commands & KEEPER,
        "a service": commands - PERSON - KEEPER,
    }
    return " or ".join(f"{who} ({', '.join(sorted(names))})" for who, names in groups.items() if names) + "."


def _phases_after(kind: str, reach: Reachability) -> str:
    phases = [f"`{phase}` (due `{whose}`)" for phase, whose in sorted(reach.moved[kind])]
    return ", or ".join([*phases, "no other phase"] if reach.stayed[kind] else phases) + "."


def _reactions() -> list[tuple[str, str, str]]:
    return [
        (
            name,
            ", ".join(f"`{it.name}`: `{it.filter_subject}` of `{it.stream}`" for it in spec.consumers) or "none",
            ", ".join(f"`{kind}`" for kind in types_made_by(name)),
        )
        for name, spec in SERVICES.items()
    ]
