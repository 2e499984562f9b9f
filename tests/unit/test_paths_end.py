"""The verdict on a flow's path, by rule, and its answer, from the nodes' outputs. Neither needs a model."""

from typing import Any

import pytest

from parley.events.values import PathPlan, Service, SessionSettings
from services.generator.flow import path_answer, write
from services.verifier.app import verify
from services.verifier.flow import path_verdict
from shared.bus import Delivery
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.story import Story, finish_action
from shared.testing import InMemoryLog
from shared.worker import Handler, Worker
from tests.support.work import worker_deps
from tests.unit.domain.spec import StoryLine, given, spend, verdict
from tests.unit.domain.test_flow_paths import PLANNED, edit, node, walk

WALKED = (*PLANNED, *walk(1), *walk(2), *walk(3))
ANSWERED = (*WALKED, *walk(4, answer="12 orders", confidence=0.75))
FAILED = (*PLANNED, *walk(1), c.Start(), finish_action(action_id="1.2", ok=False, error="no such table"))
LOOK_FIRST = node("sql.run", arguments={"sql": "select 1"}, approval_reason="look first")
REFUSED = (*PLANNED, *walk(1), c.ChangeTurn(actions=(LOOK_FIRST,)), c.Reject(action_id="1.5"))
CUT_SHORT = (*PLANNED, *walk(1), edit(after="1.1"))
WRITING_NODE = node("sql.run", effect="write", arguments={"n": 1}, approval_reason="it changes something")


@pytest.mark.parametrize(
    ("story", "status", "rule", "why"),
    [
        (ANSWERED, "success", "path-walked", "walked to its end"),
        ((*WALKED, *walk(4)), "partial", "path-walked", "ended after sql.tell"),
        (CUT_SHORT, "partial", "path-walked", "ended after sql.look"),
        (FAILED, "failure", "path-ended", "sql.write (failed): no such table"),
        (REFUSED, "failure", "path-ended", "sql.run (denied)"),
        ((*PLANNED, c.Skip(action_id="1.1")), "failure", "path-ended", "no node was run"),
    ],
)
def test_the_verdict_of_a_path(story: tuple[StoryLine, ...], status: str, rule: str, why: str) -> None:
    session = given(*story).session
    assert session.phase == "verifying"
    assert session.turn is not None
    judged = path_verdict(session.turn)
    assert (judged.status, judged.next_action, judged.rule) == (status, "complete", rule)
    assert why in judged.reasoning


def answer_of(*story: StoryLine) -> c.GiveAnswer:
    session: Session = given(*story, verdict("complete")).session
    assert session.turn is not None
    return path_answer(session.turn)


def test_the_answer_is_the_output_of_the_path() -> None:
    answer = answer_of(*ANSWERED)
    assert (answer.text, answer.confidence) == ("12 orders", 0.75)
    assert answer.evidence == ("1.2", "1.3", "1.4")


def test_a_partial_answer_comes_with_the_reason() -> None:
    """The first node has answered, and the second one fails."""
    failed = (*PLANNED, *walk(1, answer="12 orders"), c.Start(), finish_action(action_id="1.2", ok=False, error="no"))
    session = given(*failed, verdict("complete", "failure")).session
    assert session.turn is not None
    assert path_answer(session.turn).text == "12 orders\n\nseen"


def test_the_answer_may_be_an_output_that_the_user_has_edited() -> None:
    story = (*PLANNED, *walk(1), edit(after="1.1", answer="it is 42"))
    answer = answer_of(*story)
    assert (answer.text, answer.confidence, answer.evidence) == ("it is 42", 1, ("1.1",))


@pytest.mark.parametrize("story", [CUT_SHORT, FAILED, REFUSED])
def test_without_an_answer_the_verdict_gives_the_reason(story: tuple[Any, ...]) -> None:
    answer = answer_of(*story)
    assert answer.text == "There is no answer. seen"
    assert answer.confidence == 0


def test_an_outcome_that_the_user_leaves_uncertain_makes_the_verdict_partial() -> None:
    story = (
        *PLANNED,
        *walk(1),
        c.ChangeTurn(actions=(WRITING_NODE,)),
        lambda s: c.Approve(version=s.version),
        c.Start(),
    )
    uncertain = (*story, c.ReportUncertain(action_id="1.5", reason="?"), c.Answer(text="Leave it"))
    session = given(*uncertain).session
    assert session.turn is not None
    judged = path_verdict(session.turn)
    assert (judged.status, judged.rule) == ("partial", "in-doubt")


class LocalSession(Story):
    """A session on a log in memory, and services that work on it without a model."""

    def __init__(self) -> None:
        self._memory = InMemoryLog()
        super().__init__("s", log=self._memory)

    async def deliver_newest_event(self, service: Service, handler: Handler) -> None:
        """Delivers the newest event to this service."""
        deps = worker_deps(service, log=self._memory)
        raw = self._memory.messages[-1]
        await Worker(deps, handler).on_delivery(Delivery(raw.subject, raw.data, raw.position, 1))


async def test_a_spent_budget_does_not_block_the_answer() -> None:
    """The last node spends more than the budget; the verdict and the answer cost nothing."""
    session = LocalSession()
    await session.commit(c.Say(text="tea", workflow="flow", settings=SessionSettings(token_budget=10)))
    tell = node("tea.tell", 1)
    await session.commit(c.PlanTurn(sub_goal="x", actions=(tell,), final=True, path=PathPlan(nodes=(tell.tool,))))
    ended = finish_action(action_id="1.1", ok=True, result={"answer": "hot"})
    await session.commit(c.Start(), spend(20, action_id="1.1"), ended)
    await session.deliver_newest_event("verifier", verify)
    await session.deliver_newest_event("generator", write)
    assert ((await session.load()).answer.text, (await session.load()).is_over_budget) == ("hot", True)
