"""The reply to the task `verdict`: judges a run by its exit code, errors and output."""

import re
from typing import Any

from rehearsal.prompt import ParsedPrompt
from rehearsal.text_plans import read_plan

_ERROR = re.compile(r"^\w*(?:Error|Exception|Interrupt|Exit)\b.*", re.MULTILINE)
NEXT = {"success": "complete", "partial": "retry", "failure": "retry"}


def answer_verdict(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `verdict`: of the first run that did not succeed, else of the last."""
    verdicts = [judge(run) for run in prompt.objects("run") if "exit_code" in run]
    no_run = ("failure", prompt["run"].strip() or "There is no run to judge.")
    status, analysis = next(
        (verdict for verdict in verdicts if verdict[0] != "success"), verdicts[-1] if verdicts else no_run
    )
    goal = read_plan(prompt["plan"]).goal or prompt["request"]
    return {
        "kind": "verdict",
        "execution_analysis": analysis,
        "status": status,
        "next_action": NEXT[status] if prompt["run"].strip() else "escalate",
        "reasoning": f"Goal: {goal} A run succeeds when it ends with exit code 0 and prints something. {analysis}",
    }


def judge(run: dict[str, Any]) -> tuple[str, str]:
    """Status and reason of one run, as the sandbox describes it."""
    code, stdout, stderr = run["exit_code"], str(run.get("stdout", "")).strip(), str(run.get("stderr", ""))
    error = (_ERROR.findall(stderr) or [""])[-1]
    if code != 0:
        ended = str(run.get("ended", "")).replace("_", " ")
        why = error or stderr.strip() or (f"it was ended: {ended}" if ended != "exited" else "it gave no reason")
        return "failure", f"The program ended with exit code {code}: {why}."
    if "Traceback (most recent call last)" in stderr:
        return "failure", f"The program reported an error: {error or 'see its output'}."
    if not stdout:
        return "partial", "The program ended well but printed nothing."
    return "success", f"The program ended with exit code 0 and printed {len(stdout.splitlines())} lines."
