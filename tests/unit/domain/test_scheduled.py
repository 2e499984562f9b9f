"""A session that the keeper begins on schedule belongs to its owner, whose approval its plan needs."""

from datetime import UTC, datetime

import pytest

from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import decide, due
from tests.unit.domain.test_execution_plan import CANCEL, LOOK

KEEPER = CommandMeta("keeper", datetime(2026, 6, 1, tzinfo=UTC), id="x")
DUE = c.BeginFor(owner="ann", via="template/a/2026-06-01T07:00:00Z", text="Cancel", workflow="execution_plan")


def test_the_keeper_begins_a_session_whose_plan_awaits_the_owners_approval() -> None:
    started = evolve(Session("s"), decide(Session("s"), DUE, KEEPER))
    assert (started.owner, started.phase) == ("ann", "resting")
    edit = decide(started, c.EditPlan(base=1, steps=(LOOK, CANCEL)), KEEPER)
    in_review = evolve(started, edit)
    assert in_review.plan
    assert (in_review.phase, in_review.plan.by, due(in_review)) == ("awaiting_approval", "keeper", "user")
    with pytest.raises(OutOfTurn, match="exists already"):
        decide(started, DUE, KEEPER)
