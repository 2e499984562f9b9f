"""Judges a run: its exit code, its errors, and whether it said anything."""

import re
from typing import Any

from services.rehearsal.plans import read_plan
from services.rehearsal.prompt import Prompt

_EXIT = re.compile(r"\bexit(?:[ _]?(?:code|status))?\W+(-?\d+|none|null)", re.IGNORECASE)
_STDOUT = re.compile(r"stdout:?[ \t]*(.*?)(?=^\W*stderr\b|\Z)", re.IGNORECASE | re.DOTALL | re.MULTILINE)
_ERROR = re.compile(r"^\w*(?:Error|Exception|Interrupt|Exit)\b.*", re.MULTILINE)
_TIME = re.compile(r"\b(timed out|timeout|time limit)\b", re.IGNORECASE)
NEXT = {"success": "complete", "partial": "retry", "failure": "retry"}


def answer_verdict(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `verdict`."""
    run = prompt["run"]
    status, analysis = judge(run) if run.strip() else ("failure", "There is no run to judge.")
    goal = read_plan(prompt["plan"]).goal or prompt["request"]
    return {
        "status": status,
        "next_action": NEXT[status] if run.strip() else "escalate",
        "execution_analysis": analysis,
        "memory_analysis": "The rehearsal model looks at this run only.",
        "reasoning": f"Goal: {goal} A run succeeds when it ends with exit code 0 and prints something. {analysis}",
    }


def judge(run: str) -> tuple[str, str]:
    """Status and its reason."""
    code = _EXIT.search(run)
    output = _STDOUT.search(run)
    printed = output[1].strip() if output else ""
    if not code or code[1] != "0":
        error = _ERROR.findall(run)
        why = error[-1] if error else "it ran too long" if _TIME.search(run) else "the reason is not in its output"
        return "failure", f"The program ended with exit code {code[1] if code else 'unknown'}: {why}."
    if "Traceback (most recent call last)" in run:
        return "failure", f"The program reported an error: {(_ERROR.findall(run) or ['see its output'])[-1]}."
    if not printed:
        return "partial", "The program ended well but printed nothing."
    return "success", f"The program ended with exit code 0 and printed {len(printed.splitlines())} lines."
