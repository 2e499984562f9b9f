"""A model that fails by a tape: every session ends, answered or failed with a reason, and the tape plays again."""

import pytest

from chaos.tape import FAULTS, tape
from services.rehearsal.faults import Fault
from shared.bus import Bus
from shared.domain import commands as c
from shared.events.values import SessionSettings
from shared.settings import Settings
from tests.support.rehearsed import rehearsed
from tests.support.stack import Person, working


def test_a_tape_holds_every_fault_and_is_always_the_same() -> None:
    pieces = tape(7, 200)
    assert pieces == tape(7, 200) != tape(8, 200)
    known = [Fault.model_validate(piece) for piece in pieces]
    names = {one.fault for one in known if one.fault} | {"slow" for one in known if one.latency}
    assert names == {name for name, _ in FAULTS}


@pytest.mark.timeout(120)
async def test_every_session_ends_whatever_the_tape_does(settings: Settings, bus: Bus) -> None:
    hasty = settings.model_copy(update={"model_timeout": 1.0})
    async with rehearsed(hasty) as server, working(server.settings, server.model):
        for piece in tape(1, 12):
            await server.fault(**piece)
        for number in range(3):
            ann = Person(bus, f"tape-{number}")
            chosen = SessionSettings(confirm="nothing")
            await ann.does(c.Say(text="How many orders are pending?", workflow="flow", settings=chosen))
            ended = await ann.phase("resting", "failed", seconds=40)
            assert ended.reason == "answered" or (ended.failure and ended.failure.reason), ended
