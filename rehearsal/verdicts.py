"""Judges a run: its exit code, its errors, and whether it said anything."""

import json
import re
from contextlib import suppress
from typing import Any

from rehearsal.plans import read_plan
from rehearsal.prompt import Prompt

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
    """Status and its reason: of the first run that did not succeed, else of the last."""
    verdicts = [judge_one(*one) for one in read_runs(run)]
    return next((verdict for verdict in verdicts if verdict[0] != "success"), verdicts[-1])


def read_runs(run: str) -> list[tuple[str, str, str]]:
    """Exit code, standard output and the rest of each run: one JSON object a line, or one run as plain text."""
    found = []
    for line in run.splitlines():
        with suppress(ValueError):
            told = json.loads(line)
            if isinstance(told, dict) and "exit_code" in told:
                rest = f"{told.get('stderr', '')}\n{str(told.get('ended', '')).replace('_', ' ')}"
                found.append((str(told["exit_code"]), str(told.get("stdout", "")), rest))
    if found:
        return found
    code, output = _EXIT.search(run), _STDOUT.search(run)
    return [(code[1] if code else "unknown", output[1] if output else "", run)]


def judge_one(code: str, stdout: str, rest: str) -> tuple[str, str]:
    """Status and reason of one run."""
    error = (_ERROR.findall(rest) or [""])[-1]
    if code != "0":
        why = error or ("it ran too long" if _TIME.search(rest) else "the reason is not in its output")
        return "failure", f"The program ended with exit code {code}: {why}."
    if "Traceback (most recent call last)" in rest:
        return "failure", f"The program reported an error: {error or 'see its output'}."
    if not stdout.strip():
        return "partial", "The program ended well but printed nothing."
    return "success", f"The program ended with exit code 0 and printed {len(stdout.strip().splitlines())} lines."
