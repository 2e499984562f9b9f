"""Every append of every service, cut before and after it: `python -m chaos.cuts [--services planner …] [--wishes …]`.

One Parley runs; its services are processes that can be told to end at an append (`chaos.cut_service`). A first session
of each kind goes undisturbed and tells how many appends each service makes. Then each of these is cut, in a session of
its own, which must come to the same events as the undisturbed one; at the end all that must hold is looked at.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import structlog

from chaos import collect
from chaos.cut_service import Cut, When
from chaos.evidence import Evidence, Left
from chaos.folding import NOTE
from chaos.invariants import Violation, judge
from chaos.people import Person
from chaos.process import crowd
from chaos.recorder import Json
from chaos.scripts import Kind, Script
from chaos.world import GRACE, Shape, World, world
from packs.retail.generate import generate
from parley.events import SessionEvent, facts
from parley.protocol.server import Snapshot
from parley.protocol.tools import TOOLS_LIST, ListTools
from shared.bus import BusDown
from shared.services import SERVICES
from shared.settings import Settings
from shared.testing import InMemoryStore

SIDES: tuple[When, ...] = ("before", "after")
ACK_WAIT = 1.0  # seconds until the work of a dead worker comes to the next
PATIENCE = 180.0  # seconds that a session with a cut in it may take, on a machine that does nothing else


class Wish(NamedTuple):
    """What a person wants in a session. `exact`: it always comes to the same events.

    `services`: whose appends are worth a cut in it.
    """

    name: str
    kind: Kind
    content: str
    settings: Mapping[str, Any] = MappingProxyType({})
    exact: bool = True
    person: type[Person] = Person
    services: Sequence[str] = tuple(SERVICES)


def wishes() -> tuple[Wish, ...]:
    """A plan, code and its run; an approved change that knows its key; a question; one without a key, also stopped
    while it is made; one forgotten."""
    data: Any = generate()
    order = next(one for one in data["orders"].values() if one["status"] == "pending")
    email = data["users"][order["user_id"]]["email"]
    cancel = f"Please cancel order {order['order_id']}, it is no longer needed. I am {email}."
    note = 'Call trial.note with {"text": "NOTE"}'
    own: Json = {"world": "own"}
    return (
        Wish("conversation", "conversation", "Help me create a simple calculator"),
        Wish("retail", "retail", cancel, own),
        Wish("flow", "flow", "How many orders are pending?", {"confirm": "path"}),
        Wish("notes", "notes", note, exact=False),
        Wish("stopped", "notes", note, exact=False, person=Stopping, services=("executor",)),
        Wish("forgotten", "retail", cancel, own | {"approval_timeout": 1}, person=Absent, services=("plan_store",)),
    )


class Steady(Script):
    """Always the plain choice: yes, and on."""

    def draw(self, about: str) -> float:
        return 0.99


class Absent(Person):
    """Asks for something and never answers a question."""

    def _asked(self, shown: Snapshot) -> Json | None:
        return None


class Stopping(Person):
    """Presses stop while a change is being made, and stays until it is known what came of it."""

    def _meanwhile(self, shown: Snapshot) -> Json | None:
        return {"type": "stop"} if _changing(shown) else None

    def _at_rest(self, shown: Snapshot) -> Json | None:
        return None if _changing(shown) else super()._at_rest(shown)


def _changing(shown: Snapshot) -> bool:
    actions = shown.turn.actions if shown.turn else ()
    return any(action.status == "started" and action.effect != "read" for action in actions)


class Cutting(World):
    """A world in which nothing but cuts happens."""

    @property
    def settings(self) -> Settings:
        return super().settings.model_copy(update={"ack_wait": ACK_WAIT})

    def environment(self, name: str) -> dict[str, str]:
        """A planner that remembers a path appends less, and a model call that a crowded machine makes late one more."""
        same = {"PATH_CACHE_SIZE": "0", "MODEL_TIMEOUT": f"{PATIENCE:g}", "ACK_WAIT": f"{ACK_WAIT:g}"}
        return super().environment(name) | same


@asynccontextmanager
async def cutting(folder: Path) -> AsyncIterator[Cutting]:
    """A world to cut in, until the block ends."""
    async with world(folder, Shape(gateways=1), Cutting) as it:
        assert isinstance(it, Cutting)
        await it.fault(token_delay=0)  # a reply takes no time
        yield it


class Played(NamedTuple):
    """One session, with its cut if it had one; what went wrong with it, or ""."""

    wish: Wish
    service: str
    cut: Cut | None
    person: Person
    events: Sequence[SessionEvent]
    wrong: str = ""

    @property
    def told(self) -> list[str]:
        """What happened, without the accounts: a cut call may have been paid for twice. Outcomes count one by one."""
        return [event.type for event in self.events if event.type != "usage.recorded" for _ in range(_outcomes(event))]

    @property
    def appends(self) -> Counter[str]:
        """How many events each service has stored."""
        actors = Counter(event.actor.partition(":")[0] for event in self.events)
        return Counter({_service(actor): count for actor, count in actors.items()})

    def __str__(self) -> str:
        where = f"{self.service} {self.cut.when} its append {self.cut.append}" if self.cut else "undisturbed"
        return f"{self.wish.name}, {where}"


def _outcomes(event: SessionEvent) -> int:
    """How many facts it holds: outcomes of actions that ended together are one event."""
    return len(event.outcomes) if isinstance(event, facts.ActionsFinished) else 1


def _service(actor: str) -> str:
    return {"user": "gateway", "keeper": "plan_store"}.get(actor, actor)


class Cuts:
    """Plays sessions in a world, one after the other: a cut belongs to one session."""

    def __init__(self, world: Cutting) -> None:
        self._world = world
        self.played: list[Played] = []

    async def play(self, wish: Wish, service: str = "", cut: Cut | None = None, like: Played | None = None) -> Played:
        """A session to its end; `like`: what it must come to."""
        if wish.kind == "notes":
            await self._noting()
        number = len(self.played)
        session_id = f"{wish.name}-{number}"
        content = wish.content.replace("NOTE", f"note-{session_id}")
        message: Json = {"type": "user_message", "content": content, "workflow": _workflow(wish)}
        message["settings"] = dict(wish.settings)
        script = Steady(0, number, wish.kind, session_id, message, "")
        person = wish.person(script, self._world.gateway_urls)
        if cut:
            cut.arm(self._world.armed(service))
        wrong = ""
        try:
            async with asyncio.timeout(PATIENCE * crowd()):
                await person.live()
        except TimeoutError:
            wrong = f"it had not ended after {PATIENCE * crowd():.0f} s"
        events = await InMemoryStore(self._world.bus.log).events(session_id)
        found = Played(wish, service, cut, person, events, wrong)
        if cut and Cut.read(self._world.armed(service)):
            self._world.armed(service).unlink()
            fewer = f"it was not cut: the service made {found.appends[service]} appends"
            together = sum(_outcomes(event) - 1 for event in found.events if service == "executor")
            found = found._replace(wrong=wrong or ("" if together else fewer))
        if like and wish.exact and not found.wrong and found.told != like.told:
            found = found._replace(wrong=f"it came to {found.told}, undisturbed to {like.told}")
        self.played.append(found)
        return found

    async def _noting(self) -> None:
        """Until the executor has the tool without a key again: a new one starts its servers first."""
        wanted = ListTools().model_dump_json().encode()
        async with asyncio.timeout(PATIENCE * crowd()):
            while True:
                with suppress(BusDown):
                    if NOTE.encode() in await self._world.bus.request(TOOLS_LIST, wanted):
                        return
                await asyncio.sleep(0.2)

    async def all_of(self, wish: Wish, services: Sequence[str]) -> AsyncIterator[Played]:
        """The undisturbed session first, then one for each cut."""
        yield (like := await self.play(wish))
        for service, cut in each_cut(like.appends, [one for one in services if one in wish.services]):
            yield await self.play(wish, service, cut, like)

    async def violations(self) -> list[Violation]:
        """What does not hold of all that was played, once the tables have it all."""
        it, log = self._world, self._world.bus.log
        async with asyncio.timeout(PATIENCE * crowd()):
            while await it.bus.outstanding("plan_store"):  # noqa: ASYNC110  the broker tells nobody
                await asyncio.sleep(0.1)
        effects = await collect.read_effects(it.settings.retail_url)
        worlds, replayed, answers = await collect.read_worlds(it.settings.retail_url, effects)
        people = [played.person for played in self.played]
        evidence = Evidence(
            log=await collect.read_log(log),
            shown=[shown for person in people for shown in person.line.recorder.shown],
            left=[Left(one.script.session_id, one.script.kind, one.ending, one.why) for one in people],
            rows=await collect.read_rows(it.settings.sql_url),
            folded=await collect.read_folded(log, it.folder),
            effects=effects,
            worlds=worlds,
            replayed=replayed,
            answers=answers,
            notes=collect.read_notes(it.notes),
            served=collect.read_served(it.served),
            exits=it.exits,
        )
        return [one for verdict in judge(evidence, grace=GRACE) for one in verdict.violations]


def _workflow(wish: Wish) -> str:
    return wish.kind if wish.kind in ("conversation", "flow") else "agentflow"


def each_cut(appends: Counter[str], services: Sequence[str]) -> Iterator[tuple[str, Cut]]:
    """Both sides of every append of these services."""
    for service in services:
        for number in range(1, appends[service] + 1):
            yield from ((service, Cut(number, when)) for when in SIDES)


async def cut_all(folder: Path, services: Sequence[str], names: Sequence[str]) -> bool:
    """Play every cut, and say what came of it; whether all is well."""
    async with cutting(folder) as it:
        cuts = Cuts(it)
        for wish in wishes():
            if wish.name not in names:
                continue
            async for played in cuts.all_of(wish, services):
                print(f"{time.strftime('%H:%M:%S')}  {played}: {played.wrong or 'as it should be'}", flush=True)
        violations = await cuts.violations()
    wrong = [played for played in cuts.played if played.wrong]
    for violation in violations:
        print(f"{violation.invariant}  {violation.where}: {violation.what}")
    done = sum(1 for played in cuts.played if played.cut)
    print(f"{done} cuts; {len(wrong)} went wrong; {len(violations)} violations of what must hold")
    return not wrong and not violations


def main() -> int:
    every = [wish.name for wish in wishes()]
    options = argparse.ArgumentParser(prog="python -m chaos.cuts", description=__doc__.partition("\n")[0])
    options.add_argument("--services", nargs="+", choices=SERVICES, default=tuple(SERVICES))
    options.add_argument("--wishes", nargs="+", choices=every, default=every)
    given = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with tempfile.TemporaryDirectory(prefix="parley-cuts-") as folder:
        return 0 if asyncio.run(cut_all(Path(folder).resolve(), given.services, given.wishes)) else 1


if __name__ == "__main__":
    sys.exit(main())
