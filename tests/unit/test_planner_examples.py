"""Accepted work becomes an example for the next plan of the same workflow."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from parley.events.values import Step
from parley.protocol.pages import LibraryEntry
from services.planner.agentflow_prompt import NothingToDo
from services.planner.conversation import PlanDraft, draft_plan
from services.planner.recall import EMPTY_SECONDS, PROJECTED_SECONDS, SimilarExamples
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.llm import ScriptedModel
from shared.llm.scripted import Prompt
from tests.support.prompt_sections import sections_of
from tests.support.work import work_context
from tests.unit.domain.spec import given, say
from tests.unit.test_planner_turns import KNOWN, planned

STEPS = (Step(text="Look it up", tool="get_order", arguments={"order": "#W1"}),)
ENTRY = LibraryEntry(
    session_id="s0", round=1, version=9, request="Where is it?", flows=(), path=(), question="", sql="", tables=(),
    answer="Here.", accepted=True, saved=False, at=datetime(2030, 1, 1, tzinfo=UTC), workflow="agentflow", steps=STEPS,
)  # fmt: skip
EXAMPLE = {"request": "Where is it?", "steps": [step.model_dump(mode="json", exclude_defaults=True) for step in STEPS]}


async def find_examples(_: Session) -> Sequence[LibraryEntry]:
    return (ENTRY,)


def examples(prompt: Prompt) -> Any:
    """The examples in the prompt; None if it has none."""
    lines = sections_of(prompt.data).get("examples")
    return json.loads(lines) if lines else None


async def test_accepted_calls_are_examples_for_the_first_turn_of_a_request() -> None:
    _, first = await planned(given(*KNOWN[:1]).session, NothingToDo(reason="All is known."), examples=find_examples)
    assert examples(first.prompts[0]) == EXAMPLE
    _, later = await planned(given(*KNOWN).session, NothingToDo(reason="All is known."), examples=find_examples)
    assert examples(later.prompts[0]) is None


async def test_a_plan_in_words_gets_accepted_plans_as_examples() -> None:
    model = ScriptedModel(*[PlanDraft(goal="G", steps=["One"])] * 2)
    for source in (find_examples, None):
        context = work_context("planner", given(say()).session, model)
        drafted = await (draft_plan(context, source) if source else draft_plan(context))
        assert isinstance(drafted, c.DraftPlan)
    assert [examples(prompt) for prompt in model.prompts] == [EXAMPLE, None]


async def test_an_empty_library_is_asked_again_once_an_answer_is_judged_or_after_a_while() -> None:
    asked: list[str] = []
    session, compared, now = given(say()).session, 0, 0.0

    class Store:
        async def ask(self, verb: str, **arguments: Any) -> Any:
            asked.append(arguments["user"])
            return {"items": [], "total": 0, "compared": compared}

    async def asks(times: int) -> None:
        asked.clear()
        for _ in range(2):
            await library.find(session)
        assert asked == [session.owner] * times

    library = SimilarExamples(Store(), lambda: now)
    await asks(1)
    await asks(0)
    now += EMPTY_SECONDS + 1
    await asks(1)
    await library.on_judged("feed.s9.nobody.answer.judged", b"")
    await asks(2)  # the entry may not be projected yet
    now += PROJECTED_SECONDS + 1
    await asks(1)
    await library.on_judged("feed.s9.nobody.answer.judged", b"")
    compared, now = 1, now + PROJECTED_SECONDS + 1
    await asks(2)
