"""Large results: which ones events contain, and which ones the object store keeps."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest

from parley.events.values import Artefact
from services.executor.execution_plan import StepGuide
from services.executor.tools import Registry, StaticSource
from shared.domain.kernel import commands as c
from shared.story import finish_action
from tests.support.executor_bench import ExecutorBench, act, returning, tool
from tests.support.work import work_context
from tests.unit.domain.spec import approve, given
from tests.unit.domain.test_execution_plan import DRAFTED, LOOK, NOTE, plan


async def test_a_result_over_the_session_s_limit_goes_to_the_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.executor.outcomes.MAX_SESSION_RESULTS", 1_000)
    earlier = replace(act("talk"), status="finished", result="x" * 400)
    new_actions = tuple(act("talk", number) for number in (2, 3))
    bench = ExecutorBench(earlier, *new_actions, tools=(tool("talk", returning("y" * 500)),))
    await bench.run()
    first, second = sorted((bench.outcomes()[name] for name in ("1.2", "1.3")), key=lambda outcome: outcome.size or 0)
    assert (first.result, first.size) == ("y" * 500, None)
    assert (second.result, second.size) == ("y" * 200 + "…", 500)
    assert [body.decode() for body in bench.artefacts.kept.values()] == ["y" * 500]


WHOLE = json.dumps({"price": 20, "more": "x" * 60_000}).encode()
STORED = c.StoreResult(
    action_id="t2.s1", attempt=1, artefact=Artefact(name="kept", size=len(WHOLE), sha256=sha256(WHOLE).hexdigest())
)
LOST = c.LoseResult(action_id="t2.s1", attempt=1, reason="no room")


class FixedObjectStore:
    """An object store that returns this body for every name."""

    def __init__(self, body: bytes | None) -> None:
        self._body = body

    async def fetch(self, name: str) -> bytes | None:
        return self._body


@pytest.mark.parametrize(
    ("stored", "body", "expected"),
    [
        (STORED, WHOLE, "20"),
        (STORED, WHOLE.replace(b"20", b"99"), "What t2.s1 gave is not there any more as it was stored."),
        (STORED, None, "What t2.s1 gave is not there any more as it was stored."),
        (LOST, None, "What t2.s1 gave is not there whole: no room"),
    ],
)
async def test_a_reference_to_a_large_result_gets_the_stored_value_unchanged_or_fails(
    stored: c.StoreResult | c.LoseResult, body: bytes | None, expected: str
) -> None:
    finished = finish_action(action_id="t2.s1", ok=True, result='{"price": 20…', size=len(WHOLE))
    session = given(*DRAFTED, plan(LOOK, NOTE), approve, c.Start(), finished, stored).session
    context = work_context("executor", session)
    assert await StepGuide(Registry(StaticSource(tool("note", returning()))), FixedObjectStore(body)).preflight(context)
    note = context.session.turn.actions[1] if context.session.turn else None
    assert note
    assert (note.error or str(note.spec.arguments["text"])) == expected
    assert note.status == ("planned" if expected == "20" else "denied")
