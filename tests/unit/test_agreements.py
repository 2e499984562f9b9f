"""A bare “ok” about what is in review is answered without a model: it approves nothing, and names the button."""

from typing import Any

import pytest

from parley.events.values import Service
from services.generator.app import write
from services.planner.app import Planner
from services.planner.flow import PathPlanner
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand
from shared.llm.dialogue import agreement_reply
from shared.story import StoryLine
from shared.worker import WorkContext
from tests.support.work import work_context
from tests.unit.domain.spec import TO_ALLOW, TO_CODE, TO_DONE, TO_PLAN, draft, edit, given, reject, say, turn

PLAN, CODE, CALLS = (
    f"A message approves nothing. To approve, press “{button}”."
    for button in ("Approve this plan", "Approve this code", "Approve")
)
OK = say("ok")


def reply(*lines: StoryLine) -> str:
    """The reply to the last message; "" if the model is to reply."""
    answered = agreement_reply(given(*lines).session)
    return answered.text if answered else ""


@pytest.mark.parametrize(
    "text",
    [
        *("ok", "OK!", " Okay. ", "yes", "Sure", "go", "Sounds good!", "do it", "Yes, please.", "Ok, go ahead!"),
        *("Ja, passt", "In Ordnung.", "d’accord", "C'est bon", "Sí, adelante", "va bene", "Está bem", "oké, doe maar"),
        *("да, хорошо", "tamam", "好的。", "はい、お願いします", "네", "نعم"),
    ],
)
def test_a_bare_agreement_gets_the_button_of_what_is_in_review(text: str) -> None:
    assert reply(*TO_PLAN, say(text)) == PLAN
    assert reply(*TO_CODE, say(text)) == CODE
    assert reply(*TO_ALLOW, say(text)) == CALLS


@pytest.mark.parametrize(
    "text",
    ["ok?", "ok, but shorter", "no", "yes to the first", "👍", "go on", "why?", "ok " * 30, "Okay, thanks to Ann"],
)
def test_any_other_message_is_for_the_model(text: str) -> None:
    assert reply(*TO_PLAN, say(text)) == ""


def test_an_agreement_together_with_another_message_is_for_the_model() -> None:
    assert reply(*TO_PLAN, say("shorter"), OK) == ""
    assert reply(*TO_PLAN, OK, say("yes")) == PLAN


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((*TO_PLAN, say("why?"), c.AnswerRemark(text="Shall I shorten it?")), id="an answer stands there"),
        pytest.param((*TO_PLAN, OK, c.AnswerRemark(text=PLAN)), id="the button was named"),
        pytest.param((*TO_ALLOW, say("the other one"), turn()), id="an offer is open"),
        pytest.param((say(), draft(say="Is that what you mean?")), id="the draft asks"),
        pytest.param((say(), draft(say="是这样吗？")), id="the draft asks in Chinese"),
        pytest.param(TO_DONE, id="nothing is in review"),
        pytest.param((say(), c.Ask(text="Shall I?")), id="a question is open"),
        pytest.param((say(),), id="a plan is being drafted"),
        pytest.param((*TO_PLAN, reject), id="the plan was declined"),
    ],
)
def test_an_agreement_to_something_else_is_for_the_model(lines: tuple[StoryLine, ...]) -> None:
    assert reply(*lines, OK) == ""


def test_a_plan_that_the_person_has_edited_is_what_their_agreement_is_about() -> None:
    assert reply(*TO_PLAN, edit("Ask"), OK) == PLAN


def context_of(service: Service, session: Session) -> WorkContext:
    return work_context(service, session)


@pytest.mark.parametrize("lines", [TO_PLAN, TO_CODE, TO_ALLOW])
async def test_the_service_that_answers_asks_no_model_and_everything_stays_in_review(
    lines: tuple[StoryLine, ...],
) -> None:
    before, asked = given(*lines).session, given(*lines, OK).session
    assert asked.reply
    context = context_of(asked.reply.service, asked)
    unused: Any = None
    command: AnyCommand
    if asked.reply.service == "generator":
        command = await write(context, unused)
    else:
        command = await Planner(unused, unused, PathPlanner(unused, unused, unused), unused).plan(context)
    after = given(begin=asked).when(command).then("remark.answered").session
    assert (after.phase, after.plan, after.code, after.turn) == (before.phase, before.plan, before.code, before.turn)
    assert (after.reply, after.words.unread) == (None, ())
