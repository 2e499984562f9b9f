"""A service that ends at an append, before or after it: the session comes to the same events, its change is made once.

`python -m chaos.cuts` plays every append of every service; here are those that matter most.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from chaos.cut_service import CODE, Cut, When
from chaos.cuts import Cuts, cutting, wishes

RETAIL, STOPPED = (next(wish for wish in wishes() if wish.name == name) for name in ("retail", "stopped"))
CUTS = (
    ("gateway", Cut(2, "after")),  # the approval is stored, and nobody was told
    ("planner", Cut(2, "before")),
    ("verifier", Cut(1, "after")),
    ("executor", Cut(1, "after", "actions.started 3.1")),  # the change is begun
    ("executor", Cut(1, "before", "actions.finished 3.1")),  # it is made, and only its key knows
)
# A stop was pressed while the change was made; it is made, and whoever made it is gone before that is told.
UNTOLD = Cut(1, "before", "actions.finished noted")


CUT = """
import sys
from pathlib import Path
from chaos.cut_service import Knife
knife = Knife(Path(sys.argv[1]))
for what in ("a note", "a change", "a change", "a change"):
    with knife.around(lambda: what):
        print(what, flush=True)
"""


@pytest.mark.parametrize(("when", "told"), [("before", 2), ("after", 3)])
def test_who_is_cut_ends_there_and_whoever_comes_next_does_not(tmp_path: Path, when: When, told: int) -> None:
    Cut(2, when, "change").arm(tmp_path / "cut")
    command = [sys.executable, "-c", CUT, str(tmp_path / "cut")]
    lives = [subprocess.run(command, stdout=subprocess.PIPE, check=False) for _ in range(2)]
    assert [life.returncode for life in lives] == [CODE, 0]
    assert [len(life.stdout.splitlines()) for life in lives] == [told, 4]


@pytest.mark.long
@pytest.mark.timeout(400)
async def test_a_cut_session_comes_to_what_an_undisturbed_one_does(tmp_path: Path) -> None:
    async with cutting(tmp_path) as world:
        cuts = Cuts(world)
        like = await cuts.play(RETAIL)
        for service, cut in CUTS:
            await cuts.play(RETAIL, service, cut, like)
        stopped = await cuts.play(STOPPED, "executor", UNTOLD)
        assert await cuts.violations() == []
    assert [f"{played}: {played.wrong}" for played in cuts.played if played.wrong] == []
    assert [one.asked for one in world.exits].count("cut") == len(CUTS) + 1
    assert stopped.told[-2:] == ["session.stopped", "action.uncertain"]
