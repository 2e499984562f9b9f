"""Plans of calls for a customer of the store: who it is, the orders that are named, and cancelling them."""

import re
from typing import Any

from rehearsal.prompt import Prompt
from rehearsal.refusals import effective_request, refuse
from rehearsal.replies import question
from rehearsal.retail.identity import ASK_IDENTITY, emails
from rehearsal.retail.requests import ORDER_ID
from rehearsal.tooluse import asked_calls

_CANCEL = re.compile(r"(?i)\bcancel")
_LOOK = re.compile(r"(?i)\b(?:what|where|show|look)")
_MISTAKE = re.compile(r"(?i)\bmistake\b")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+|\band\b|\bthen\b")
Step = dict[str, Any]


def answer_execution_plan(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `execution_plan`."""
    request = effective_request(prompt)
    said = "\n".join([request, *(answer for _, answer in prompt.dialogue()), *prompt.lines("feedback")])
    steps = _spelled_out(said, prompt) or _of_the_store(said)
    if not steps:
        return refuse("execution_plan", request, prompt)
    if steps[0]["tool"] == "find_user_id_by_email" and not emails(said):
        return question(ASK_IDENTITY)
    return {"kind": "plan", "goal": request[:400], "steps": steps, "notes": ""}


def _spelled_out(said: str, prompt: Prompt) -> list[Step]:
    """`Call x with {…}`, one after the other."""
    known = {str(line.get("name")) for line in prompt.objects("tools")}
    calls = asked_calls(said, known)
    return [
        _step(f"s{number}", one.tool, one.arguments, f"Call {one.tool}", [f"s{number - 1}"] if number > 1 else [])
        for number, one in enumerate(calls, 1)
    ]


def _of_the_store(said: str) -> list[Step]:
    """First who it is; then each order that is named is looked up, and cancelled where its sentence says so."""
    orders: dict[str, bool] = {}
    cancels = False
    for sentence in _SENTENCE.split(said):
        cancels = bool(_CANCEL.search(sentence)) or (cancels and not _LOOK.search(sentence))
        for number in ORDER_ID.findall(sentence):
            orders[f"#W{number}"] = orders.get(f"#W{number}", False) or cancels
    if not orders:
        return []
    mail = next(iter(emails(said)), "")
    steps = [_step("s1", "find_user_id_by_email", {"email": mail}, f"Find the customer {mail}", [])]
    for order, cancelled in orders.items():
        look = f"s{len(steps) + 1}"
        steps.append(_step(look, "get_order_details", {"order_id": order}, f"Look up order {order}", ["s1"]))
        if cancelled:
            reason = "ordered by mistake" if _MISTAKE.search(said) else "no longer needed"
            arguments = {"order_id": order, "reason": reason}
            steps.append(
                _step(f"s{len(steps) + 1}", "cancel_pending_order", arguments, f"Cancel order {order}", [look])
            )
    return steps


def _step(step_id: str, tool: str, arguments: dict[str, Any], text: str, after: list[str]) -> Step:
    return {"id": step_id, "tool": tool, "arguments": arguments, "text": text, "after": after}
