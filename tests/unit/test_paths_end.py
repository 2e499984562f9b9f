"""The end of a path: the verdict by rule, and the answer from its outputs. Neither needs a model."""

from typing import Any

import pytest

from parley.events.values import PathPlan, Service, SessionSettings
from services.generator.flow import path_answer
from services.generator.handlers import write
from services.verifier.flow import path_verdict
from services.verifier.handlers import verify
from shared.bus import Delivery
from shared.domain import commands as c
from shared.domain.session import Session
from shared.llm import ScriptedModel
from shared.settings import Settings
from shared.story import Story, finish_action
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, Handler, Worker, WorkerDeps
from tests.unit.domain.spec import StoryLine, given, spend, verdict
from tests.unit.domain.test_flow_paths import PLANNED, edit, node, walk

WALKED = (*PLANNED, *walk(1), *walk(2), *walk(3))
ANSWERED = (*WALKED, *walk(4, answer="12 orders", confidence=0.75))
FAILED = (*PLANNED, *walk(1), c.Start(), finish_action(action_id="1.2", ok=False, error="no such table"))
LOOK_FIRST = node("sql.run", arguments={"sql": "select 1"}, approval_reason="look first")
REFUSED = (*PLANNED, *walk(1), c.ChangeTurn(actions=(LOOK_FIRST,)), c.Reject(action_id="1.5", reason="too slow"))
ENDED = (*PLANNED, *walk(1), edit(after="1.1"))
WRITE = node("sql.run", effect="write", arguments={"n": 1}, approval_reason="it changes something")


@pytest.mark.parametrize(
    ("story", "status", "rule", "why"),
    [
        (ANSWERED, "success", "path-walked", "walked to its end"),
        ((*WALKED, *walk(4)), "partial", "path-walked", "ended after sql.tell"),
        (ENDED, "partial", "path-walked", "ended after sql.look"),
        (FAILED, "failure", "path-ended", "sql.write (failed): no such table"),
        (REFUSED, "failure", "path-ended", "sql.run (denied): too slow"),
        ((*PLANNED, c.Skip(action_id="1.1")), "failure", "path-ended", "no node was run"),
    ],
)
def test_a_path_speaks_for_itself(story: tuple[StoryLine, ...], status: str, rule: str, why: str) -> None:
    session = given(*story).session
    assert session.phase == "verifying"
    assert session.turn is not None
    verdict = path_verdict(session.turn)
    assert (verdict.status, verdict.next_action, verdict.rule) == (status, "complete", rule)
    assert why in verdict.reasoning


def answer_of(*story: StoryLine) -> c.GiveAnswer:
    session: Session = given(*story, verdict("complete")).session
    assert session.turn is not None
    return path_answer(session.turn)


def test_the_answer_is_what_the_path_made() -> None:
    question = answer_of(*ANSWERED)
    assert (question.text, question.confidence) == ("12 orders", 0.75)
    assert question.evidence == ("1.2", "1.3", "1.4")


def test_an_answer_before_the_end_of_the_path_comes_with_the_reason() -> None:
    """Of two flows the first has answered, and the second one failed."""
    failed = (*PLANNED, *walk(1, answer="12 orders"), c.Start(), finish_action(action_id="1.2", ok=False, error="no"))
    session = given(*failed, verdict("complete", "failure")).session
    assert session.turn is not None
    assert path_answer(session.turn).text == "12 orders\n\nseen"


def test_what_a_person_set_is_no_evidence() -> None:
    story = (*PLANNED, *walk(1), edit(after="1.1", answer="it is 42"))
    question = answer_of(*story)
    assert (question.text, question.confidence, question.evidence) == ("it is 42", 1, ("1.1",))


@pytest.mark.parametrize("story", [ENDED, FAILED, REFUSED])
def test_without_an_answer_it_says_how_far_the_path_came(story: tuple[Any, ...]) -> None:
    question = answer_of(*story)
    assert question.text == "There is no answer. seen"
    assert question.confidence == 0


def test_an_uncertain_outcome_that_was_left_is_reported() -> None:
    story = (*PLANNED, *walk(1), c.ChangeTurn(actions=(WRITE,)), lambda s: c.Approve(version=s.version), c.Start())
    doubt = (*story, c.ReportUncertain(action_id="1.5", reason="?"), c.Answer(text="Leave it"))
    session = given(*doubt).session
    assert session.turn is not None
    verdict = path_verdict(session.turn)
    assert (verdict.status, verdict.rule) == ("partial", "in-doubt")


class LocalSession(Story):
    """A session on a log in memory, and services that work on it without a model."""

    def __init__(self) -> None:
        self._memory = InMemoryLog()
        super().__init__("s", log=self._memory)

    async def works(self, service: Service, handler: Handler) -> None:
        """The newest event is delivered to this service."""
        kit = WorkerDeps(service, InMemoryStore(self.log), self.log, ScriptedModel(), Drafts(None), Settings())
        raw = self._memory.messages[-1]
        await Worker(kit, handler).on_delivery(Delivery(raw.subject, raw.data, raw.position, 1))


async def test_a_spent_budget_does_not_hold_back_what_a_path_has_found() -> None:
    """The last node may have spent it; the verdict on the path and its answer cost nothing."""
    room = LocalSession()
    await room.commit(c.Say(text="tea", workflow="flow", settings=SessionSettings(token_budget=10)))
    tell = node("tea.tell", 1)
    await room.commit(c.PlanTurn(sub_goal="x", actions=(tell,), final=True, path=PathPlan(nodes=(tell.tool,))))
    ended = finish_action(action_id="1.1", ok=True, result={"answer": "hot"})
    await room.commit(c.Start(), spend(20, action_id="1.1"), ended)
    await room.works("verifier", verify)
    await room.works("generator", write)
    assert ((await room.load()).answer.text, (await room.load()).is_over_budget) == ("hot", True)
