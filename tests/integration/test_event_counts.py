"""How many events the README's three sessions come to: what is stored is what everybody reads, folds and keeps."""

import re
from pathlib import Path

from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.decide import AnyCommand
from shared.domain.session import Session
from shared.domain.state import Action
from shared.settings import Settings
from tests.support.rehearsal_server import rehearsal_server
from tests.support.stack import Person, working

# The type of every stored event, in order. README.md and docs/architecture.md show the same three sessions.
APPROVED_CODE = ["message.received", "plan.drafted", "plan.approved", "code.drafted", "code.verified", "code.approved"]
WAVE = ["actions.started", "actions.finished"]
READ = ["turn.planned", "actions.finished", "turn.verified"]  # a quiet one: it begins with the turn
TWO_READS = ["turn.planned", "actions.finished", "actions.finished", "turn.verified"]
CANCELLED_ORDER = [
    "message.received",
    *READ,
    *TWO_READS,
    *("turn.planned", "approval.given", *WAVE, "turn.verified"),
    "answer.given",
]
DATA_QUESTION = [
    *("message.received", "turn.planned", *WAVE * 3),
    *("question.asked", "question.answered", *WAVE * 4),
    *("turn.changed", "approval.given", *WAVE * 2),
    *("turn.verified", "answer.given"),
]
ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "README.md", ROOT / "docs" / "architecture.md")


def test_the_readme_has_the_same_counts() -> None:
    """The number of each row that these sessions end with."""
    text = "\n".join(path.read_text("utf-8") for path in DOCUMENTS)
    rows = re.findall(r"^\| (?:\d+–)?(\d+) \| `(?:\w+)\.([\w.]+)`", text, re.MULTILINE)
    ends = [int(number) for number, kind in rows if kind in ("code.approved", "answer.given")]
    assert ends == [len(APPROVED_CODE), len(CANCELLED_ORDER), len(DATA_QUESTION)] == [6, 14, 26]


async def plays(settings: Settings, bus: Bus, session_id: str, request: c.Say) -> list[str]:
    """The session's events, for a person who says yes to everything."""
    person = Person(bus, session_id)
    async with rehearsal_server(settings) as server, working(server.settings, server.model):
        await person.does(request)
        while (
            session := await person.sees(lambda s: s.is_awaiting_user or s.phase in ("resting", "failed"))
        ).is_awaiting_user:
            await person.does(yes(session))
        assert session.phase == "resting", session.failure
        assert session.spent.calls == len(await server.calls())
    return [event.type for event in await person.events()]


def yes(session: Session) -> AnyCommand:
    if session.question:
        return c.Answer(text="yes")
    if session.turn:
        action = next(action_to_approve for action_to_approve in session.turn.actions if waits(action_to_approve))
        return c.Approve(version=session.version, action_id=action.spec.id, hash=action.hash)
    item = session.code or session.plan
    assert item
    return c.Approve(version=item.version, hash=item.hash)


def waits(action: Action) -> bool:
    return action.status == "planned" and action.spec.approval_reason is not None


async def test_a_conversation_to_approved_code(settings: Settings, bus: Bus, session_id: str) -> None:
    request = c.Say(text="Help me create a simple calculator")
    assert await plays(settings, bus, session_id, request) == APPROVED_CODE


async def test_a_cancelled_order(settings: Settings, bus: Bus, session_id: str) -> None:
    text = "My name is Tara Foster, zip 95837. Cancel order #W3833642, I no longer need it."
    assert await plays(settings, bus, session_id, c.Say(text=text, workflow="agentflow")) == CANCELLED_ORDER


async def test_a_question_to_the_data(settings: Settings, bus: Bus, session_id: str) -> None:
    request = c.Say(text="Which 5 states have the most pending orders?", workflow="flow")
    assert await plays(settings, bus, session_id, request) == DATA_QUESTION
