"""Random sessions from the state machine of tests/unit/domain/test_machine.py. The seed makes them repeatable."""

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from parley.events import SessionEvent, dump_event
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import due
from shared.log import StoredMessage, guard_headers, subject_of
from tests.logs.recorded import AT, RecordedLog, record_messages
from tests.unit.domain.test_machine import Schedules, Shape

SEED, SESSIONS, RULES = 13, 1_000, 25
WORKFLOWS = ("conversation", "agentflow", "flow")
MOVES = ("good", "good", "good", "good", "bad", "bad", "doubt", "doubt", "ask", "budget", "fail", "other", "path")


def random_sessions() -> Iterator[RecordedLog]:
    """`SESSIONS` random sessions. A fork counts as one."""
    choice, count = random.Random(SEED), 0
    while count < SESSIONS:
        for session_id, events in play(choice):
            if len(events) > 1 and count < SESSIONS:
                count += 1
                yield record_messages(session_id, _messages(events))


def play(choice: random.Random) -> list[tuple[str, list[SessionEvent]]]:
    """The sessions of one random schedule, with their events. The machine's invariants are checked."""
    machine, logs = Schedules(), []
    machine.begin(**_arguments(choice, ("workflow", "turns", "ahead")))
    for _ in range(choice.choice((0, 0, 0, 6))):  # repeated bad replies, which hardly ever occur by chance
        machine.undisturbed(1)
        if machine.world.session.work:
            machine.trouble(number=0, move="bad")
    for _ in range(RULES):
        rule = choice.choice([rule for rule in machine.rules if all(holds(machine) for holds in rule.preconditions)])
        previous = machine.world.session.id, machine.world.log
        rule.function(machine, **_arguments(choice, rule.arguments))
        if machine.world.session.id != previous[0]:
            logs.append(previous)
    machine.teardown()
    return [*logs, (machine.world.session.id, machine.world.log)]


def _arguments(choice: random.Random, names: Iterable[str]) -> dict[str, Any]:
    drawn: dict[str, Callable[[], Any]] = {
        "number": lambda: choice.randint(0, 10_000),
        "workflow": lambda: choice.choice(WORKFLOWS),
        "turns": lambda: choice.randint(1, 3),
        "ahead": lambda: choice.randint(0, 12),
        "steps": lambda: choice.randint(1, 6),
        "bound": lambda: choice.random() < 0.5,
        "late": lambda: choice.random() < 0.5,
        "takes": lambda: choice.random() < 0.5,
        "move": lambda: choice.choice(MOVES),
        "shape": lambda: _shape(choice),
    }
    return {name: drawn[name]() for name in names}


def _shape(choice: random.Random) -> Shape:
    """The actions' dependencies, approvals, effects and earlier attempts, drawn at random."""
    actions = []
    for at in range(choice.randint(1, 4)):
        after = set(choice.sample(range(at), min(at, choice.randint(0, 2))))
        effect = choice.choice(("read", "write", "irreversible"))
        actions.append((after, choice.random() < 0.5, effect, choice.random() < 0.5))
    return tuple(actions)


def _messages(events: list[SessionEvent]) -> Iterator[StoredMessage]:
    session = Session(events[0].session_id)
    for at, event in enumerate(events):
        session = evolve(session, event)
        headers = guard_headers(session.id, at, event.id)
        yield StoredMessage(at + 1, subject_of(event, due(session)), headers, dump_event(event), AT)
