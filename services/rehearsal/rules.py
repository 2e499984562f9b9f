"""The whole model: one function from a prompt to a reply."""

from typing import Any

from services.rehearsal.catalogue import INTRODUCTION
from services.rehearsal.coding import answer_code, answer_tests
from services.rehearsal.plans import answer_plan
from services.rehearsal.prompt import Prompt
from services.rehearsal.retail.answers import answer_answer
from services.rehearsal.retail.drafts import answer_task
from services.rehearsal.retail.turns import answer_turn
from services.rehearsal.retail.verdicts import answer_turn_verdict
from services.rehearsal.verdicts import answer_verdict

TASKS = {
    "text_plan": answer_plan,
    "code": answer_code,
    "tests": answer_tests,
    "verdict": answer_verdict,
    "turn": answer_turn,
    "turn_verdict": answer_turn_verdict,
    "answer": answer_answer,
    "task": answer_task,
}


def answer(prompt: Prompt) -> dict[str, Any] | str:
    """The reply as an object; a plain sentence for prompts that are not Parley's."""
    task = TASKS.get(prompt.task)
    return task(prompt) if task else INTRODUCTION
