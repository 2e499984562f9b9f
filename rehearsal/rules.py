"""The whole model: one function from a prompt to a reply."""

from typing import Any

from rehearsal.coding import answer_code, answer_tests
from rehearsal.examples import INTRODUCTION
from rehearsal.flows.complaints import answer_complaint, assess_complaint, write_reply
from rehearsal.flows.path_planning import answer_path
from rehearsal.flows.text_to_sql import (
    answer_classify,
    answer_format,
    answer_general,
    answer_generate,
    answer_rewrite,
    answer_tables,
    answer_trim,
)
from rehearsal.prompt import ParsedPrompt
from rehearsal.refusals import answer_remark
from rehearsal.replies import remark_answer
from rehearsal.retail.answers import answer_answer
from rehearsal.retail.execution_plans import answer_execution_plan
from rehearsal.retail.task_drafts import answer_task
from rehearsal.retail.turns import answer_turn
from rehearsal.text_plans import answer_plan
from rehearsal.verdicts import answer_turn_verdict, answer_verdict

TASKS = {
    "text_plan": answer_plan,
    "code": answer_code,
    "tests": answer_tests,
    "verdict": answer_verdict,
    "turn": answer_turn,
    "turn_verdict": answer_turn_verdict,
    "answer": answer_answer,
    "task": answer_task,
    "execution_plan": answer_execution_plan,
    "path": answer_path,
    "classify_prompt": answer_classify,
    "rewrite_prompt": answer_rewrite,
    "get_relevant_tables": answer_tables,
    "trim_relevant_tables": answer_trim,
    "generate_sql": answer_generate,
    "format_final_response": answer_format,
    "general_questions": answer_general,
    "complaint_triage.classify_complaint": answer_complaint,
    "complaint_triage.assess": assess_complaint,
    "complaint_triage.write_reply": write_reply,
}


def answer(prompt: ParsedPrompt) -> dict[str, Any] | str:
    """The reply as an object; the introduction as text for a prompt of no known task."""
    task = TASKS.get(prompt.task)
    if task is None:
        return INTRODUCTION
    reply = answer_remark(prompt) or task(prompt)
    if reply["kind"] == "question" and prompt["waiting"]:  # beside what waits nothing is asked
        reply = remark_answer("\n".join((reply["text"], "", *(f"- {option}" for option in reply["options"]))).strip())
    return {"reply": reply}
