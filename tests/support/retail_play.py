"""Plays a request through the rehearsal model and a retail store in memory, without services: the plainest agent loop.

Every write is approved at once; questions are answered from a list. For tests and benchmarks of the model's rules.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from retail.policy import RULES
from retail.specs import SPECS
from retail.tasks.replay import Changed, Replay, Shop
from retail.tasks.task import TaskCall
from services.rehearsal.prompt import read_prompt
from services.rehearsal.rules import answer
from services.rehearsal.wire import ChatMessage
from shared.llm.sections import prompt

TURNS = 12
DEFAULT = "Whatever you think is best."
TOOLS = [
    json.dumps({"name": one.name, "description": one.description, "effect": one.effect, "parameters": one.parameters})
    for one in SPECS
]


@dataclass
class Played:
    """What came of a request. `calls` counts those of the model, the answer's among them."""

    deeds: list[dict[str, Any]] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    answer: str = ""
    confidence: float = 0.0
    evidence: list[str] = field(default_factory=list)
    calls: int = 0
    changed: Changed = field(default_factory=dict)
    planned: list[dict[str, Any]] = field(default_factory=list)


def model(role: Any, task: str, sections: Mapping[str, Any]) -> dict[str, Any]:
    """One call of the rehearsal model, through the text of a prompt."""
    messages = [ChatMessage(role=one["role"], content=one["content"]) for one in prompt(role, task, "", sections)]
    reply = answer(read_prompt(messages))
    assert isinstance(reply, dict), reply
    return reply


def play(request: str, shop: Shop, replies: Sequence[str] = (), *, turns: int = TURNS) -> Played:
    """Turn by turn until the planner has nothing left to do, then the answer."""
    played, world, left = Played(), shop.fresh(), list(replies)
    said: list[str] = []
    for turn in range(1, turns + 1):
        sections = _sections(request, said, played)
        planned = model("planner", "turn", {"rules": RULES, "tools": TOOLS, "turn": f"{turn} of {turns}", **sections})
        played.calls += 1
        played.planned.append(planned)
        if planned["question"]:
            played.questions.append(planned["question"])
            said.append(f"Q: {planned['question']}\nA: {left.pop(0) if left else DEFAULT}")
            continue
        _carry_out(planned["actions"], turn, world, played)
        if not planned["actions"] or (planned["final"] and _fine(played, turn)):
            break
    given = model("generator", "answer", _sections(request, said, played))
    played.calls += 1
    played.answer, played.confidence, played.evidence = given["answer"], given["confidence"], given["evidence"]
    played.changed = world.changed
    return played


def expected(calls: Sequence[Mapping[str, Any]], shop: Shop) -> Changed:
    """What differs in the store after these calls."""
    return shop.after([TaskCall.model_validate(call) for call in calls])


def _sections(request: str, said: Sequence[str], played: Played) -> dict[str, Any]:
    return {"request": request, "dialogue": said, "executed": [json.dumps(deed) for deed in played.deeds]}


def _carry_out(actions: Sequence[Mapping[str, Any]], turn: int, world: Replay, played: Played) -> None:
    failed: set[int] = set()
    for number, action in enumerate(actions, 1):
        skipped = bool(failed & set(action["depends_on"]))
        result = "" if skipped else world.call(action["tool"], action["arguments"])
        status = "skipped" if skipped else "failed" if result.startswith(("Error", "Unknown")) else "finished"
        failed |= {number} if status != "finished" else set()
        deed = {"id": f"{turn}.{number}", "turn": turn, "tool": action["tool"], "arguments": action["arguments"]}
        played.deeds.append({**deed, "status": status, "result": result})


def _fine(played: Played, turn: int) -> bool:
    return all(deed["status"] == "finished" for deed in played.deeds if deed["turn"] == turn)
