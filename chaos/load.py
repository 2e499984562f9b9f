"""Hundreds of sessions, so many at a time, each with its own person."""

import asyncio
from collections import Counter

import structlog

from chaos.evidence import Acknowledged, Left
from chaos.people import Person
from chaos.recorder import Shown
from chaos.scripts import Scripts
from chaos.world import World
from packs.retail.generate import generate
from parley.events import SessionEvent

log = structlog.get_logger("chaos")


class Load:
    """`begin` lets people come until `close`; who is in a session then still ends it."""

    def __init__(self, world: World, *, seed: int, at_once: int, most: int) -> None:
        self.people: list[Person] = []
        self._world, self._at_once, self._most = world, at_once, most
        self._scripts = Scripts(seed, generate())
        self._open = True
        self._workers: list[asyncio.Task[None]] = []
        self._waiting: dict[str, list[asyncio.Event]] = {}

    async def sees(self, kind: str) -> None:
        """Until somebody is shown an event of this type."""
        seen = asyncio.Event()
        self._waiting.setdefault(kind, []).append(seen)
        await seen.wait()

    def _seen(self, event: SessionEvent) -> None:
        for waiting in self._waiting.pop(event.type, ()):
            waiting.set()

    def begin(self) -> None:
        self._workers = [asyncio.create_task(self._one_after_another()) for _ in range(self._at_once)]

    def close(self) -> None:
        """Nobody else comes."""
        self._open = False

    async def ended(self, seconds: float) -> bool:
        """Whether everybody has left within this time; who has not is sent home."""
        if self._workers:
            _, late = await asyncio.wait(self._workers, timeout=seconds)
            for worker in late:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)
        return not [person for person in self.everybody if not person.ending]

    async def _one_after_another(self) -> None:
        while self._open and len(self.people) < self._most:
            person = Person(self._scripts.script(len(self.people)), self._world.gateway_urls)
            person.line.on_event = self._seen
            self.people.append(person)
            try:
                await person.live()
            except Exception as error:  # whoever comes next is not kept away by it, and I5 tells it
                log.exception("person_gave_up", session_id=person.script.session_id)
                person.gave_up(repr(error))

    # --- what they tell

    @property
    def everybody(self) -> list[Person]:
        """Also those who went on in a fork."""
        return [one for person in self.people for one in _line_of(person)]

    @property
    def shown(self) -> list[Shown]:
        return [shown for person in self.everybody for shown in person.line.recorder.shown]

    @property
    def acknowledged(self) -> list[Acknowledged]:
        return [
            Acknowledged(person.script.session_id, command_id, version)
            for person in self.everybody
            for command_id, version in person.acknowledged
        ]

    @property
    def left(self) -> list[Left]:
        return [
            Left(
                person.script.session_id,
                person.script.message.get("workflow", person.script.kind),
                person.ending,
                person.why,
            )
            for person in self.everybody
        ]

    @property
    def errors(self) -> Counter[str]:
        """What gateways refused, by code."""
        return sum((person.line.recorder.errors + person.declined for person in self.everybody), Counter())


def _line_of(person: Person) -> list[Person]:
    return [person, *(_line_of(person.fork) if person.fork else ())]
