"""Recall keeps to its customer: nothing of one is in the prompts of a session about another. All services are real."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import pytest_asyncio

from parley.events import facts
from parley.events.values import SessionSettings
from services.generator.agentflow import AnswerDraft
from services.planner.agentflow_prompt import NothingToDo, Planned, TurnDraft
from services.planner.conversation import PlanDraft, TextStep
from services.planner.execution_plan_prompt import StepDraft, StepsDraft
from services.verifier.agentflow import TurnVerdict
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.llm.scripted import Prompt, Scripted, ScriptedModel
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.support.stack import Person, running_plan_store, working
from tests.support.store import STORE

LESSON = "The address {address1} was not the one they named."


class Customer(NamedTuple):
    """A customer of the sample store, with one of their orders."""

    user_id: str
    user: dict[str, Any]

    @property
    def values(self) -> set[str]:
        """What identifies them."""
        return {
            *(self.user_id, self.user["email"], self.user["name"]["last_name"]),
            *(self.user["address"]["zip"], self.user["address"]["address1"]),
            *self.user["orders"],
            *self.user["payment_methods"],
        }

    @property
    def request(self) -> str:
        name, order = self.user["name"], self.user["orders"][0]
        who = f"I am {name['first_name']} {name['last_name']} ({self.user['email']}), zip {self.user['address']['zip']}"
        return f"{who}. What is in my order {order}, and where does it go?"

    def plan(self) -> StepsDraft:
        """The plan of the same work."""
        email, order = self.user["email"], self.user["orders"][0]
        who = StepDraft(id="s1", tool="find_user_id_by_email", arguments={"email": email}, text="Find the customer")
        look = StepDraft(id="s2", tool="get_order_details", arguments={"order_id": order}, text="Look", after=["s1"])
        return StepsDraft(goal=f"Look at {order}", steps=[who, look])

    def replies(self) -> Iterator[Scripted]:
        """The model's replies: it finds the customer, reads their records, is told a lesson, and answers."""
        address, order = self.user["address"], self.user["orders"][0]
        yield turn(Planned(tool="find_user_id_by_email", arguments={"email": self.user["email"]}))
        yield TurnVerdict(status="success", next_action="continue", reasoning="Found.")
        yield turn(
            Planned(tool="get_user_details", arguments={"user_id": self.user_id}),
            Planned(tool="get_order_details", arguments={"order_id": order}),
        )
        yield TurnVerdict(status="failure", next_action="complete", reasoning=LESSON.format(**address))
        yield AnswerDraft(text=f"Order {order} goes to {address['address1']}.", confidence=1, evidence=[])


def turn(*actions: Planned) -> TurnDraft:
    return TurnDraft(sub_goal="Look up the customer", actions=list(actions))


def customers() -> Iterator[Customer]:
    """Customers of whom no two have a value in common."""
    known: set[str] = set()
    for user_id, user in STORE["users"].items():
        customer = Customer(user_id, user)
        if user["orders"] and not known & customer.values:
            known |= customer.values
            yield customer


FIRST, SECOND, *_ = customers()


class Services:
    """All services on one bus. Each session is of the same user."""

    def __init__(self, settings: Settings, bus: Bus) -> None:
        self.settings, self.bus = settings, bus
        self.store = PlanStoreClient(bus)

    async def serves(
        self, session_id: str, *replies: Scripted, text: str, workflow: str = "agentflow"
    ) -> tuple[Session, list[Prompt]]:
        """The session that answers this request, accepted by its user and projected, and its prompts."""
        model, ann = ScriptedModel(*replies), Person(self.bus, session_id)
        async with working(self.settings, model, store=PlanStoreClient):
            quality = SessionSettings(approval="never", quality="thorough", require_plan_approval=False)
            await ann.does(c.Say(text=text, workflow=workflow, settings=quality))
            session = await ann.phase("resting", "failed", "awaiting_approval")
        if session.answer.text:
            await ann.does(c.Judge(accepted=True))
        await self.store.ask("session.get", session_id=session_id)
        return session, model.prompts

    async def recalled(self, session_id: str) -> list[list[str]]:
        """By turn, the sessions whose outcomes it recalled."""
        events = await Person(self.bus, session_id).events()
        turns = [event for event in events if isinstance(event, facts.TurnPlanned)]
        return [[recalled.session_id for recalled in event.recalled] for event in turns]


@pytest_asyncio.fixture
async def services(settings: Settings, bus: Bus) -> AsyncIterator[Services]:
    async with running_plan_store(settings):
        yield Services(settings, bus)


def values_in(values: set[str], prompts: list[Prompt]) -> list[tuple[str, str]]:
    """The values that are in prompts, with the role of each prompt."""
    return [(prompt.role, value) for prompt in prompts for value in sorted(values) if value in prompt.text]


async def test_a_customers_values_are_in_no_prompt_of_a_session_about_another(services: Services) -> None:
    session, prompts = await services.serves("one", *FIRST.replies(), text=FIRST.request)
    assert (session.rest_reason, session.subject) == ("answered", f"retail:{FIRST.user_id}")
    assert {value for _, value in values_in(FIRST.values, prompts)} >= {FIRST.user_id, *FIRST.user["orders"]}

    session, prompts = await services.serves("two", *SECOND.replies(), text=SECOND.request)
    assert (session.rest_reason, session.subject) == ("answered", f"retail:{SECOND.user_id}")
    assert {prompt.role for prompt in prompts} == {"planner", "verifier", "generator"}
    assert values_in(FIRST.values, prompts) == []
    assert await services.recalled("two") == [[], []]

    # asked again once it is known whom the session is about
    _, prompts = await services.serves("one-again", *FIRST.replies(), text=FIRST.request)
    assert await services.recalled("one-again") == [[], ["one"]]
    assert [bool(prompt.sections("recalled")) for prompt in prompts if prompt.task == "turn"] == [False, True]
    assert [bool(prompt.sections("examples")) for prompt in prompts if prompt.task == "turn"] == [False, True]
    (recalled,) = next(prompt for prompt in prompts if prompt.sections("recalled")).sections("recalled")
    assert FIRST.request in recalled
    assert LESSON.format(**FIRST.user["address"]) in recalled
    assert values_in(SECOND.values, prompts) == []


async def test_an_accepted_plan_is_no_example_for_another_customer(services: Services) -> None:
    fine = TurnVerdict(status="success", next_action="complete", reasoning="Done.")
    for customer, session_id in ((FIRST, "one"), (SECOND, "two"), (FIRST, "one-again")):
        session, prompts = await services.serves(
            session_id, customer.plan(), fine, text=customer.request, workflow="execution_plan"
        )
        assert (session.rest_reason, session.subject) == ("answered", f"retail:{customer.user_id}")
        assert not any(prompt.sections("examples") for prompt in prompts), "whom it is about is known after the plan"
        assert values_in(SECOND.values if customer is FIRST else FIRST.values, prompts) == []
    # the next request of a session whose customer is known
    ann = Person(services.bus, "one-again")
    model = ScriptedModel(FIRST.plan(), fine)
    async with working(services.settings, model, store=PlanStoreClient):
        await ann.does(c.Say(text=FIRST.request))
        await ann.phase("resting", "failed")
    (examples,) = model.prompts[0].sections("examples")
    assert FIRST.user["orders"][0] in examples


async def test_what_is_asked_before_the_customer_is_known_is_never_recalled(services: Services) -> None:
    no_one = Planned(tool="find_user_id_by_email", arguments={"email": f"not-{FIRST.user['email']}"})
    missed = (turn(no_one), NothingToDo(reason="There is no such customer."))  # a rule judges the failed read
    sorry = AnswerDraft(text="I do not find you.", confidence=1, evidence=[])
    session, _ = await services.serves("unknown", *missed, sorry, text=FIRST.request)
    assert (session.rest_reason, session.subject, session.subjects) == ("answered", "", "possible")
    for number, customer in enumerate((FIRST, SECOND), 1):
        await services.serves(f"known-{number}", *customer.replies(), text=customer.request)
        assert await services.recalled(f"known-{number}") == [[], []]


async def test_work_without_tools_is_recalled_by_any_session(services: Services) -> None:
    program = "Write a program for what is in my order"
    await services.serves(
        "program", PlanDraft(goal=program, steps=[TextStep(text="Write")]), text=program, workflow="conversation"
    )
    ann = Person(services.bus, "program")
    await ann.does(c.CancelPlan())
    await services.store.ask("session.get", session_id="program")
    await services.serves("two", *SECOND.replies(), text=f"{program}. {SECOND.request}")
    assert await services.recalled("two") == [["program"], []]
