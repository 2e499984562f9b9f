"""A session that the keeper begins by a schedule: it is its owner's, and its plan waits for them."""

from datetime import UTC, datetime

import pytest

from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import decide, due
from shared.domain.errors import OutOfTurn
from shared.domain.evolve import evolve
from shared.domain.session import Session
from tests.unit.domain.test_execution_plan import CANCEL, LOOK

KEEPER = CommandMeta("keeper", datetime(2026, 6, 1, tzinfo=UTC), id="x")
DUE = c.BeginFor(owner="ann", via="template/a/2026-06-01T07:00:00Z", text="Cancel", workflow="execution_plan")


def test_the_keeper_begins_a_session_for_its_owner_whose_plan_waits_for_them() -> None:
    begun = evolve(Session("s"), decide(Session("s"), DUE, KEEPER))
    assert (begun.owner, begun.phase, begun.needs) == ("ann", "resting", 2)
    edit = decide(begun, c.EditPlan(base=1, steps=(LOOK, CANCEL)), KEEPER)
    shown = evolve(begun, edit)
    assert shown.plan
    assert (shown.phase, shown.plan.by, due(shown)) == ("awaiting_approval", "keeper", "user")
    with pytest.raises(OutOfTurn, match="begun before"):
        decide(begun, DUE, KEEPER)
