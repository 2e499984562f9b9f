"""Questions in English and requests for paths, run through the real flow nodes with the rehearsal model.

It knows few of the questions and says so to the others. A wrong answer is worse than none: the tests allow none.
"""

from pathlib import Path

import pytest

from shared.settings import Settings
from tests.support.path_planning import plan_requests, run_fallbacks
from tests.support.path_play import RuleModel, local_services
from tests.support.question_answers import JudgedAnswer, ask_all, count_outcomes, describe, settings_of
from tests.support.questions import load, load_requests

NAMES = ("store", "held")
REFUSALS = ("unanswerable", "harm")


async def ask_questions(name: str, folder: Path) -> list[JudgedAnswer]:
    async with local_services(settings_of(name, folder)) as services:
        return await ask_all(services, name)


@pytest.mark.parametrize("name", NAMES)
async def test_questions_are_answered_right_or_refused(name: str, tmp_path: Path) -> None:
    results = await ask_questions(name, tmp_path)
    counts = count_outcomes(results)
    assert [result.question.id for result in results] == [result.id for result in load(name)]
    listed = "".join(describe(result, secret=name == "held") for result in results if result.outcome == "wrong")
    assert counts["wrong"] == 0, listed
    assert [
        result.question.id for result in results if result.question.kind in REFUSALS and result.outcome != "right"
    ] == []
    assert [result.question.id for result in results if not result.answer] == []


async def test_paths_are_planned_from_the_state_through_the_right_flow_or_it_is_asked(tmp_path: Path) -> None:
    async with local_services(Settings(parley_home=tmp_path)) as services:
        results = await plan_requests(services)
    assert len(results) == 60
    assert [result.request.id for result in results if not result.has_expected_state] == []
    expected_flows = {result.request.id: {walk.flow for walk in result.request.walks()} for result in results}
    assert [
        result.request.id
        for result in results
        if not {flow for flow, _ in result.chain} <= expected_flows[result.request.id]
    ] == []


async def test_invalid_paths_from_the_model_fall_back_to_the_full_graph(tmp_path: Path) -> None:
    model = RuleModel(nonsense=True)
    async with local_services(Settings(parley_home=tmp_path), model) as services:
        runs = await run_fallbacks(services)
    assert {result.request.id for result in runs} == {result.id for result in load_requests()}
    assert [
        (result.request.id, result.flow, result.answer)
        for result in runs
        if not (result.used_fallback and result.was_answered)
    ] == []
    assert model.asked["path"] > 2 * len(runs)  # at least one retry before each fallback
