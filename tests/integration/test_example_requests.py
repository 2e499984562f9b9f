"""Each example request of the page and the documents, and each option offered, works with the rehearsal model.

The services' own handlers run in this process, with the sample store behind them.
"""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rehearsal.examples import EXAMPLES, Workflow
from shared.settings import Settings
from tests.support.path_play import LocalServices, ScriptedSession, local_services, outputs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "web/src/app/Welcome.tsx").read_text(encoding="utf-8")
SENTENCES: list[tuple[str, Workflow, tuple[str, ...]]] = [  # document, workflow, consecutive messages
    ("README.md", "conversation", ("Help me create a simple calculator", "Add a step to write a short help text")),
    ("README.md", "conversation", ("Write FizzBuzz",)),
    ("README.md", "conversation", ("Write a program that prints Roman numerals",)),
    ("README.md", "agentflow", ("My name is Tara Foster, zip 95837. Cancel order #W3833642, I no longer need it.",)),
    ("README.md", "flow", ("Which 5 states have the most pending orders?", "Only in Oregon")),
    ("docs/flows.md", "flow", ("How many orders are pending?", "Only in Wisconsin")),
    ("docs/protocol.md", "conversation", ("Now make a to-do list",)),
]
RUNS_TO_THE_END = ("agentflow", "execution_plan")  # their requests run to the end: all approvals are given
UNSUPPORTED = ("Write a snake game in pygame", "Plan a trip to Japan for 5 days", "hello")


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[LocalServices]:
    async with local_services(Settings(parley_home=tmp_path)) as running:
        yield running


async def assert_works(talk: ScriptedSession, workflow: Workflow, text: str) -> None:
    """Check that the request leads to a plan, or to an answer with evidence; all writes are approved."""
    session = await talk.says(
        text, workflow=workflow, until=() if workflow in RUNS_TO_THE_END else ("awaiting_approval",)
    )
    if workflow == "conversation":
        assert session.phase == "awaiting_approval", (session.phase, session.question)
        assert session.plan
        assert not session.plan.notes
        return
    assert (session.phase, session.rest_reason) == ("resting", "answered"), (session.question, session.answer.text)
    if workflow == "flow":
        assert (outputs(session, "execute_sql") or {}).get("result"), session.answer.text
    else:
        assert session.answer.evidence, session.answer.text
        assert session.answer.confidence > 0.5, session.answer.text


def test_the_example_requests_occur_in_the_documents() -> None:
    documents = {place: " ".join((ROOT / place).read_text(encoding="utf-8").split()) for place, _, _ in SENTENCES}
    assert [text for place, _, texts in SENTENCES for text in texts if text not in documents[place]] == []


@pytest.mark.parametrize("workflow", EXAMPLES)
async def test_the_examples_of_the_documents_work(services: LocalServices, workflow: Workflow) -> None:
    for texts in (texts for _, shown_for, texts in SENTENCES if shown_for == workflow):
        talk = services.talk(recall=False)
        for text in texts:
            await assert_works(talk, workflow, text)


@pytest.mark.parametrize("workflow", EXAMPLES)
async def test_the_examples_of_the_page_work(services: LocalServices, workflow: Workflow) -> None:
    part = PAGE[PAGE.index(f"  {workflow}: [") :]
    examples = re.findall(r"text: [\"'](.*)[\"'] \}", part[: part.index("\n  ],")])
    assert len(examples) == 3
    for text in examples:
        await assert_works(services.talk(recall=False), workflow, text)


@pytest.mark.parametrize("workflow", EXAMPLES)
async def test_every_offered_option_works(services: LocalServices, workflow: Workflow) -> None:
    for request in UNSUPPORTED:
        session = await services.talk(recall=False).says(request, workflow=workflow)
        assert session.phase == "awaiting_input", session.answer.text
        assert session.question
        assert tuple(option.label for option in session.question.options) == EXAMPLES[workflow]
    for option in EXAMPLES[workflow]:
        await assert_works(services.talk(option, recall=False), workflow, UNSUPPORTED[0])
