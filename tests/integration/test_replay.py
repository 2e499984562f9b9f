"""tau-bench's development tasks run through the executor on the bus: a session and a world per task, a turn per call.

The data belongs to tau-bench and is not part of this project. The test runs if the data is beside the project's folder.
"""

import hashlib
import json
from typing import Any

from packs.retail.records import fingerprint, load
from packs.retail.specs import SPECS
from packs.retail.store import Worlds
from parley.events.values import ActionSpec, SessionSettings
from services.executor.sources.packs import own_world_name
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.support.needs import TAU_BENCH, needs_tau_bench
from tests.support.stack import Person, working

EFFECTS = {spec.name: spec.effect for spec in SPECS}
pytestmark = needs_tau_bench


class TaskReplay(Person):
    """Plays planner and verifier of a session, so that calls reach the executor unchanged."""

    async def call(self, name: str, arguments: Any) -> str:
        """The tool's result or refusal, as recorded in the journal."""
        turn = (await self.load()).session.counts.turns + 1
        spec = ActionSpec(id=f"{turn}.1", tool=name, arguments=arguments, effect=EFFECTS[name])
        await self.does(c.PlanTurn(sub_goal=name, actions=(spec,)))
        session = await self.phase("verifying")
        assert session.turn
        action = session.turn.actions[0]
        await self.does(c.VerifyTurn(status="success", next_action="continue", rule="replay"))
        if action.status != "finished":
            return action.error
        return action.result if isinstance(action.result, str) else json.dumps(action.result)  # as tau-bench writes it


async def test_every_result_and_every_world_matches_tau_bench(settings: Settings, bus: Bus) -> None:
    expected = json.loads((TAU_BENCH / "expected_dev.json").read_text())["tasks"]
    (settings.parley_home / "retail.db").unlink()  # of the sample data
    settings = settings.model_copy(update={"parley_retail_data_dir": TAU_BENCH})
    no_approvals = SessionSettings(world="own", approval="never", max_turns=100)
    async with working(settings, ScriptedModel(), "executor"):
        for task in expected:
            replay = TaskReplay(bus, f"replay-{task['index']}")
            await replay.does(c.Say(text="replay", workflow="agentflow", settings=no_approvals))
            for call in task["calls"]:
                result = await replay.call(call["name"], call["arguments"])
                assert hashlib.sha256(result.encode()).hexdigest() == call["result_sha256"], (task["index"], call)
    worlds = Worlds(settings.retail_url, lambda: load(TAU_BENCH))
    await worlds.open()
    final_hashes = [
        fingerprint(await worlds.world(own_world_name(f"replay-{task['index']}")).dump()) for task in expected
    ]
    shared = fingerprint(await worlds.world("shared").dump())
    await worlds.close()
    assert final_hashes == [task["final_hash"] for task in expected]
    assert shared == fingerprint(load(TAU_BENCH))
    assert len(expected) == 20
