"""Runs the pack, flow and plugins of the installed template: `python -m tests.support.template_run FOLDER`.

All services run in this process, on a bus in memory, with a scripted model. The program prints the results as JSON.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, cast

from parley.events import facts
from parley.events.values import Planning, SessionSettings
from services.generator.agentflow import AnswerDraft
from services.planner.agentflow_prompt import Planned, TurnDraft
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.llm import ScriptedModel
from shared.settings import Settings
from shared.testing import InMemoryStore
from tests.support.bus import FakeBus
from tests.support.stack import Person, working

ADD = Planned(tool="add_note", arguments={"text": "Bring tea"}, text="Add it")
LIST = Planned(tool="list_notes", arguments={})
REPLIES = (
    TurnDraft(sub_goal="add it", actions=[ADD]),  # breaks a rule of the pack, so the planner must plan again
    TurnDraft(sub_goal="read them", actions=[LIST]),
    TurnDraft(sub_goal="add it", actions=[ADD], final=True),
    AnswerDraft(text="It is noted.", confidence=1),
)


async def notes(bus: FakeBus, model: ScriptedModel) -> dict[str, Any]:
    """The pack refuses the first draft; then the notes are read, and a note is approved, added and confirmed."""
    ann = Person(cast(Bus, bus), "notes")
    await ann.does(c.Say(text="Note: bring tea", workflow="agentflow"))
    waiting = await ann.phase("awaiting_approval")
    action = next(action for action in waiting.turn.actions if action.spec.tool == "add_note") if waiting.turn else None
    assert action
    await ann.does(c.Approve(version=waiting.version, action_id=action.spec.id, hash=action.hash))
    done = await ann.phase("resting", "failed")
    events = await ann.events()
    outcomes = [outcome for event in events if isinstance(event, facts.ActionsFinished) for outcome in event.outcomes]
    return {
        "nudge": "list_notes first" in model.prompts[1].text,
        "rules": "Read the notes before you add one." in model.prompts[0].text,
        "outcomes": [outcome.model_dump(mode="json", include={"ok", "result", "confirmed"}) for outcome in outcomes],
        "verdicts": [event.rule for event in events if isinstance(event, facts.TurnVerified)],
        "answer": done.answer.text,
    }


async def words(bus: FakeBus) -> str:
    """The answer of the flow."""
    ann = Person(cast(Bus, bus), "words")
    settings = SessionSettings(planning=Planning(use_planning=False, flow="count_words"), confirm="nothing")
    await ann.does(c.Say(text="one two three", workflow="flow", settings=settings))
    return (await ann.phase("resting", "failed")).answer.text


async def plan(bus: FakeBus) -> dict[str, Any]:
    """A plan of the template's generator, approved unchanged; the template's step executor records its steps."""
    from parley_notes.executor import JOURNAL  # type: ignore[import-not-found]  # noqa: PLC0415  installed by the test

    ann = Person(cast(Bus, bus), "plan")
    settings = SessionSettings(generator="each-line", world="own")
    await ann.does(c.Say(text="Bring tea\nBring cups", workflow="execution_plan", settings=settings))
    session = await ann.phase("awaiting_approval", "failed")
    assert session.plan, session.failure
    await ann.does(c.Approve(version=session.plan.version, hash=session.plan.hash))
    done = await ann.phase("resting", "failed")
    assert done.turn
    return {
        "goal": session.plan.goal,
        "effects": [step.effect for step in session.plan.steps],
        "notes": done.turn.actions[-1].result,
        "journal": JOURNAL,
    }


async def main(home: Path) -> None:
    bus, model = FakeBus(), ScriptedModel(*REPLIES)
    store = InMemoryStore(bus.log)
    listed = {"parley_step_executors": "journalled", "parley_plan_generators": "model,each-line"}
    async with working(Settings.model_validate({"parley_home": home, **listed}), model, within=(bus, store)):
        print(json.dumps({"notes": await notes(bus, model), "words": await words(bus), "plan": await plan(bus)}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
