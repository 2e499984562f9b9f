"""The reply to the task `execution_plan`: find the customer, look up the named orders, and cancel them."""

import re
from typing import Any

from rehearsal.explicit_calls import explicit_calls
from rehearsal.matching import has_phrase
from rehearsal.prompt import ParsedPrompt
from rehearsal.refusals import effective_request, refuse
from rehearsal.replies import question
from rehearsal.retail.identity import ASK_IDENTITY, emails
from rehearsal.retail.request_state import order_ids

_PART = re.compile(r"(?<=[.!?;])\s+|\n+|, and ")
Step = dict[str, Any]


def answer_execution_plan(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `execution_plan`."""
    request = effective_request(prompt)
    text = "\n".join([request, *(answer for _, answer in prompt.dialogue()), *prompt.feedback])
    known = {str(line.get("name")) for line in prompt.tools()}
    calls = [(call.tool, call.arguments, f"Call {call.tool}") for call in explicit_calls(text, known)]
    steps = [
        _step(number, *call, after=[number - 1] if number > 1 else []) for number, call in enumerate(calls, 1)
    ] or _of_the_store(text)
    if not steps:
        return refuse("execution_plan", request, prompt)
    if steps[0]["tool"] == "find_user_id_by_email" and not emails(text):
        return question(ASK_IDENTITY)
    return {"kind": "plan", "goal": request[:400], "steps": steps, "notes": ""}


def _of_the_store(text: str) -> list[Step]:
    """Find the customer, then look up each named order, and cancel it if its part of the text says so."""
    parts = _PART.split(text)
    cancelled = {order for part in parts if has_phrase(part, ("cancel",)) for order in order_ids(part)}
    reason = "ordered by mistake" if has_phrase(text, ("mistake",)) else "no longer needed"
    mail = next(iter(emails(text)), "")
    steps = [_step(1, "find_user_id_by_email", {"email": mail}, f"Find the customer {mail}", after=[])]
    for order in order_ids(text):
        look = len(steps) + 1
        steps.append(_step(look, "get_order_details", {"order_id": order}, f"Look up order {order}", after=[1]))
        if order in cancelled:
            arguments = {"order_id": order, "reason": reason}
            steps.append(_step(look + 1, "cancel_pending_order", arguments, f"Cancel order {order}", after=[look]))
    return steps if len(steps) > 1 else []


def _step(number: int, tool: str, arguments: dict[str, Any], text: str, *, after: list[int]) -> Step:
    before = [f"s{other}" for other in after]
    return {"id": f"s{number}", "tool": tool, "arguments": arguments, "text": text, "after": before}
