"""The stored events of the sessions in README.md and docs/architecture.md, and of a question to the data."""

import re
from pathlib import Path

from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.rules.decide import AnyCommand
from shared.settings import Settings
from tests.support.rehearsal_server import rehearsal_server
from tests.support.stack import Person, working

# The type of every stored event, in order.
APPROVED_CODE = ["message.received", "plan.drafted", "plan.approved", "code.drafted", "code.verified", "code.approved"]
BATCH = ["actions.started", "actions.finished"]
READ = ["turn.planned", "actions.finished", "turn.verified"]  # a quiet read: turn.planned also starts it
TWO_READS = ["turn.planned", "actions.finished", "actions.finished", "turn.verified"]
CANCELLED_ORDER = [
    "message.received",
    *READ,
    *TWO_READS,
    *("turn.planned", "approval.given", *BATCH, "turn.verified"),
    "answer.given",
]
DATA_QUESTION = [
    *("message.received", "turn.planned", *BATCH * 3),
    *("question.asked", "question.answered", *BATCH * 4),
    *("turn.changed", "approval.given", *BATCH * 2),
    *("turn.verified", "answer.given"),
]
ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "README.md", ROOT / "docs" / "architecture.md")


def test_the_documents_have_the_same_counts() -> None:
    """The last row of each session in the tables has its number of events."""
    text = "\n".join(path.read_text("utf-8") for path in DOCUMENTS)
    rows = re.findall(r"^\| (?:\d+–)?(\d+) \| `(?:\w+)\.([\w.]+)`", text, re.MULTILINE)
    counts = [int(number) for number, kind in rows if kind in ("code.approved", "answer.given")]
    assert counts == [len(APPROVED_CODE), len(CANCELLED_ORDER)] == [6, 14]


async def event_types(settings: Settings, bus: Bus, session_id: str, request: c.Say) -> list[str]:
    """Run the request for a user who agrees to everything. Returns the types of the session's events."""
    person = Person(bus, session_id)
    async with rehearsal_server(settings) as server, working(server.settings, server.model):
        await person.does(request)
        while (
            session := await person.sees(lambda s: s.is_awaiting_user or s.phase in ("resting", "failed"))
        ).is_awaiting_user:
            await person.does(agreement(session))
        assert session.phase == "resting", session.failure
        assert session.spent.calls == len(await server.calls())
    return [event.type for event in await person.events()]


def agreement(session: Session) -> AnyCommand:
    if session.question:
        return c.Answer(text="yes")
    if session.turn:
        action = next(action for action in session.turn.actions if awaits_approval(action))
        return c.Approve(version=session.version, action_id=action.spec.id, hash=action.hash)
    item = session.code or session.plan
    assert item
    return c.Approve(version=item.version, hash=item.hash)


def awaits_approval(action: Action) -> bool:
    return action.status == "planned" and action.spec.approval_reason is not None


async def test_the_events_of_a_conversation_until_its_code_is_approved(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    request = c.Say(text="Help me create a simple calculator")
    assert await event_types(settings, bus, session_id, request) == APPROVED_CODE


async def test_the_events_of_a_cancelled_order(settings: Settings, bus: Bus, session_id: str) -> None:
    text = "My name is Tara Foster, zip 95837. Cancel order #W3833642, I no longer need it."
    assert await event_types(settings, bus, session_id, c.Say(text=text, workflow="agentflow")) == CANCELLED_ORDER


async def test_the_events_of_a_question_about_data(settings: Settings, bus: Bus, session_id: str) -> None:
    request = c.Say(text="Which 5 states have the most pending orders?", workflow="flow")
    assert await event_types(settings, bus, session_id, request) == DATA_QUESTION
