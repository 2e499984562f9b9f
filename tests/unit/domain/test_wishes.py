"""What the person wants of the program beside the plan stays with the plan, until a new draft takes it in."""

from services.generator.conversation import CodeDraft, write_code
from services.planner.conversation import build_prompt
from shared.domain.kernel import commands as c
from shared.domain.transcript.forks import carry_over
from shared.settings import Settings
from tests.unit.domain.spec import TO_CODE, approve, draft, edit, given, say
from tests.unit.test_handlers import work_context

JSON = "It can also print JSON."
TAKEN_IN = (*TO_CODE, say("also as JSON"), c.DraftCode(code="print({})", wish=JSON), c.VerifyCode(checks=()))


async def test_the_programmer_notes_what_the_plan_does_not_say() -> None:
    reply = CodeDraft(code="print({})", wish=f" {JSON}\n")
    command = await write_code(work_context("generator", given(*TO_CODE, say("also as JSON")).session, reply))
    assert isinstance(command, c.DraftCode)
    assert command.wish == JSON


def test_a_wish_is_kept_beside_the_plan_whose_approval_stays() -> None:
    before, session = given(*TO_CODE).session.plan, given(*TAKEN_IN).session
    assert before
    assert session.plan
    assert (session.plan.wishes, session.plan.hash, session.plan.version) == ((JSON,), before.hash, before.version)
    assert f"Also wanted, in the program already: {JSON}" in build_prompt(session, Settings())[-1]["content"]


def test_the_same_wish_is_kept_once() -> None:
    again = given(*TAKEN_IN, say("shorter"), c.DraftCode(code="print()", wish=JSON)).session
    assert again.plan
    assert again.plan.wishes == (JSON,)


def test_an_edit_of_the_person_keeps_the_wishes_and_a_draft_has_them_as_steps() -> None:
    at_rest = (*TAKEN_IN, approve)
    edited = given(*at_rest, edit("subtract")).session.plan
    assert edited
    assert edited.wishes == (JSON,)
    drafted = given(*at_rest, say("subtract"), draft("subtract", "print JSON")).session.plan
    assert drafted
    assert drafted.wishes == ()


def test_a_fork_knows_the_wishes() -> None:
    plan = carry_over(given(*TAKEN_IN).session).plan
    assert plan
    assert plan.wishes == (JSON,)
