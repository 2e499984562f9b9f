"""The reply to the task `execution_plan`: find the customer, look up the named orders, and cancel them."""

import re
from typing import Any

from rehearsal.explicit_calls import explicit_calls
from rehearsal.prompt import ParsedPrompt
from rehearsal.refusals import effective_request, refuse
from rehearsal.replies import question
from rehearsal.retail.customer_requests import ORDER_ID
from rehearsal.retail.identity import ASK_IDENTITY, emails

_CANCEL = re.compile(r"(?i)\bcancel")
_LOOK = re.compile(r"(?i)\b(?:what|where|show|look)")
_MISTAKE = re.compile(r"(?i)\bmistake\b")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+|\band\b|\bthen\b")
Step = dict[str, Any]


def answer_execution_plan(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `execution_plan`."""
    request = effective_request(prompt)
    text = "\n".join([request, *(answer for _, answer in prompt.dialogue()), *prompt.lines("feedback")])
    steps = _spelled_out(text, prompt) or _of_the_store(text)
    if not steps:
        return refuse("execution_plan", request, prompt)
    if steps[0]["tool"] == "find_user_id_by_email" and not emails(text):
        return question(ASK_IDENTITY)
    return {"kind": "plan", "goal": request[:400], "steps": steps, "notes": ""}


def _spelled_out(text: str, prompt: ParsedPrompt) -> list[Step]:
    """`Call x with {…}`, one after the other."""
    known = {str(line.get("name")) for line in prompt.objects("tools")}
    calls = explicit_calls(text, known)
    return [
        _step(f"s{number}", call.tool, call.arguments, f"Call {call.tool}", [f"s{number - 1}"] if number > 1 else [])
        for number, call in enumerate(calls, 1)
    ]


def _of_the_store(text: str) -> list[Step]:
    """Find the customer, then look up each named order, and cancel it if its sentence says so."""
    orders: dict[str, bool] = {}
    cancels = False
    for sentence in _SENTENCE.split(text):
        cancels = bool(_CANCEL.search(sentence)) or (cancels and not _LOOK.search(sentence))
        for number in ORDER_ID.findall(sentence):
            orders[f"#W{number}"] = orders.get(f"#W{number}", False) or cancels
    if not orders:
        return []
    mail = next(iter(emails(text)), "")
    steps = [_step("s1", "find_user_id_by_email", {"email": mail}, f"Find the customer {mail}", [])]
    for order, cancelled in orders.items():
        look = f"s{len(steps) + 1}"
        steps.append(_step(look, "get_order_details", {"order_id": order}, f"Look up order {order}", ["s1"]))
        if cancelled:
            reason = "ordered by mistake" if _MISTAKE.search(text) else "no longer needed"
            arguments = {"order_id": order, "reason": reason}
            steps.append(
                _step(f"s{len(steps) + 1}", "cancel_pending_order", arguments, f"Cancel order {order}", [look])
            )
    return steps


def _step(step_id: str, tool: str, arguments: dict[str, Any], text: str, after: list[str]) -> Step:
    return {"id": step_id, "tool": tool, "arguments": arguments, "text": text, "after": after}
