"""Generates the reply schemas in shared/contracts/model.json. Its tasks, roles and sections are written by hand."""

import json
from pathlib import Path

from flows.text_to_sql import prompts
from flows.yaml_flow import reply_of
from flows.yaml_form import read_form
from parley.reply import Reply
from services.generator.agentflow import AnswerReply, TaskReply
from services.generator.conversation import CodeReply
from services.planner.agentflow_prompt import TurnReply
from services.planner.conversation import PlanReply
from services.planner.execution_plan_prompt import StepsReply
from services.planner.flow_prompt import PathReply
from services.verifier.agentflow import TurnVerdictReply
from services.verifier.conversation import TestsReply, VerdictReply

ROOT = Path(__file__).resolve().parent.parent
CONTRACT = ROOT / "shared" / "contracts" / "model.json"
TRIAGE = ROOT / "flows" / "complaint_triage.yaml"
REPLIES: dict[str, type[Reply]] = {
    "text_plan": PlanReply,
    "turn": TurnReply,
    "execution_plan": StepsReply,
    "path": PathReply,
    "code": CodeReply,
    "answer": AnswerReply,
    "task": TaskReply,
    "tests": TestsReply,
    "verdict": VerdictReply,
    "turn_verdict": TurnVerdictReply,
    "classify_prompt": prompts.ClassifyReply,
    "rewrite_prompt": prompts.RewriteReply,
    "get_relevant_tables": prompts.RelevantReply,
    "trim_relevant_tables": prompts.TrimReply,
    "generate_sql": prompts.GenerateReply,
    "format_final_response": prompts.FormatReply,
    "general_questions": prompts.GeneralReply,
}


def replies() -> dict[str, type[Reply]]:
    """The reply model of each task, also for the nodes of the YAML flow."""
    form = read_form(TRIAGE)
    model_nodes = {name: node for name, node in form.nodes.items() if node.prompt is not None}
    return REPLIES | {f"{form.name}.{name}": reply_of(name, node) for name, node in model_nodes.items()}


def contract() -> str:
    """The text of the file with fresh schemas. Raises KeyError for a task without a reply."""
    known = replies()
    tasks = json.loads(CONTRACT.read_text("utf-8"))
    return json.dumps(
        {task: {**entry, "reply": known[task].model_json_schema()} for task, entry in tasks.items()},
        indent=2,
        ensure_ascii=False,
    )
