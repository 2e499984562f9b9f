"""Questions in English and requests with paths, through the flows' own nodes with the rehearsal model behind them.

The floors are what `python -m bench.questions` and `python -m bench.paths` measured when they were written,
less two points of a hundred: the rules may change what they understand, but not lose it unseen. Nothing may be
answered wrong: an answer that is not right is worse than none.
"""

from pathlib import Path

import pytest

from bench.paths import by_fallback, planned
from bench.questions import Judged, counted, measured, settings_of, told
from shared.settings import Settings
from tests.support.path_play import Rules, housed
from tests.support.questions import load, load_requests

pytestmark = pytest.mark.timeout(180)  # a lot is reckoned, and the machine may be busy
SHARES = {"store": 0.43, "held": 0.23}  # right at least
REFUSALS = ("unanswerable", "harm")


async def judged(name: str, folder: Path) -> list[Judged]:
    async with housed(settings_of(name, folder, "")) as house:
        return await measured(house, name)


@pytest.mark.parametrize("name", SHARES)
async def test_questions_are_answered_right_or_refused(name: str, tmp_path: Path) -> None:
    found = await judged(name, tmp_path)
    counts = counted(found)
    assert [one.question.id for one in found] == [one.id for one in load(name)]
    listed = "".join(told(one, secret=name == "held") for one in found if one.outcome == "wrong")
    assert counts["wrong"] == 0, listed
    assert counts["right"] / len(found) >= SHARES[name], counts
    assert [one.question.id for one in found if one.question.kind in REFUSALS and one.outcome != "right"] == []
    assert [one.question.id for one in found if not one.answer] == []


async def test_the_right_paths_are_planned(tmp_path: Path) -> None:
    async with housed(Settings(parley_home=tmp_path)) as house:
        found = await planned(house)
    assert len(found) == 60
    assert [one.request.id for one in found if not one.read] == []
    assert sum(one.right for one in found) / len(found) >= 0.83, [one.request.id for one in found if not one.right]


async def test_nonsense_for_a_path_ends_every_request_by_the_full_graph(tmp_path: Path) -> None:
    model = Rules(nonsense=True)
    async with housed(Settings(parley_home=tmp_path), model) as house:
        ended = await by_fallback(house)
    assert {one.request.id for one in ended} == {one.id for one in load_requests()}
    assert [(one.request.id, one.flow, one.answer) for one in ended if not (one.fallback and one.answered)] == []
    assert model.asked["path"] > 2 * len(ended)  # it was asked again before nobody asked it any more
