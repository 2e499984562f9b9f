"""The reply to the task `verdict`: judges a run by its exit code, errors and output."""

import re
from typing import Any

from rehearsal.prompt import ParsedPrompt
from rehearsal.text_plans import read_plan

_ERROR = re.compile(r"^\w*(?:Error|Exception|Interrupt|Exit)\b.*", re.MULTILINE)
_ENDED = re.compile(r"^(exit code -?\d+|ended: \w+)$", re.MULTILINE)
NEXT = {"success": "complete", "partial": "retry", "failure": "retry"}


def answer_verdict(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `verdict`: of the last run."""
    runs = [str(call["result"]) for call in prompt.calls() if call["tool"] == "run_code"]
    status, analysis = judge(runs[-1]) if runs else ("failure", "There is no run to judge.")
    goal = read_plan(prompt.plan).goal or prompt["request"]
    return {
        "kind": "verdict",
        "execution_analysis": analysis,
        "status": status,
        "next_action": NEXT[status] if runs else "escalate",
        "reasoning": f"Goal: {goal} A run succeeds when it ends with exit code 0 and prints something. {analysis}",
    }


def judge(run: str) -> tuple[str, str]:
    """Status and reason of a run, told as its exit code, or how it ended, and what it printed."""
    ended = _ENDED.search(run)
    printed = run[ended.end() :].strip() if ended else run.strip()
    error = (_ERROR.findall(printed) or [""])[-1]
    if ended is None or ended[1] != "exit code 0":
        how = ended[1].replace("exit", "with exit").replace("ended: ", "early: ") if ended else "before it began"
        return "failure", f"The program ended {how}: {error or printed or 'it gave no reason'}."
    if "Traceback (most recent call last)" in printed:
        return "failure", f"The program reported an error: {error or 'see its output'}."
    if not printed:
        return "partial", "The program ended well but printed nothing."
    return "success", f"The program ended with exit code 0 and printed {len(printed.splitlines())} lines."
