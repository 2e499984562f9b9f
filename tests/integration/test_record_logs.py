"""The command that records logs works: it runs one play with the services and the rehearsal model."""

from pathlib import Path

from tests.logs.record import run_play
from tests.logs.recorded import differences


async def test_a_play_is_recorded(tmp_path: Path) -> None:
    log = await run_play("forked", tmp_path)
    assert log.messages[0].subject == "session.forked.user.session.forked"
    assert (log.steps[0].split()[:2], log.state["phase"]) == (["user", "awaiting_approval"], "resting")
    assert differences(log) == []
