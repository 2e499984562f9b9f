"""The replies to the tasks `verdict` and `turn_verdict`: of a run by its output, of a turn by how its calls ended."""

import re
from typing import Any

from rehearsal.explicit_calls import call_results
from rehearsal.prompt import ParsedPrompt
from rehearsal.retail.request_state import read_state
from rehearsal.retail.resolution import resolve
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


def answer_turn_verdict(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `turn_verdict`."""
    ids, state = {line.split(" ", 1)[0] for line in prompt.lines("actions")}, read_state(prompt)
    actions = [past for past in state.past_calls if past.id in ids]
    left = call_results(prompt) is None and resolve(state).is_open
    bad = [past for past in actions if not past.succeeded]
    status = "success" if not bad else "partial" if len(bad) < len(actions) else "failure"
    following = "complete" if not left else "retry" if status == "failure" else "continue"
    if any(past.status == "uncertain" for past in bad):
        following = "escalate"
    analysed = [f"{past.tool} {'answered' if past.succeeded else f'ended as {past.status}'}" for past in actions]
    return {
        "kind": "verdict",
        "execution_analysis": "; ".join(analysed) or "No action was carried out.",
        "memory_analysis": "The rehearsal model looks at the results only.",
        "status": status,
        "next_action": following,
        "reasoning": "More is left to be done." if left else "Everything that was asked for is done or known.",
        "sub_goals": [],
    }
