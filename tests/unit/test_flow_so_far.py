"""The next path for a request begins with what an earlier one has found."""

from pathlib import Path

from parley.flow import Flow, FlowRequest, Outputs
from services.executor.flow_routing import initial_state
from shared.domain import commands as c
from tests.support.flow_walk import waiting
from tests.unit.test_executor_flows import PATH, kitchen


class Remembers(Flow):
    """A flow that begins with what an earlier path has found."""

    name = "kitchen"

    def opening(self, request: FlowRequest) -> Outputs:
        return dict(request.so_far)


async def test_the_next_path_begins_with_what_the_declined_one_has_found(tmp_path: Path) -> None:
    walk = kitchen(tmp_path)
    paused = await walk.begins("I feel like soup", *PATH)
    assert initial_state(Remembers(), paused) == {}
    await walk.commit(c.Reject(action_id=waiting(paused).spec.id, reason="too hot"))
    session = walk.session
    assert session.phase == "planning"
    assert initial_state(Remembers(), session) == {"dish": "soup", "known": True, "recipe": {"minutes": 20}}
