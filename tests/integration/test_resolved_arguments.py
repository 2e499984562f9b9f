"""Values of references that do not fit their tool, with the real services: nobody is asked about such a call."""

from typing import Any

import pytest

from shared.bus import Bus
from shared.settings import Settings
from tests.integration.test_waiting_plan import approved_plan, step

PROGRAM = "import json; print(json.dumps({}))"


@pytest.mark.parametrize(
    ("printed", "path", "problem"),
    [
        ("{'a': 1}", "", "delete_file: name: must be text."),
        ("[1, 2]", "", "delete_file: name: must be text."),
        ("{'a': {'b': 'c'}}", ".a", "delete_file: name: must be text."),
        ("5", "", "delete_file: name: must be text."),
        ("'x' * 1_001", "", "name: may have 1000 characters at most"),
        ("'../x'", "", "name: cannot be used"),
    ],
)
async def test_nobody_is_asked_about_a_call_that_its_tool_cannot_take(
    settings: Settings, bus: Bus, session_id: str, printed: str, path: str, problem: str
) -> None:
    makes = step(1, "run_program", code=PROGRAM.format(printed))
    deletes = step(2, "delete_file", name="{{steps.s1.output" + path + "}}")
    async with approved_plan(settings, bus, session_id, makes, deletes) as ann:
        ended = await ann.phase("resting", "awaiting_approval", "failed")
        assert ended.phase == "resting"
        assert ended.turn
        failed: Any = ended.turn.actions[1]
        assert (failed.status, problem in failed.spec.decision_reason) == ("denied", True), failed.spec.decision_reason


async def test_a_value_that_fits_is_asked_about(settings: Settings, bus: Bus, session_id: str) -> None:
    makes = step(1, "run_program", code=PROGRAM.format("{'a': 'b'}"))
    writes = step(2, "write_file", name="tea.md", text="{{steps.s1.output.a}}")
    async with approved_plan(settings, bus, session_id, makes, writes) as ann:
        assert (await ann.phase("resting", "awaiting_approval", "failed")).phase == "awaiting_approval"
