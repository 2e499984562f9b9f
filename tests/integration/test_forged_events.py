"""Events published with a service's NATS user but without `decide`: refused by readers, or ruled on by the executor."""

import json
from typing import Any

import nats as nats_client
import pytest

from parley.events import SessionEvent, dump_event, facts
from parley.events.values import ActionSpec, Step
from services.generator.conversation import CodeDraft
from shared.bus import Bus
from shared.bus.connection import address
from shared.domain.kernel import commands as c
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.kernel.wording import UNCERTAIN_OPTIONS
from shared.domain.rules.decide import decide, due
from shared.llm import ScriptedModel
from shared.log import SessionAtPosition, accept, guard_headers, subject_of
from shared.settings import Settings
from shared.story import Story
from tests.integration.test_agentflow import CANCEL, LOOK, WHO, answer, open_session, stored, turn
from tests.support.nats import NatsServer
from tests.support.stack import Person, working
from tests.support.timeouts import WAIT_TIMEOUT

CANCEL_SPEC = ActionSpec.model_validate(
    {"id": "1.1", "tool": CANCEL.tool, "arguments": CANCEL.arguments, "effect": "write"}
)


async def append_as(nats: NatsServer, user: str, loaded: SessionAtPosition, event: SessionEvent) -> None:
    """Append the event with valid subject and headers, with the rights of this service's NATS user."""
    client = await nats_client.connect(**address(Settings(nats_url=nats.url_of(user))).options)
    subject = subject_of(event, due(evolve(loaded.session, event)))
    headers = guard_headers(loaded.session.id, loaded.position, event.id)
    try:
        reply = await client.request(subject, dump_event(event), headers=headers, timeout=WAIT_TIMEOUT)
        assert "seq" in json.loads(reply.data)
    finally:
        await client.close()


def as_next_event(loaded: SessionAtPosition, event: SessionEvent, **fields: Any) -> SessionEvent:
    """A copy of the event with these fields, numbered as the session's next event."""
    version = loaded.session.version + 1
    return event.model_copy(update={"id": f"{event.id}-{version}", "version": version} | fields)


async def refusal_reasons(bus: Bus, session_id: str) -> list[str]:
    """Why readers of the log refuse messages of this session, oldest first."""
    loaded, reasons = SessionAtPosition(Session(session_id), 0), []
    for raw in await bus.log.read(session_id, leader=True):
        loaded, event, why = accept(loaded, raw)
        reasons += [] if event else [why]
    return reasons


async def test_a_forged_plan_approval_starts_no_coding(
    settings: Settings, nats: NatsServer, bus: Bus, session_id: str
) -> None:
    model = ScriptedModel(CodeDraft(code="print(1)", explanation=""))
    async with working(settings, model, "generator"):
        ann = Person(bus, session_id)
        await ann.does(c.Say(text="A calculator"))
        await ann.does(c.DraftPlan(goal="A calculator", steps=(Step(text="add"),)))
        session = (await ann.load()).session
        assert session.plan
        approve = c.Approve(version=session.plan.version, hash=session.plan.hash)
        valid = decide(session, approve, Story(session).meta(approve))
        forged: tuple[dict[str, Any], ...] = (
            {"hash": "deadbeef"},
            {"plan_version": 99},
            {"actor": "planner", "hash": ""},
            {"actor": "planner"},
            {"turn": 1, "actions": (CANCEL_SPEC,)},
        )
        for fields in forged:
            loaded = await ann.load()
            await append_as(nats, "gateway", loaded, as_next_event(loaded, valid, **fields))
        assert await refusal_reasons(bus, session_id) == [
            "its hash is not that of plan 2: load the session and decide again",
            "version 99 is not in review: load the session and decide again",
            "its hash is not that of plan 2: load the session and decide again",
            "its actor is “planner”, but only a person (user:<id>) says this",
            "its turn is 1, but with this plan it must be None: load the session and decide again",
        ]
        await ann.does(approve)
        await ann.phase("verifying")
        assert len(model.prompts) == 1, "the generator asked the model once, for the one stored approval"
        assert [event.type for event in await ann.events()].count("plan.approved") == 1


async def test_only_a_users_approval_of_this_call_lets_a_write_run(
    settings: Settings, nats: NatsServer, bus: Bus, session_id: str
) -> None:
    replies = (turn(WHO), turn(LOOK), turn(CANCEL, final=True), answer("It is cancelled."))
    async with open_session(settings, bus, session_id, *replies, world="own") as (ann, _):
        waiting = await ann.phase("awaiting_approval")
        [action] = undecided_actions(waiting.turn)
        approve = c.Approve(version=waiting.version, action_id=action.spec.id, hash=action.hash)
        valid = decide(waiting, approve, Story(waiting).meta(approve))
        planned = [event for event in await ann.events() if isinstance(event, facts.TurnPlanned)][-1]
        without_approval = tuple(
            spec.model_copy(update={"decision": "proceed", "approval_reason": None}) for spec in planned.actions
        )
        envelope = {name: getattr(planned, name) for name in ("id", "session_id", "version", "at")}
        question = facts.QuestionAsked(
            **envelope,
            actor="generator",
            question_id=action.spec.id,
            kind="uncertain",
            text="The shop was slow just now. Shall I go on?",
            options=UNCERTAIN_OPTIONS,
        )
        answered = facts.QuestionAnswered(
            **envelope, actor="gateway", question_id=action.spec.id, text="x", key="again"
        )
        policy_set = facts.PolicySet(**envelope, actor="gateway", tool=CANCEL.tool, policy="never")
        budget_raised = facts.BudgetRaised(**envelope, actor="gateway", tokens=1)
        forged: tuple[tuple[str, SessionEvent, dict[str, Any]], ...] = (
            ("gateway", valid, {"hash": "deadbeef"}),
            ("gateway", valid, {"actor": "planner", "hash": ""}),
            ("gateway", valid, {"actor": "planner"}),
            ("gateway", valid, {"action_id": "9.9"}),
            ("planner", planned, {"actions": without_approval}),
            ("planner", planned, {"actions": without_approval, "actor": f"user:{waiting.owner}"}),
            ("generator", question, {}),
            ("gateway", answered, {}),
            ("gateway", policy_set, {}),
            ("gateway", budget_raised, {}),
        )
        for user, event, fields in forged:
            loaded = await ann.load()
            await append_as(nats, user, loaded, as_next_event(loaded, event, **fields))
        assert [why.partition(":")[0] for why in await refusal_reasons(bus, session_id)] == [
            f"its hash is not that of action {action.spec.id}",
            f"its hash is not that of action {action.spec.id}",
            "its actor is “planner”, but only a person (user",
            "action 9.9 does not wait for approval",
            *["no service is due"] * 3,
            f"no question of {action.spec.id} is open",
            *["its actor is “gateway”, but only a person (user"] * 2,
        ]
        assert (await ann.load()).session == waiting
        assert (await stored(settings, f"session:{session_id}"))["status"] == "pending"
        await ann.allows()
        await ann.phase("resting")
        assert (await stored(settings, f"session:{session_id}"))["status"] == "cancelled"
        events = await ann.events()
        assert [event.begins for event in events if event.begins] == [("1.1",), ("2.1",)]
        starts = [event for event in events if isinstance(event, facts.ActionsStarted)]
        assert [action.action_id for start in starts for action in start.actions] == [action.spec.id]


@pytest.mark.parametrize(
    ("understated", "reason"),
    [
        ({"policy": "never"}, "it changes something; the plan would not have asked you"),
        ({"effect": "read"}, "it changes something; the plan says that it only reads"),
    ],
)
async def test_a_planner_cannot_make_the_executor_run_an_unapproved_write(
    settings: Settings, nats: NatsServer, bus: Bus, session_id: str, understated: dict[str, Any], reason: str
) -> None:
    async with working(settings, ScriptedModel(), "executor"):
        ann = Person(bus, session_id)
        await ann.does(c.Say(text="Cancel my order", workflow="agentflow"))
        loaded = await ann.load()
        command = c.PlanTurn(sub_goal="Cancel", actions=(CANCEL_SPEC,))
        valid = decide(loaded.session, command, Story(loaded.session).meta(command))
        without_approval = CANCEL_SPEC.model_copy(update={"decision": "proceed", "approval_reason": None} | understated)
        await append_as(nats, "planner", loaded, valid.model_copy(update={"actions": (without_approval,)}))
        waiting = await ann.phase("awaiting_approval")
        assert [action.spec.approval_reason for action in undecided_actions(waiting.turn)] == [reason]
        types = [event.type for event in await ann.events()]
        assert types == ["message.received", "turn.planned", "turn.changed"]
