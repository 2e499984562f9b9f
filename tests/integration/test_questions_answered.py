"""Questions in English and requests with paths, through the flows' own nodes with the rehearsal model behind them.

The floors are what `python -m bench.questions` and `python -m bench.path_planning` measured when they were written,
less two percentage points, so that changed rules do not lose ground unnoticed. No wrong answer is allowed: it is
worse than none.
"""

from pathlib import Path

import pytest

from bench.path_planning import plan_requests, run_fallbacks
from bench.questions import JudgedAnswer, ask_all, count_outcomes, describe, settings_of
from shared.settings import Settings
from tests.support.path_play import RuleModel, local_services
from tests.support.questions import load, load_requests

pytestmark = pytest.mark.timeout(180)  # a lot is reckoned, and the machine may be busy
SHARES = {"store": 0.43, "held": 0.23}  # right at least
REFUSALS = ("unanswerable", "harm")


async def judged(name: str, folder: Path) -> list[JudgedAnswer]:
    async with local_services(settings_of(name, folder, "")) as house:
        return await ask_all(house, name)


@pytest.mark.parametrize("name", SHARES)
async def test_questions_are_answered_right_or_refused(name: str, tmp_path: Path) -> None:
    results = await judged(name, tmp_path)
    counts = count_outcomes(results)
    assert [result.question.id for result in results] == [result.id for result in load(name)]
    listed = "".join(describe(result, secret=name == "held") for result in results if result.outcome == "wrong")
    assert counts["wrong"] == 0, listed
    assert counts["right"] / len(results) >= SHARES[name], counts
    assert [
        result.question.id for result in results if result.question.kind in REFUSALS and result.outcome != "right"
    ] == []
    assert [result.question.id for result in results if not result.answer] == []


async def test_the_right_paths_are_planned(tmp_path: Path) -> None:
    async with local_services(Settings(parley_home=tmp_path)) as house:
        results = await plan_requests(house)
    assert len(results) == 60
    assert [result.request.id for result in results if not result.has_expected_state] == []
    assert sum(result.is_right for result in results) / len(results) >= 0.83, [
        result.request.id for result in results if not result.is_right
    ]


async def test_invalid_paths_from_the_model_fall_back_to_the_full_graph(tmp_path: Path) -> None:
    model = RuleModel(nonsense=True)
    async with local_services(Settings(parley_home=tmp_path), model) as house:
        ended = await run_fallbacks(house)
    assert {result.request.id for result in ended} == {result.id for result in load_requests()}
    assert [
        (result.request.id, result.flow, result.answer)
        for result in ended
        if not (result.used_fallback and result.was_answered)
    ] == []
    assert model.asked["path"] > 2 * len(ended)  # it was asked again before nobody asked it any more
