"""Waits end by the broker's time, whatever the clock of the executor's machine says."""

from datetime import UTC, datetime, timedelta

import pytest

from packs.waiting.pack import pack
from parley import Pack
from parley.events.values import Step
from services.executor.execution_plan import StepGuide
from services.executor.sources.packs import PackSource
from services.executor.tools import Registry
from shared.domain.kernel import commands as c
from shared.domain.turn.batches import actions_to_start
from shared.log import LogCount
from shared.testing import InMemoryLog
from tests.support.work import work_context
from tests.unit.domain.spec import approve, given, request
from tests.unit.domain.test_execution_plan import DRAFTED, plan
from tests.unit.test_executor_results import FixedObjectStore
from tests.unit.test_packs_waiting import get_order, polling_step

BROKER = datetime.now(UTC) + timedelta(hours=1)
WAIT = Step(text="Wait", tool="wait_until", id="s1", effect="read", waits_for="time")


class OtherClock(InMemoryLog):
    """A log whose broker is an hour ahead of this machine."""

    async def count(self) -> LogCount:
        return LogCount(0, BROKER)


@pytest.mark.parametrize(
    ("step", "until"),
    [
        (WAIT.model_copy(update={"arguments": {"seconds": 900}}), BROKER + timedelta(minutes=15)),
        (WAIT.model_copy(update={"arguments": {"until": BROKER.isoformat()}}), BROKER),
        (polling_step(at_most=600).model_copy(update={"id": "s1"}), BROKER + timedelta(minutes=10)),
    ],
)
async def test_a_wait_begins_at_the_broker_s_time(step: Step, until: datetime) -> None:
    session = given(*DRAFTED, plan(step), approve).session
    log = OtherClock()
    context = work_context("executor", session, log=log)
    registry = Registry(PackSource((pack, Pack("orders", [get_order]))))
    assert await StepGuide(registry, FixedObjectStore(None)).preflight(context)
    assert context.session.waiting_actions[0].until == until


async def test_a_step_that_asks_before_it_polls_lets_the_reads_beside_it_run_first() -> None:
    look = Step(text="Look", tool="get_order", id="s1", effect="read", arguments={"id": "#W2"})
    steps = (look, polling_step(at_most=600).model_copy(update={"id": "s2"}))
    always = (request("execution_plan", require_plan_approval=False), c.Remember(tool="poll_until", policy="always"))
    session = given(*always, plan(*steps), c.BeginPlan()).session
    assert [bool(action.spec.approval_reason) for action in session.turn.actions] == [False, True]  # type: ignore[union-attr]
    context = work_context("executor", session)
    registry = Registry(PackSource((pack, Pack("orders", [get_order]))))
    assert not await StepGuide(registry, FixedObjectStore(None)).preflight(context)
    assert [action.spec.id for action in actions_to_start(context.session)] == ["t3.s1"]
