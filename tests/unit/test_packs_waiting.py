"""Polling steps: refused drafts, conditions, and the executor's polls."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from packs.waiting.pack import pack
from parley import Context, Failed, Pack, tool
from parley.events.values import Step, Waiting
from parley.polling import MAX_VALUE, holds
from parley.protocol.templates import Parameter, Template, TemplateStep
from parley.protocol.tools import PollNow, PollResult
from services.executor.poll_requests import POLL_DEADLINE, PollRequests
from services.executor.sources.packs import PackSource
from services.executor.tools import Registry
from services.plan_store.scheduler.polling import POLL_TIMEOUT
from shared.domain.kernel import commands as c
from shared.log import SessionAtPosition
from shared.plan_checks.calls import polled_call
from shared.plan_checks.steps import check_plan
from shared.store import StoreUnavailable
from shared.templates.checks import fingerprints_of, template_problems
from shared.testing import InMemoryLog, InMemoryStore
from tests.support.stories import Conversation, approve


class Order(BaseModel):
    id: str = "#W1"
    code: str = ""


ORDERS: dict[str, Any] = {"#W1": {"status": "pending"}, "text": '{"status": "sent"}', "large": "x" * MAX_VALUE}


@tool()
async def get_order(order: Order, context: Context) -> Any:
    """Look an order up."""
    if order.id not in ORDERS:
        raise Failed(f"{order.id} is not known; the key is not sk-very-secret-0123456789.")
    return ORDERS[order.id]


@tool(effect="write")
async def cancel_order(order: Order, context: Context) -> str:
    """Cancel an order."""
    raise AssertionError("a look never changes anything")


@tool(policy="deny")
async def read_mail(order: Order, context: Context) -> str:
    """Read another user's mail."""
    raise AssertionError("it is denied")


REGISTRY = Registry(PackSource((pack, Pack("orders", [get_order, cancel_order, read_mail]))))
TOOLS = {name: tool.spec for name, tool in REGISTRY.all().items()}


def polling_step(**more: Any) -> Step:
    arguments = {"tool": "get_order", "arguments": {"id": "#W1"}, "condition": 'status == "sent"'}
    return Step(text="x", tool="poll_until", id="s2", effect="read", waits_for="condition", arguments=arguments | more)


FIRST = Step(text="Look", tool="get_order", arguments={}, id="s1", effect="read")


def problems(**more: Any) -> tuple[str, ...]:
    return check_plan((FIRST, polling_step(**more)), TOOLS).problems


def test_a_step_that_polls_a_reading_tool_is_accepted() -> None:
    assert problems() == ()
    assert problems(arguments={"id": "{{steps.s1.output.id}}"}, every=10, at_most=10_000) == ()
    call = polled_call(polling_step())
    assert call
    assert (call.tool, call.arguments, polled_call(FIRST)) == ("get_order", {"id": "#W1"}, None)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"tool": "cancel_order"}, "cancel_order does more than read"),
        ({"tool": "wait_until"}, "wait_until does more than read"),
        ({"tool": "poll_until"}, "poll_until does more than read"),
        ({"tool": "read_mail"}, "read_mail must not be used here"),
        ({"tool": "nothing"}, "there is no tool “nothing”"),
        ({"tool": "{{steps.s1.output.tool}}"}, "there is no tool"),
        ({"arguments": {"id": 7, "more": 1}}, "get_order"),
        ({"arguments": {"code": "{{steps.s1.output.code}}"}}, "code is run as it is written"),
        ({"arguments": "{{steps.s1.output}}"}, "arguments must be written out"),
        ({"condition": 'status == "{{steps.s1.output.status}}"'}, "no reference may stand in it"),
        ({"condition": "status =="}, "is no expression"),
        ({"condition": "__import__('os')"}, "more than a condition may hold"),
        ({"condition": "True"}, "names nothing"),
        ({"every": 9}, "from 10 to 86,400 seconds"),
        ({"at_most": 86_401}, "from 10 to 86,400 seconds"),
        ({"every": 10, "at_most": 10_001}, "more than 1,000 times"),
    ],
)
def test_an_unsuitable_polling_step_has_problems(wrong: dict[str, Any], why: str) -> None:
    assert why in " ".join(problems(**wrong))


def test_a_template_is_checked_against_the_tool_that_it_polls() -> None:
    call = {"tool": "get_order", "arguments": {"id": "{{params.order}}"}, "condition": "status"}
    step = TemplateStep(text="Wait", tool="poll_until", id="s1", arguments=call)
    template = Template(name="Wait", goal="Wait", steps=(step,), parameters=(Parameter(name="order"),))
    known = fingerprints_of(template, TOOLS)
    assert known.keys() == {"poll_until", "get_order"}
    assert template_problems(template, TOOLS, known) == ()
    changed = TOOLS | {"get_order": TOOLS["get_order"].model_copy(update={"effect": "write"})}
    assert "get_order has changed" in " ".join(template_problems(template, changed, known))


@pytest.mark.parametrize(
    ("condition", "result", "expected"),
    [
        ('status == "sent"', {"status": "sent"}, True),
        ('status == "sent"', {"status": "new"}, False),
        ('status == "sent"', ["sent"], False),
        ('output == "sent"', "sent", True),
        ("output > 3", 4, True),
        ("output > 3", "four", False),
        ('"a" in output', ["a"], True),
        ("output", {}, False),
        ("output == 1", {"output": 1}, True),
        ("not error", {"error": None}, True),
    ],
)
def test_a_condition_can_name_fields_or_the_whole_output(condition: str, result: Any, expected: bool) -> None:
    assert holds(condition, result) is expected


async def polling(**more: Any) -> tuple[Conversation, InMemoryLog]:
    """A session that is polling with these arguments, and its log."""
    log = InMemoryLog()
    story = Conversation(log)
    await story.commit(c.Say(text="x", workflow="execution_plan"))
    await story.commit(c.DraftPlan(goal="x", steps=(polling_step(**more),), kind="execution"), approve)
    waiting = Waiting(action_id="t2.s2", until=datetime.now(UTC) + timedelta(hours=1), every=60)
    await story.commit(c.Wait(actions=(waiting,)))
    return story, log


async def poll_once(session: tuple[Conversation, InMemoryLog], action: str = "t2.s2") -> PollResult:
    story, log = session
    request = PollNow(session_id=story.id, action_id=action)
    answer = await PollRequests(REGISTRY, InMemoryStore(log)).poll("tools.poll", request.model_dump_json().encode())
    assert answer
    return PollResult.model_validate_json(answer)


async def test_a_poll_returns_the_tool_s_result_and_whether_the_condition_holds() -> None:
    assert await poll_once(await polling()) == PollResult(value={"status": "pending"})
    text = await poll_once(await polling(arguments={"id": "text"}))
    assert text == PollResult(value={"status": "sent"}, met=True), "JSON that a tool returns as text is parsed"


async def test_a_poll_that_fails_says_why() -> None:
    missing = await poll_once(await polling(arguments={"id": "#W2"}))
    assert missing == PollResult(error="#W2 is not known; the key is not sk-very-secret-0123456789.")
    too_large = await poll_once(await polling(arguments={"id": "large"}))
    assert "8,002 bytes, and 8,000 can be looked at" in too_large.error
    assert too_large.value is None
    unknown = await poll_once(await polling(), action="t2.s9")
    assert unknown.error == "t2.s9 does not poll now."
    for wrong, why in (
        ({"tool": "cancel_order"}, "does more than read"),
        ({"tool": "read_mail"}, "must not be used here"),
        ({"tool": "gone"}, "There is no tool “gone”"),
        ({"condition": "1 < 2"}, "names nothing"),
    ):
        assert why in (await poll_once(await polling(**wrong))).error


async def test_a_tool_that_the_user_has_denied_meanwhile_is_not_polled() -> None:
    session = await polling()
    await session[0].commit(c.Remember(tool="get_order", policy="deny"))
    assert (await poll_once(session)).error == "get_order must not be used here."


class UnavailableStore:
    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        raise StoreUnavailable("The plan store does not answer.")


async def test_a_poll_gets_no_reply_while_the_session_cannot_be_loaded() -> None:
    request = PollNow(session_id="s", action_id="t2.s2").model_dump_json().encode()
    assert await PollRequests(REGISTRY, UnavailableStore()).poll("tools.poll", request) is None
    invalid = await PollRequests(REGISTRY, UnavailableStore()).poll("tools.poll", b"{}")
    assert invalid
    assert "no poll" in PollResult.model_validate_json(invalid).error


def test_the_plan_store_waits_longer_than_a_poll_may_take() -> None:
    assert POLL_DEADLINE < POLL_TIMEOUT
